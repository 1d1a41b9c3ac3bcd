"""Reading the recording of C and C++ tests, ``.suspectra/recording-c`` in the workspace.

``tests.log`` is a log to which every finished test adds one record in a single write: its outcome and the counters
of the objects that it executed, or gcovr's report of the lines. If a test runs again, another record is added, and the
last one counts. ``objects/`` contains the notes (``.gcno``) of the counters, as the compiler wrote them and named by
their digest, so that a recording stays useful after a rebuild. ``sources/`` contains digests of the lines of each
source, named by the digest of the source, so that what changed since a test passed is known. A record that a killed
process left incomplete ends the log; it is reported, and removed before the next record is written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.location import Location
from suspectra.evidence.boundary import Boundary, shown
from suspectra.evidence.c.exclusions import NO_EXCLUSIONS, Exclusions
from suspectra.evidence.evidence import Verdict
from suspectra.evidence.opening import open_evidence, read_evidence
from suspectra.evidence.source_changes import SourceLines
from suspectra_recorder.log.history import EndedTest, from_newest_runs, passes

FOLDER = Path(".suspectra", "recording-c")
"""Relative to the workspace."""

MAGIC = b"suspectra-c 1\n"
FRAME = struct.Struct("<II")
"""Header of each record: length and CRC-32 of the payload."""
HEAD = struct.Struct("<I")
"""Start of a payload: length of the JSON, which the counters follow."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_LOG = 4 << 30  # bytes of all records
_MAX_NOTES = 1 << 28  # bytes of one object's notes
_MAX_LINES = 1 << 26  # bytes of the digests of one source

_RECORD = "run suspectra record-c"


@dataclass(frozen=True)
class StoredObject:
    """The notes of one object at the time of a recording."""

    path: str  # the path of the `.gcno` file
    digest: str  # SHA-256 of its content
    # SHA-256 of the sources that did not change since they were compiled, by path in the workspace
    sources: Mapping[str, str]
    folder: str = ""  # in which it was compiled, if the notes do not say it
    optimised: str = ""  # how, such as -O2, as far as that is known
    foreign: frozenset[tuple[str, int]] = frozenset()  # lines that are in fact those of headers, by path
    # lines that hold nothing but an operand, by path in the workspace, where gcc did not optimise
    operands: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True)
class LastPass:
    """With what a test passed for the last time that does not pass now."""

    run: int  # when its run began, in nanoseconds since the epoch
    objects: tuple[int, ...]  # indices of the objects that it executed
    sources: Mapping[str, str]  # where gcovr read its profiles: SHA-256 of the sources, by path in the workspace


@dataclass(frozen=True)
class StoredTest:
    """One test of a recording."""

    name: str  # the name from the test program or CTest
    fields: Mapping[str, Any]  # its outcome, as in the log
    objects: tuple[int, ...]  # indices of the objects that it executed
    counters: bytes  # the counters of these objects, object by object, compressed with zlib; 64-bit, little-endian
    key: tuple[int, int]  # records with the same key are equal
    table: bytes = b""  # the files of gcovr's report, compressed with zlib; empty for a test with counters
    # with a table: SHA-256 of the sources that did not change since they were compiled, by path in the workspace
    sources: Mapping[str, str] = field(default_factory=dict)
    last_pass: LastPass | None = None  # of a test that does not pass now, if an earlier pass is known

    @property
    def passed(self) -> bool:
        """Whether it passes now."""
        return passes(self.fields["verdict"], flaky=False)

    def as_pass(self) -> LastPass | None:
        """Its last pass, if it is run again and does not pass then.

        This run, or the last pass that is known; None if none is.
        """
        return LastPass(self.fields.get("run", 0), self.objects, self.sources) if self.passed else self.last_pass


@dataclass
class CRecording:
    """The current content of the log."""

    folder: Path  # the folder of the recording
    workspace: Path | None = None  # the folder to which its name in messages is relative
    objects: dict[int, StoredObject] = field(default_factory=dict)  # the objects by their indices in the log
    tests: dict[str, StoredTest] = field(default_factory=dict)  # the last record of each test, by name
    run: dict[str, Any] = field(default_factory=dict)  # the recorder's facts about the last run
    exclusions: Exclusions = NO_EXCLUSIONS  # lines that are excluded
    offset: int = 0  # the byte up to which the log was read
    torn: bool = False  # whether an incomplete record follows there
    odd: int = 0  # number of records that can't be understood
    """The number of records that can't be understood."""
    _inode: int = -1

    @property
    def name(self) -> str:
        """The file of records, for messages."""
        return shown(self.workspace, self.log) if self.workspace is not None else str(self.log)

    @property
    def log(self) -> Path:
        """The file of records."""
        return self.folder / "tests.log"

    def update(self) -> bool:
        """Read what was added since the last call.

        Raises EvidenceError when there is no recording, or it is of an unknown version.
        """
        try:
            file = open_evidence(self._real(self.log.name), limit=_MAX_LOG)
        except (OSError, ValueError):
            cause = "there is no recording of C or C++ tests"
            raise EvidenceError(Problem(self.name, "", cause, _RECORD)) from None
        with file:
            stat = os.fstat(file.fileno())
            if stat.st_ino != self._inode or stat.st_size < self.offset:
                self.objects, self.tests, self.run, self.offset, self.odd = {}, {}, {}, 0, 0
                self.exclusions = NO_EXCLUSIONS
                self._inode = stat.st_ino
                if file.read(len(MAGIC)) != MAGIC:
                    cause = "it is not a recording, or was made by another version of Suspectra"
                    raise EvidenceError(Problem(self.name, "", cause, f"delete it and {_RECORD}"))
                self.offset = len(MAGIC)
            before = self.offset
            file.seek(self.offset)
            data = file.read()
        for payload, key, size in _records(data):
            try:
                self._take(payload, key)
            except (ValueError, KeyError, TypeError, AttributeError, struct.error, RecursionError):
                self.odd += 1  # no recorder writes such a record, though its checksum is correct
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
            folder, optimised = fields.get("folder", ""), fields.get("optimised", "")
            _all(str, folder, optimised)
            foreign, operands = (_lines_by_file(fields.get(name, {})) for name in ("foreign", "operands"))
            self.objects[fields["id"]] = StoredObject(path, digest, sources, folder, optimised, foreign, operands)
        elif kind == "test":
            name, objects = fields.pop("name"), tuple(fields.pop("objects"))
            _check_test(name, objects, fields)
            start = HEAD.size + size
            end = start + fields.pop("table", 0)
            sources = fields.pop("sources", {})
            before = self.tests.pop(name, None)
            test = StoredTest(name, fields, objects, payload[end:], key, payload[start:end], sources)
            self.tests[name] = test if before is None or test.passed else replace(test, last_pass=before.as_pass())
        elif kind == "pass":
            _all(int, fields["run"], *fields["objects"])
            _all(str, *fields["sources"], *fields["sources"].values())
            last_pass = LastPass(fields["run"], tuple(fields["objects"]), fields["sources"])
            self.tests[fields["name"]] = replace(self.tests[fields["name"]], last_pass=last_pass)
        elif kind == "exclusions":
            self.exclusions = Exclusions.from_fields(fields)
        elif kind == "run":
            _all(str, *(path for pair in fields.get("mapping", ()) for path in pair))
            _all(str, *fields.get("test_patterns", ()), *fields.get("command", ()))
            if any(len(pair) != 2 for pair in fields.get("mapping", ())):
                raise ValueError("not a pair")
            self.run = fields
        elif kind == "end":  # after a run of the whole suite, tests that it does not have are dropped
            kept = set(fields["tests"])
            self.tests = {name: test for name, test in self.tests.items() if name in kept}

    def _real(self, name: str) -> str:
        real = Boundary(self.folder).real(name)
        if real is None:
            raise OSError("it is a link that leads out of the recording")
        return real

    @property
    def command(self) -> tuple[str, ...]:
        """The arguments of ``suspectra`` that record the tests again; empty where that is not known."""
        return tuple(self.run.get("command", ()))

    @property
    def newest(self) -> dict[str, int]:
        """The index of the last recorded build of every object, by path."""
        return {self.objects[number].path: number for number in sorted(self.objects)}

    def last_passes(self) -> dict[str, LastPass]:
        """The last pass of each test that does not pass now, as far as passes of so many runs are kept."""
        known = {name: test.last_pass for name, test in self.tests.items() if test.last_pass and not test.passed}
        kept = from_newest_runs(EndedTest(name, one.run, True, str(one.run)) for name, one in known.items())
        return {ended.name: known[ended.name] for ended in kept}

    def digests_of(self, ran: StoredTest | LastPass) -> dict[str, str]:
        """The digests of the sources when a test ran."""
        objects = (self.objects.get(number) for number in ran.objects)
        return {**ran.sources, **{path: digest for one in objects if one for path, digest in one.sources.items()}}

    def lines(self, digest: str) -> SourceLines | None:
        """Read the digests of a source's lines.

        None where they are missing or damaged.
        """
        if not _DIGEST.fullmatch(digest):  # it names a file
            return None
        try:
            data = read_evidence(self._real(f"sources/{digest}.z"), limit=_MAX_LINES)
            return SourceLines.from_bytes(unpacked(data, _MAX_LINES))
        except (OSError, ValueError):
            return None

    def notes(self, digest: str) -> bytes:
        """Read the content of a ``.gcno`` file.

        Raises EvidenceError when it is missing, or not what was stored.
        """
        path = self.folder / "objects" / f"{digest}.gcno.z"
        try:
            data = unpacked(read_evidence(self._real(f"objects/{path.name}"), limit=_MAX_NOTES), _MAX_NOTES)
        except (OSError, ValueError) as error:
            cause = f"the notes of a recorded object can't be read ({error})"
            raise EvidenceError(Problem(str(path), "", cause, f"{_RECORD} again")) from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise EvidenceError(Problem(str(path), "", "it is not what was recorded", f"{_RECORD} again"))
        return data


def unpacked(data: bytes, most: int) -> bytes:
    """Decompress with zlib, up to a limit.

    Raises ValueError when it is damaged, truncated or too large.
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
    """Check that a test's record has the fields that the recorder writes."""
    _all(str, name, fields.get("message", ""), *(text for problem in fields["problems"] for text in problem))
    _all(int, *objects, fields.get("table", 0))
    if fields.get("table", 0) < 0:
        raise ValueError("not a size")
    _all(str, *fields.get("sources", {}), *fields.get("sources", {}).values())
    _all((int, float), fields.get("seconds", 0.0))
    _all(int, fields.get("run", 0))
    Verdict(fields["verdict"])
    if any(len(problem) != 4 for problem in fields["problems"]):
        raise ValueError("not a problem")
    if place := fields.get("location"):
        Location(*place)
        _all(str, place[0])
        _all(int, *place[1:])


def _lines_by_file(fields: Mapping[str, list[int]]) -> frozenset[tuple[str, int]]:
    _all(int, *(line for lines in fields.values() for line in lines))
    return frozenset((file, line) for file, lines in fields.items() for line in lines)


def _all(kind: type | tuple[type, ...], *values: object) -> None:
    if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
        raise TypeError("a field of another type")


def _records(data: bytes) -> Iterator[tuple[bytes, tuple[int, int], int]]:
    """The payload, key and size in the log of every complete record."""
    at = 0
    while at + FRAME.size <= len(data):
        size, checksum = FRAME.unpack_from(data, at)
        payload = data[at + FRAME.size : at + FRAME.size + size]
        if len(payload) < size or zlib.crc32(payload) != checksum:
            return
        at += FRAME.size + size
        yield payload, (size, checksum), FRAME.size + size
