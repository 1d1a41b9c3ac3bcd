"""The recording on disk: append-only logs, one for each process that runs tests.

A log starts with `MAGIC`; then come frames of ``u32 length, u32 CRC-32, u8 kind, payload`` (little-endian; the
length counts kind and payload, the checksum covers them). A frame is written by a single ``write``, so a process
that is killed leaves at most one torn frame, at the end. A `RUN` frame starts a section; the files of a section
are numbered in the order of its `FILE` frames.

====== ======================================================================================
kind    payload
====== ======================================================================================
RUN     JSON: run, worker, started, python, pytest, arguments, root
FILE    u32 length, JSON: path, digest, is_test, whether it has probes, when it was written; then the compressed map of
        its probes
TEST    u32 length, JSON: name, verdict, phases, message, seconds, location, flaky, time, what it shares, where it
        failed; rows
OUTSIDE rows of what ran outside of any test, mostly imports
SCOPE   compressed JSON: files collected as a whole, each with the names of its tests; and all that was tried
PROBLEM JSON: file, place, cause, cure
SHARED  u32 length, JSON: name, time, whether it is a setup, which counts for each test that names it; rows of that, of
        its teardown, or of what explained a test's failed assertions; without a name, of what the first import of a
        module ran, with the path of the module
ERROR   JSON: what could not be collected, see :class:`suspectra_recorder.log.collection.CollectionError`
PLAN    JSON: tests: how many are about to run; then the run is cut off unless there is an END
END     JSON: ended: true, since the run ended by itself
SAME    u32: stands for the FILE frame with this index in the log; only in merged logs
====== ======================================================================================

Rows are compressed: u32 count, that many u32 file numbers, then the cells of those files as bits; where the recorder
counted, then a u64 for each bit that is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, struct, zlib

__builtins__ = library_references.builtins

MAGIC = b"SUSPECTRA LOG 1\n"
FRAME = struct.Struct("<IIB")
SUFFIX = ".log"
MAX_FRAME = 1 << 28
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, struct.error)
"""The exceptions that parsing a damaged payload may raise."""


class FrameKind(IntEnum):
    """What a frame contains."""

    RUN = 1
    FILE = 2
    TEST = 3
    OUTSIDE = 4
    SCOPE = 5
    PROBLEM = 6
    SHARED = 7
    SAME = 8
    ERROR = 9
    PLAN = 10
    END = 11


class Frame(NamedTuple):
    """One frame of a log."""

    kind: int  # a `FrameKind`, or the number of an unknown kind
    payload: bytes  # its content
    end: int  # the offset after it


class LogDamage(ValueError):
    """A log that can't be read from some offset on."""

    def __init__(self, offset: int, cause: str):
        super().__init__(f"{cause} at byte {offset}")
        self.offset = offset  # the offset at which the damage begins
        self.cause = cause  # what is wrong there


def frame(kind: FrameKind, payload: bytes) -> bytes:
    """Encode a frame."""
    checksum = zlib.crc32(payload, zlib.crc32(bytes([kind])))
    return FRAME.pack(len(payload) + 1, checksum, kind) + payload


def frames(data: bytes, *, header: bool = True) -> Iterator[Frame]:
    """Iterate over the complete frames of a log; a `SAME` frame is replaced by the `FILE` frame for which it stands.

    In the order of the log.

    Raises LogDamage when the remaining bytes are not a complete, valid frame.
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
            # a damaged number stands for a source that can't be read, so that later ones keep their indices
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


def with_json(head: Mapping[str, object], rest: bytes = b"") -> bytes:
    """Encode a payload of JSON followed by bytes."""
    encoded = json.dumps(head, separators=(",", ":")).encode()
    return struct.pack("<I", len(encoded)) + encoded + rest


def read_json(data: bytes) -> Any:
    """Parse JSON that is not trusted.

    Raises ValueError when it is not JSON, or nested too deeply.
    """
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def split_json(payload: bytes) -> tuple[dict[str, Any], bytes]:
    """Split a payload of :func:`with_json`.

    The bytes after it.

    Raises ValueError when the payload has another form.
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
    """Encode rows for a frame."""
    # at the lowest level: this is done after each test
    return zlib.compress(struct.pack(f"<I{len(touched)}I", len(touched), *touched) + bits, 1)


def unpack_rows(data: bytes) -> tuple[list[int], bytes]:
    """Decode the result of :func:`pack_rows` of this process; it must be trusted."""
    rows = zlib.decompress(data)
    (count,) = struct.unpack_from("<I", rows)
    return list(struct.unpack_from(f"<{count}I", rows, 4)), rows[4 + 4 * count :]


@lru_cache(maxsize=4096)
def inside(path: object) -> str:
    """Check that a recorded path is inside the workspace.

    Raises ValueError when it is not.
    """
    if not isinstance(path, str):
        raise ValueError(f"no path: {path!r}")
    # a recording may come from anybody: no path in it may lead out of the workspace, on any system
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or ":" in parts[0] or "\0" in path:
        raise ValueError(f"a path that leads outside the workspace: {path!r}")
    return path
