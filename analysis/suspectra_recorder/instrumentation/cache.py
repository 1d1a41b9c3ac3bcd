"""Instrumented code on disk, so that only changed sources are instrumented again.

The cache holds marshalled code, as ``__pycache__`` does: it is read by the process that is about to run that
very code and by nothing else. Whoever can write to it can have code of theirs run, so it is kept outside the workspace,
which may come from others, and a file that another user can change is not read.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from types import CodeType

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import hashlib, marshal, os, struct, sys

__builtins__ = own.builtins

VERSION = 11
"""Raised whenever the same source would be instrumented differently."""

_HEAD = struct.Struct("<32s32sII")  # checksum of the rest, key, cells, size of the map


@dataclass(frozen=True)
class Instrumented:
    """The code of a source with probes.

    Parameters
    ----------
    code : CodeType
        With a string for what holds the cells; see `suspectra_recorder.instrumentation.cells`.
    cells : int
        How many cells its probes use.
    map : bytes
        The compressed map of the probes.
    """

    code: CodeType
    cells: int
    map: bytes


class CodeCache:
    """One folder of instrumented code, one file for each source.

    A newer version of a source replaces the older one, so the folder grows no further than the workspace.
    A folder that can't be written is no error: everything is then instrumented each time.

    Parameters
    ----------
    folder : str
        It is made when something is stored; each version of Python has a part of its own.
    """

    def __init__(self, folder: str):
        tag = sys.implementation.cache_tag or "python"
        self.folder = os.path.join(folder, f"{tag}-{sys.flags.optimize}")

    def key(self, path: str, digest: str, variant: str) -> bytes:
        """Sum up what the code depends on.

        Parameters
        ----------
        path : str
            Of the source.
        digest : str
            SHA-256 of the source, hexadecimal.
        variant : str
            What else changes the code, such as whether probes count.

        Returns
        -------
        bytes
            32 bytes.
        """
        parts = (str(VERSION), sys.version, path, digest, variant)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).digest()

    def load(self, path: str, key: bytes) -> Instrumented | None:
        """What was stored under this key, or None, also when the file is damaged.

        Parameters
        ----------
        path : str
            Of the source.
        key : bytes
            As `key` gives it.

        Returns
        -------
        Instrumented or None
            None where nothing is stored under this key, or the file is damaged or not this user's alone.
        """
        try:
            with open(self._file(path), "rb") as stream:
                if not is_own(os.fstat(stream.fileno())):
                    return None
                data = stream.read()
            checksum, stored, cells, size = _HEAD.unpack_from(data)
            if stored != key or checksum != hashlib.sha256(data[32:]).digest():
                return None
            body = data[_HEAD.size :]
            code = marshal.loads(body[size:])
        except (OSError, struct.error, EOFError, ValueError, TypeError):
            return None
        return Instrumented(code, cells, body[:size]) if isinstance(code, CodeType) else None

    def store(self, path: str, key: bytes, item: Instrumented) -> None:
        """Keep it; other processes see the old file or the new one, never half of one.

        Parameters
        ----------
        path : str
            Of the source.
        key : bytes
            As `key` gives it.
        item : Instrumented
            What to keep.
        """
        rest = _HEAD.pack(b"", key, item.cells, len(item.map))[32:] + item.map + marshal.dumps(item.code)
        target = self._file(path)
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            partial = f"{target}.{os.urandom(8).hex()}.tmp"
            handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        except OSError:
            return
        try:
            with open(handle, "wb") as stream:
                stream.write(hashlib.sha256(rest).digest() + rest)
            os.replace(partial, target)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(partial)

    def _file(self, path: str) -> str:
        name = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:24]
        return os.path.join(self.folder, name)


def is_own(status: os.stat_result) -> bool:
    """Whether a file is this user's, and closed to everybody else's changes.

    Parameters
    ----------
    status : os.stat_result
        Of the file.

    Returns
    -------
    bool
        On Windows always True, where access lists close the user's folders.
    """
    if os.name == "nt":
        return True  # the user's folders are closed by access lists
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022
