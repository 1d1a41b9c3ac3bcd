"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from io import BufferedWriter


@contextlib.contextmanager
def complete_file(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[BufferedWriter]:
    """Write a file that takes its place when the block ends; whoever reads meanwhile sees the old one.

    An error, an interrupt too, leaves the old file as it was and nothing beside it. A link at the path is replaced
    itself, not what it leads to.

    Parameters
    ----------
    path : str or path-like
        The file. Its folder must exist.
    mode : int, default 0o666
        Rights of the new file, before the user's umask.

    Yields
    ------
    io.BufferedWriter
        The new file, whose name until then is its ``name``.

    Raises
    ------
    OSError
        When it can't be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "notes")
    >>> with complete_file(path) as stream:
    ...     _ = stream.write(b"all of it")
    >>> path.read_bytes()
    b'all of it'
    """
    folder, name = os.path.split(os.fspath(path))
    partial = os.path.join(folder, f".{name}.{os.urandom(8).hex()}.tmp")
    with open(partial, "xb", opener=lambda file, flags: os.open(file, flags, mode)) as stream:
        try:
            yield stream
            stream.close()
            os.replace(partial, path)
        except BaseException:
            with contextlib.suppress(OSError):  # what did not fit on the disk does not fit now
                stream.close()  # Windows removes no open file
            with contextlib.suppress(OSError):
                os.unlink(partial)
            raise
