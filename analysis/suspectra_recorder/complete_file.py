"""Writing files atomically."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from io import BufferedWriter

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os

__builtins__ = library_references.builtins


@contextlib.contextmanager
def complete_file(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[BufferedWriter]:
    """Write a file that replaces the old one when the block ends; until then, readers see the old file.

    After an error or an interrupt, the old file is unchanged and no other file is left. If the path is a link, the link
    is replaced, not its target.

    Raises OSError when it can't be written.
    """
    folder, name = os.path.split(os.fspath(path))
    # in the same folder, since only within a file system a file is replaced in one step
    partial = os.path.join(folder, f".{name}.{os.urandom(8).hex()}.tmp")
    with open(partial, "xb", opener=lambda file, flags: os.open(file, flags, mode)) as stream:
        try:
            yield stream
            stream.close()
            os.replace(partial, path)
        except BaseException:
            with contextlib.suppress(OSError):  # closing may fail again if the disk is full
                stream.close()  # Windows can't remove open files
            with contextlib.suppress(OSError):
                os.unlink(partial)
            raise
