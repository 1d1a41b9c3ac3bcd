"""A cache of instrumented code on disk, so that only changed sources are instrumented again.

The cache contains marshalled code, like ``__pycache__``; only the process that will run the code reads it. Code in the
cache is executed, so it is outside the workspace, which may come from others, and files that other users can change are
not read.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from types import CodeType

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import hashlib, marshal, os, struct, sys

__builtins__ = library_references.builtins

VERSION = 20
"""Increased whenever the same source is instrumented differently."""

_HEAD = struct.Struct("<32s32sII?")  # checksum of the rest, key, cells, size of the map, whether Python warned


@dataclass(frozen=True)
class Instrumented:
    """The code of a source with probes."""

    # code with a string in place of the object with the cells; see `suspectra_recorder.instrumentation.cell_constants`
    code: CodeType
    cells: int  # the number of cells of its probes
    map: bytes  # the compressed map of the probes
    warned: bool = False  # whether Python warned as it compiled the source


class CodeCache:
    """A folder of instrumented code, with one file for each source.

    A newer version of a source replaces the older one, so the folder is limited by the size of the workspace. If the
    folder is not writable, everything is instrumented each time.
    """

    def __init__(self, folder: str):
        tag = sys.implementation.cache_tag or "python"
        # the folder, which is made on demand; each version of Python has its own part
        self.folder = os.path.join(folder, f"{tag}-{sys.flags.optimize}")

    def key(self, path: str, digest: str, variant: str) -> bytes:
        """Compute a key from everything on which the code depends.

        The key, 32 bytes.
        """
        parts = (str(VERSION), sys.version, path, digest, variant)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).digest()

    def load(self, path: str, key: bytes) -> Instrumented | None:
        """Load what was stored with a key.

        None if nothing is stored with this key, or the file is damaged or writable for others.
        """
        try:
            with open(self._file(path), "rb") as stream:
                # of the open file: its name may mean another one by now
                if not is_own(os.fstat(stream.fileno())):
                    return None
                data = stream.read()
            checksum, stored, cells, size, warned = _HEAD.unpack_from(data)
            if stored != key or checksum != hashlib.sha256(data[32:]).digest():
                return None
            body = data[_HEAD.size :]
            code = marshal.loads(body[size:])
        except (OSError, struct.error, EOFError, ValueError, TypeError):
            return None
        return Instrumented(code, cells, body[:size], warned) if isinstance(code, CodeType) else None

    def store(self, path: str, key: bytes, item: Instrumented) -> None:
        """Store code atomically: other processes see the old file or the new one."""
        rest = _HEAD.pack(b"", key, item.cells, len(item.map), item.warned)[32:] + item.map + marshal.dumps(item.code)
        target = self._file(path)
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            partial = f"{target}.{os.urandom(8).hex()}.tmp"
            # private from the beginning, since what is in it will be executed
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
    """Whether a file belongs to this user and is not writable for others.

    Always True on Windows, where access lists protect the user's folders.
    """
    if os.name == "nt":
        return True  # access lists protect the user's folders
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022
