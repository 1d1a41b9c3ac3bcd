"""A cache of instrumented code on disk, so that only changed sources are instrumented again.

The cache contains marshalled code, like ``__pycache__``; only the process that will run the code reads it. Code in the
cache is executed, so it is outside the workspace, which may come from others, and files that other users can change are
not read.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from types import CodeType

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import hashlib, marshal, os, struct, sys

__builtins__ = own.builtins

VERSION = 14
"""Increased whenever the same source is instrumented differently."""

_HEAD = struct.Struct("<32s32sII?")  # checksum of the rest, key, cells, size of the map, whether Python warned


@dataclass(frozen=True)
class Instrumented:
    """The code of a source with probes.

    Parameters
    ----------
    code : CodeType
        Code with a string in place of the object with the cells; see `suspectra_recorder.instrumentation.cells`.
    cells : int
        The number of cells of its probes.
    map : bytes
        The compressed map of the probes.
    warned : bool
        Whether Python warned as it compiled the source.

    Examples
    --------
    >>> item = Instrumented(compile("vat = 20", "price.py", "exec"), 8, b"map")
    >>> item.code.co_names, item.cells
    (('vat',), 8)
    """

    code: CodeType
    cells: int
    map: bytes
    warned: bool = False


class CodeCache:
    """A folder of instrumented code, with one file for each source.

    A newer version of a source replaces the older one, so the folder is limited by the size of the workspace. If the
    folder is not writable, everything is instrumented each time.

    Parameters
    ----------
    folder : str
        The folder, which is made on demand; each version of Python has its own part.

    Examples
    --------
    >>> cache = CodeCache(str(folder))
    >>> key = cache.key("price.py", "9b5e", "counts")
    >>> cache.store("price.py", key, Instrumented(compile("vat = 20", "price.py", "exec"), 8, b"map"))
    >>> cache.load("price.py", key).cells
    8
    >>> print(cache.load("price.py", cache.key("price.py", "changed", "counts")))
    None
    """

    def __init__(self, folder: str):
        tag = sys.implementation.cache_tag or "python"
        self.folder = os.path.join(folder, f"{tag}-{sys.flags.optimize}")

    def key(self, path: str, digest: str, variant: str) -> bytes:
        """Compute a key from everything on which the code depends.

        Parameters
        ----------
        path : str
            The path of the source.
        digest : str
            SHA-256 of the source, hexadecimal.
        variant : str
            Further parameters of the code, such as whether probes count.

        Returns
        -------
        bytes
            The key, 32 bytes.
        """
        parts = (str(VERSION), sys.version, path, digest, variant)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).digest()

    def load(self, path: str, key: bytes) -> Instrumented | None:
        """Load what was stored with a key.

        Parameters
        ----------
        path : str
            The path of the source.
        key : bytes
            A result of `key`.

        Returns
        -------
        Instrumented or None
            None if nothing is stored with this key, or the file is damaged or writable for others.
        """
        try:
            with open(self._file(path), "rb") as stream:
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
        """Store code atomically: other processes see the old file or the new one.

        Parameters
        ----------
        path : str
            The path of the source.
        key : bytes
            A result of `key`.
        item : Instrumented
            The code to store.
        """
        rest = _HEAD.pack(b"", key, item.cells, len(item.map), item.warned)[32:] + item.map + marshal.dumps(item.code)
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
    """Whether a file belongs to this user and is not writable for others.

    Parameters
    ----------
    status : os.stat_result
        The status of the file.

    Returns
    -------
    bool
        Always True on Windows, where access lists protect the user's folders.

    Examples
    --------
    >>> path = folder / "code"
    >>> path.touch(0o600)
    >>> is_own(path.stat())
    True
    >>> path.chmod(0o666)  # then anyone could change it
    >>> is_own(path.stat())
    False
    """
    if os.name == "nt":
        return True  # access lists protect the user's folders
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022
