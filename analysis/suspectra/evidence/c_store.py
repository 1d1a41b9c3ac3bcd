"""Where recorded C and C++ runs are kept: ``.suspectra/recording-c`` in the workspace.

``tests.log`` is a log to which every finished test adds one record in a single write: its outcome and the counters
of the objects it ran, or what gcovr says of the lines it ran. A test that runs again adds another record, and the last
one counts. ``objects/`` holds the
notes (``.gcno``) the counters belong to, as the compiler wrote them and named by their content, so that neither a
rebuild nor a better reader makes a recording worthless. A record that a dying process left unfinished ends the log; it
is reported, and cut off before the next one is written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suspectra.errors import EvidenceError, Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import Verdict
from suspectra.evidence.exclusions import NO_EXCLUSIONS, Exclusions
from suspectra.evidence.sources import open_regular, read_regular
from suspectra.location import Location

FOLDER = Path(".suspectra", "recording-c")
"""Below the workspace."""

MAGIC = b"suspectra-c 1\n"
FRAME = struct.Struct("<II")
"""Before each record: length and CRC-32 of what follows."""
HEAD = struct.Struct("<I")
"""Of a record: length of the JSON before the counters."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_NOTES = 1 << 28  # bytes of one object's notes

_RECORD = "run suspectra record-c"


@dataclass(frozen=True)
class StoredObject:
    """The notes of one object at the time of a recording.

    Parameters
    ----------
    path : str
        Of the ``.gcno`` file.
    digest : str
        SHA-256 of its content.
    sources : mapping of str to str
        SHA-256 of its sources, by path in the workspace, where they were those that were compiled.

    Examples
    --------
    >>> StoredObject("build/cart.gcno", "9f86d081", {"cart.c": "60303ae2"}).path
    'build/cart.gcno'
    """

    path: str
    digest: str
    sources: Mapping[str, str]


@dataclass(frozen=True)
class StoredTest:
    """One test of a recording.

    Parameters
    ----------
    name : str
        As the test program, or CTest, gives it.
    fields : mapping
        Its outcome, as it was written.
    objects : tuple of int
        The objects it ran code of.
    counters : bytes
        The counters of these objects one after another, packed with zlib; 64-bit, little-endian.
    key : tuple
        Two records with the same key are the same.
    table : bytes
        The files of gcovr's report, packed with zlib; empty where the counters were read here.
    sources : mapping of str to str
        With a table: SHA-256 of its sources, by path in the workspace, where they were those that were compiled.

    Examples
    --------
    >>> test = StoredTest("sum", {"verdict": "passed"}, (0,), zlib.compress(bytes(16)), (40, 1))
    >>> len(unpacked(test.counters, 1000)) // 8
    2
    """

    name: str
    fields: Mapping[str, Any]
    objects: tuple[int, ...]
    counters: bytes
    key: tuple[int, int]
    table: bytes = b""
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass
class CRecording:
    """What the log says at present.

    Parameters
    ----------
    folder : Path
        Where the recording is.
    objects : dict of int to StoredObject
        By their numbers in the log.
    tests : dict of str to StoredTest
        By name, the last record of each.
    run : dict of str to Any
        Facts about the last run, as its recorder wrote them.
    exclusions : Exclusions
        Lines that do not count.
    offset : int
        Up to which byte the log was read.
    torn : bool
        Whether something that is not a whole record follows there.
    odd : int
        Records of a kind that is not known.

    Examples
    --------
    >>> from suspectra.evidence.c_recorder import CRecorder
    >>> with CRecorder(folder, {"mapping": []}) as recorder:
    ...     number = recorder.add_object("build/cart.gcno", b"notes", {})
    ...     recorder.end([])
    >>> recording = CRecording(recorder.folder)
    >>> recording.update(), recording.update()
    (True, False)
    >>> recording.notes(recording.objects[number].digest), recording.run
    (b'notes', {'mapping': []})
    """

    folder: Path
    objects: dict[int, StoredObject] = field(default_factory=dict)
    tests: dict[str, StoredTest] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    exclusions: Exclusions = NO_EXCLUSIONS
    offset: int = 0
    torn: bool = False
    odd: int = 0
    """How many records can't be understood."""
    _inode: int = -1

    @property
    def log(self) -> Path:
        """The file of records."""
        return self.folder / "tests.log"

    def update(self) -> bool:
        """Read what was added since the last call.

        Returns
        -------
        bool
            Whether anything was.

        Raises
        ------
        EvidenceError
            There is no recording, or it is of a version that is not known.
        """
        try:
            file = open_regular(Path(self._real(self.log.name)))
        except (OSError, ValueError):
            cause = "there is no recording of C or C++ tests"
            raise EvidenceError(Problem(str(self.log), "", cause, _RECORD)) from None
        with file:
            stat = os.fstat(file.fileno())
            if stat.st_ino != self._inode or stat.st_size < self.offset:
                self.objects, self.tests, self.run, self.offset, self.odd = {}, {}, {}, 0, 0
                self.exclusions = NO_EXCLUSIONS
                self._inode = stat.st_ino
                if file.read(len(MAGIC)) != MAGIC:
                    cause = "it is not a recording, or was made by another version of Suspectra"
                    raise EvidenceError(Problem(str(self.log), "", cause, f"delete it and {_RECORD}"))
                self.offset = len(MAGIC)
            before = self.offset
            file.seek(self.offset)
            data = file.read()
        for payload, key, size in _records(data):
            try:
                self._take(payload, key)
            except (ValueError, KeyError, TypeError, AttributeError, struct.error, RecursionError):
                self.odd += 1  # its checksum is right, but no recorder writes such a record
            self.offset += size
        self.torn = self.offset - before < len(data)
        return self.offset > before

    def _take(self, payload: bytes, key: tuple[int, int]) -> None:
        (size,) = HEAD.unpack_from(payload)
        fields = json.loads(payload[HEAD.size : HEAD.size + size])
        kind = fields.pop("kind")
        if kind == "object":
            path, digest, sources = fields["path"], fields["digest"], fields["sources"]
            _all(str, path, digest, *sources, *sources.values())
            _all(int, fields["id"])
            if not _DIGEST.fullmatch(digest):  # it names a file
                raise ValueError("not a digest")
            self.objects[fields["id"]] = StoredObject(path, digest, sources)
        elif kind == "test":
            name, objects = fields.pop("name"), tuple(fields.pop("objects"))
            _check_test(name, objects, fields)
            start = HEAD.size + size
            end = start + fields.pop("table", 0)
            sources = fields.pop("sources", {})
            self.tests.pop(name, None)
            self.tests[name] = StoredTest(name, fields, objects, payload[end:], key, payload[start:end], sources)
        elif kind == "exclusions":
            self.exclusions = Exclusions.from_fields(fields)
        elif kind == "run":
            _all(str, *(path for pair in fields.get("mapping", ()) for path in pair), *fields.get("test_patterns", ()))
            if any(len(pair) != 2 for pair in fields.get("mapping", ())):
                raise ValueError("not a pair")
            self.run = fields
        elif kind == "end":  # a run of the whole suite: what it did not have is no more
            kept = set(fields["tests"])
            self.tests = {name: test for name, test in self.tests.items() if name in kept}

    def _real(self, name: str) -> str:
        real = Boundary(self.folder).real(name)
        if real is None:
            raise OSError("it is a link that leads out of the recording")
        return real

    @property
    def newest(self) -> dict[str, int]:
        """The last recorded build of every object, by path."""
        return {self.objects[number].path: number for number in sorted(self.objects)}

    def notes(self, digest: str) -> bytes:
        """The content of a ``.gcno`` file.

        Parameters
        ----------
        digest : str
            SHA-256 of the file, hexadecimal.

        Returns
        -------
        bytes
            Unpacked.

        Raises
        ------
        EvidenceError
            It is missing, or not what was stored.
        """
        path = self.folder / "objects" / f"{digest}.gcno.z"
        try:
            data = unpacked(read_regular(Path(self._real(f"objects/{path.name}")), _MAX_NOTES), _MAX_NOTES)
        except (OSError, ValueError) as error:
            cause = f"the notes of a recorded object can't be read ({error})"
            raise EvidenceError(Problem(str(path), "", cause, f"{_RECORD} again")) from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise EvidenceError(Problem(str(path), "", "it is not what was recorded", f"{_RECORD} again"))
        return data


def unpacked(data: bytes, most: int) -> bytes:
    """What zlib packed, if it is whole and not more than so many bytes.

    Parameters
    ----------
    data : bytes
        A zlib stream.
    most : int
        Bytes that may come out of it.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    ValueError
        When it is damaged, cut off, or more than that.

    Examples
    --------
    >>> unpacked(zlib.compress(b"counters"), 100)
    b'counters'
    >>> unpacked(zlib.compress(b"counters"), 5)
    Traceback (most recent call last):
    ValueError: it unpacks to more than 5 bytes
    """
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(data, most + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(content) > most:
        raise ValueError(f"it unpacks to more than {most} bytes")
    if not stream.eof:
        raise ValueError("it is cut off")
    return content


def _check_test(name: object, objects: tuple[object, ...], fields: Mapping[str, Any]) -> None:
    """See that a test's record has the fields the recorder writes.

    Raises
    ------
    ValueError, KeyError, TypeError
    """
    _all(str, name, fields.get("message", ""), *(text for problem in fields["problems"] for text in problem))
    _all(int, *objects, fields.get("table", 0))
    if fields.get("table", 0) < 0:
        raise ValueError("not a size")
    _all(str, *fields.get("sources", {}), *fields.get("sources", {}).values())
    _all((int, float), fields.get("seconds", 0.0))
    Verdict(fields["verdict"])
    if any(len(problem) != 4 for problem in fields["problems"]):
        raise ValueError("not a problem")
    if place := fields.get("location"):
        Location(*place)
        _all(str, place[0])
        _all(int, *place[1:])


def _all(kind: type | tuple[type, ...], *values: object) -> None:
    if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
        raise TypeError("a field of another type")


def _records(data: bytes) -> Iterator[tuple[bytes, tuple[int, int], int]]:
    """(payload, key, size in the log) of every whole record."""
    at = 0
    while at + FRAME.size <= len(data):
        size, checksum = FRAME.unpack_from(data, at)
        payload = data[at + FRAME.size : at + FRAME.size + size]
        if len(payload) < size or zlib.crc32(payload) != checksum:
            return
        at += FRAME.size + size
        yield payload, (size, checksum), FRAME.size + size
