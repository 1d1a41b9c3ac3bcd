"""The recording on disk: append-only logs, one for each process that runs tests.

A log starts with `MAGIC`; then come frames of ``u32 length, u32 CRC-32, u8 kind, payload`` (little-endian; the
length counts kind and payload, the checksum covers them). A frame is written by a single ``write``, so a process
that is killed leaves at most one torn frame, at the end. A `RUN` frame starts a section; the files of a section
are numbered in the order of its `FILE` frames.

====== ======================================================================================
kind    payload
====== ======================================================================================
RUN     JSON: run, worker, started, python, pytest, arguments, root
FILE    u32 length, JSON: path, digest, is_test, whether it has probes; then the compressed map of them
TEST    u32 length, JSON: name, verdict, phases, message, seconds, location, flaky, time, what it shares, where it
        failed; rows
OUTSIDE rows of what ran outside of any test, mostly imports
SCOPE   compressed JSON: files collected as a whole, each with the names of its tests; and all that was tried
PROBLEM JSON: file, place, cause, cure
SHARED  u32 length, JSON: name, time; rows of what a test ran for later tests too, or of what explained its failed
        assertions; without a name, of what the first import of a module ran, with the path of the module
ERROR   JSON: what could not be collected, see :class:`suspectra_recorder.log.collection.CollectionError`
SAME    u32: what the FILE frame of this number in the log says; only in logs that many were merged into
====== ======================================================================================

Rows are compressed: u32 count, that many u32 file numbers, then the cells of those files as bits; where the recorder
counted, then a u64 for each bit that is set.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import fcntl, json, os, struct, zlib

__builtins__ = own.builtins

MAGIC = b"SUSPECTRA LOG 1\n"
FRAME = struct.Struct("<IIB")
SUFFIX = ".log"
MAX_FRAME = 1 << 28
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, struct.error)
"""What taking apart a payload raises that holds something else than it should."""


class FrameKind(IntEnum):
    """What a frame holds."""

    RUN = 1
    FILE = 2
    TEST = 3
    OUTSIDE = 4
    SCOPE = 5
    PROBLEM = 6
    SHARED = 7
    SAME = 8
    ERROR = 9


class Frame(NamedTuple):
    """One frame of a log.

    Parameters
    ----------
    kind : int
        A ``FrameKind``, or a number that is not known yet.
    payload : bytes
        What it holds.
    end : int
        The offset behind it.
    """

    kind: int
    payload: bytes
    end: int


class LogDamage(ValueError):
    """A log that can't be read on from some offset.

    Parameters
    ----------
    offset : int
        Where in the log the damage begins.
    cause : str
        What is wrong there.
    """

    def __init__(self, offset: int, cause: str):
        super().__init__(f"{cause} at byte {offset}")
        self.offset = offset
        self.cause = cause


def frame(kind: FrameKind, payload: bytes) -> bytes:
    """A frame as it is written.

    Parameters
    ----------
    kind : FrameKind
        What it is.
    payload : bytes
        What it holds.

    Returns
    -------
    bytes
        Length, checksum, kind and payload.
    """
    checksum = zlib.crc32(payload, zlib.crc32(bytes([kind])))
    return FRAME.pack(len(payload) + 1, checksum, kind) + payload


def frames(data: bytes, *, header: bool = True) -> Iterator[Frame]:
    """The whole frames of a log; a `SAME` frame is given as the `FILE` frame that it means.

    Parameters
    ----------
    data : bytes
        The log, or with ``header=False`` a part of it that starts with a frame.
    header : bool
        Whether the data starts with `MAGIC`.

    Yields
    ------
    Frame
        In the order in which they were written.

    Raises
    ------
    LogDamage
        When bytes are left that are no whole, sound frame.
    """
    offset = 0
    if header:
        if data[: len(MAGIC)] != MAGIC:
            raise LogDamage(0, _foreign(data))
        offset = len(MAGIC)
    size = len(data)
    files: list[bytes] = []
    while offset < size:
        if offset + FRAME.size > size:
            raise LogDamage(offset, "torn frame")
        length, checksum, kind = FRAME.unpack_from(data, offset)
        if not 1 <= length <= MAX_FRAME:
            raise LogDamage(offset, "impossible length of a frame")
        end = offset + FRAME.size - 1 + length
        if end > size:
            raise LogDamage(offset, "torn frame")
        payload = data[offset + FRAME.size : end]
        if zlib.crc32(payload, zlib.crc32(bytes([kind]))) != checksum:
            raise LogDamage(offset, "wrong checksum")
        if kind == FrameKind.SAME:
            number = int.from_bytes(payload, "little") if len(payload) == 4 else len(files)
            kind, payload = FrameKind.FILE, files[number] if number < len(files) else b""
        elif kind == FrameKind.FILE:
            files.append(payload)
        yield Frame(kind, payload, end)
        offset = end


def _foreign(data: bytes) -> str:
    if not data:
        return "empty file"
    if data.startswith(MAGIC[:14]):
        return "written by another version of Suspectra"
    return "torn frame" if MAGIC.startswith(data) else "not a recording"


def with_json(head: dict[str, Any], rest: bytes = b"") -> bytes:
    """A payload of JSON and bytes behind it.

    Parameters
    ----------
    head : dict of str to Any
        What JSON can hold.
    rest : bytes, optional
        The bytes behind it.

    Returns
    -------
    bytes
        What :func:`split_json` takes.
    """
    encoded = json.dumps(head, separators=(",", ":")).encode()
    return struct.pack("<I", len(encoded)) + encoded + rest


def read_json(data: bytes) -> Any:
    """The JSON that somebody else wrote.

    Parameters
    ----------
    data : bytes
        Not trusted.

    Returns
    -------
    Any
        Whatever it holds.

    Raises
    ------
    ValueError
        When it is none, or nested too deeply.
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def split_json(payload: bytes) -> tuple[dict[str, Any], bytes]:
    """The two parts of a payload made by :func:`with_json`.

    Parameters
    ----------
    payload : bytes
        Not trusted.

    Returns
    -------
    head : dict of str to Any
        The JSON.
    rest : bytes
        What is behind it.

    Raises
    ------
    ValueError
        When the payload is anything else.
    """
    if len(payload) < 4:
        raise ValueError("payload too short")
    (length,) = struct.unpack_from("<I", payload)
    if length > len(payload) - 4:
        raise ValueError("JSON longer than its payload")
    head = read_json(payload[4 : 4 + length])
    if not isinstance(head, dict):
        raise ValueError("JSON that is not an object")
    return head, payload[4 + length :]


def pack_rows(touched: list[int], bits: bytes) -> bytes:
    """Rows as a frame holds them.

    Parameters
    ----------
    touched : list of int
        Numbers of sources.
    bits : bytes
        Their cells, one source behind the other.

    Returns
    -------
    bytes
        Compressed.
    """
    return zlib.compress(struct.pack(f"<I{len(touched)}I", len(touched), *touched) + bits, 1)


def unpack_rows(data: bytes) -> tuple[list[int], bytes]:
    """What :func:`pack_rows` packed in this process; what others wrote is read with more care.

    Parameters
    ----------
    data : bytes
        What was packed.

    Returns
    -------
    touched : list of int
        Numbers of sources.
    bits : bytes
        Their cells, one source behind the other.
    """
    rows = zlib.decompress(data)
    (count,) = struct.unpack_from("<I", rows)
    return list(struct.unpack_from(f"<{count}I", rows, 4)), rows[4 + 4 * count :]


@lru_cache(maxsize=4096)
def inside(path: Any) -> str:
    """A recorded path, which stays below the workspace.

    Parameters
    ----------
    path : Any
        Not trusted.

    Returns
    -------
    str
        The same path.

    Raises
    ------
    ValueError
        When it does not.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")] if isinstance(path, str) else []
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or ":" in parts[0] or "\0" in path:
        raise ValueError(f"a path that leads outside the workspace: {path!r}")
    return str(path)


class LogWriter:
    """One process's log, open for appending.

    Parameters
    ----------
    path : str
        Of the new file.

    Raises
    ------
    OSError
        When it can't be made.
    """

    def __init__(self, path: str):
        self.path = path
        self.pid = os.getpid()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o644)
        lock(self._descriptor)
        self._identity = _identity(self._descriptor)
        self.size = os.write(self._descriptor, MAGIC)

    def write(self, kind: FrameKind, payload: bytes) -> None:
        """Append one frame by one system call.

        Parameters
        ----------
        kind : FrameKind
            What it is.
        payload : bytes
            What it holds.

        Raises
        ------
        OSError
            Not all of it could be written. Then no more may be: no frame behind a torn one is read.
        """
        if self._descriptor >= 0 and os.getpid() == self.pid:
            self._open_again()
            data = frame(kind, payload)
            if os.write(self._descriptor, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.size += len(data)

    def _open_again(self) -> None:
        """Where the program has closed all descriptors, as daemons do, ours may be that of another file by now."""
        try:
            if _identity(self._descriptor) == self._identity:
                return
        except OSError:
            pass
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(self.path, flags)
        lock(self._descriptor, wait=False)  # a child may have inherited the former one, and hold it
        self._identity = _identity(self._descriptor)

    @property
    def is_open(self) -> bool:
        """Whether more can be written."""
        return self._descriptor >= 0

    def payload(self, offset: int) -> bytes:
        """What was written as the frame that begins there.

        Parameters
        ----------
        offset : int
            Where the frame begins.

        Returns
        -------
        bytes
            Without its head.
        """
        with open(self.path, "rb") as stream:
            stream.seek(offset)
            length, _, _ = FRAME.unpack(stream.read(FRAME.size))
            return stream.read(length - 1)

    def close(self) -> None:
        """Let others tidy the log away."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                if _identity(self._descriptor) == self._identity:
                    os.close(self._descriptor)
            self._descriptor = -1


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def lock(descriptor: int, *, wait: bool = True) -> bool:
    """Lock an open file for as long as it is open; False when another process holds it.

    Where the platform or the file system has no such locks everything counts as not held.

    Parameters
    ----------
    descriptor : int
        Of the open file.
    wait : bool, optional
        Whether to wait until the other process lets go.

    Returns
    -------
    bool
        True where there are no locks, too.
    """
    if fcntl is None:
        return True  # Windows does not let go of open files anyway
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def is_locked(path: str | os.PathLike[str]) -> bool:
    """Whether a process still writes a log; False where that can't be known.

    Parameters
    ----------
    path : str or os.PathLike[str]
        Of the log; a link is not followed.

    Returns
    -------
    bool
        Nothing is changed to find out.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except (AttributeError, OSError):  # no such flags on Windows, which has no such locks either
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
