"""Where recorded C and C++ runs are kept: ``.suspectra/recording-c`` in the workspace.

``tests.log`` is a log to which every finished test adds one record in a single write: its outcome and the counters
of the objects it ran, or what gcovr says of the lines it ran. A test that runs again adds another record, and the last
one counts. ``objects/`` holds the
notes (``.gcno``) the counters belong to, as the compiler wrote them and named by their content, so that neither a
rebuild nor a better reader makes a recording worthless. A record that a dying process left unfinished ends the log; it
is told, and cut off before the next one is written.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suspectra.errors import EvidenceError, Problem, UsageError
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import Verdict
from suspectra.evidence.exclusions import NO_EXCLUSIONS, Exclusions
from suspectra.evidence.sources import open_regular, read_regular
from suspectra.location import Location
from suspectra_recorder.complete_file import complete_file
from suspectra_recorder.folders import make_recording_folder, refuse_links

FOLDER = Path(".suspectra", "recording-c")
"""Below the workspace."""

_MAGIC = b"suspectra-c 1\n"
_FRAME = struct.Struct("<II")  # length and CRC-32 of what follows
_HEAD = struct.Struct("<I")  # length of the JSON before the counters

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
                if file.read(len(_MAGIC)) != _MAGIC:
                    cause = "it is not a recording, or was made by another version of Suspectra"
                    raise EvidenceError(Problem(str(self.log), "", cause, f"delete it and {_RECORD}"))
                self.offset = len(_MAGIC)
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
        (size,) = _HEAD.unpack_from(payload)
        fields = json.loads(payload[_HEAD.size : _HEAD.size + size])
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
            start = _HEAD.size + size
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


class CRecorder:
    """Adds to a recording; one process at a time.

    Parameters
    ----------
    workspace : path
        Where ``.suspectra/recording-c`` is made.
    fields : mapping
        Facts about the run that its reader needs.

    Raises
    ------
    UsageError
        Another process is recording.

    Examples
    --------
    >>> with CRecorder(folder, {}) as recorder:
    ...     number = recorder.add_object("build/cart.gcno", b"notes", {})
    ...     fields = {"verdict": "passed", "problems": []}
    ...     recorder.add_test("sum", fields, [number], [bytes(8)])
    >>> recorder.recording.update(), recorder.recording.tests["sum"].objects
    (True, (0,))
    """

    def __init__(self, workspace: str | os.PathLike[str], fields: Mapping[str, Any]):
        self.folder = Path(workspace, FOLDER)
        make_recording_folder(str(workspace), FOLDER.name, "objects")
        for name in ("lock", "tests.log"):
            refuse_links(str(self.folder / name))
        lock = os.open(self.folder / "lock", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        self._lock = os.fdopen(lock, "w")  # held as long as the recorder is
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            problem = Problem(str(self.folder), "", "another recording is under way", "wait until it has ended")
            raise UsageError(problem) from None
        self.recording = CRecording(self.folder)
        self._open()
        self._numbers = {(o.path, o.digest): n for n, o in self.recording.objects.items()}
        self._next = max(self.recording.objects, default=-1) + 1
        self.write({"kind": "run", **fields})

    def __enter__(self) -> CRecorder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._log)
        self._lock.close()

    def _open(self) -> None:
        """Read what there is, drop a torn tail and, when most records are outdated, all outdated ones."""
        log = self.recording.log
        if not log.exists():
            _replace(log, _MAGIC)
        try:
            self.recording.update()
        except EvidenceError:  # not readable by this version, so of no use to anybody
            _replace(log, _MAGIC)
            self.recording.update()
        live = sum(test.key[0] for test in self.recording.tests.values())
        if self.recording.offset > 2 * live + (1 << 20):
            self._compact()
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        os.ftruncate(self._log, self.recording.offset)

    def _compact(self) -> None:
        recording = self.recording
        used = {number for test in recording.tests.values() for number in test.objects}
        used = (used & set(recording.objects)) | set(recording.newest.values())
        parts = [_MAGIC]
        parts += [_framed(_object_fields(number, recording.objects[number])) for number in sorted(used)]
        for test in recording.tests.values():
            fields = _test_fields(test.name, test.objects, test.fields, test.table, test.sources)
            parts.append(_framed(fields, test.table + test.counters))
        if recording.exclusions != NO_EXCLUSIONS:
            parts.append(_framed({"kind": "exclusions", **recording.exclusions.fields()}))
        _replace(recording.log, b"".join(parts))
        recording.update()
        kept = {recording.objects[number].digest for number in used}
        for path in (self.folder / "objects").glob("*.gcno.z"):
            if path.name.partition(".")[0] not in kept:
                with contextlib.suppress(OSError):
                    path.unlink()

    def add_object(self, path: str, notes: bytes, sources: Mapping[str, str]) -> int:
        """Store the notes of an object, unless they are.

        Parameters
        ----------
        path : str
            Of the ``.gcno`` file.
        notes : bytes
            Its content.
        sources : mapping of str to str
            SHA-256 of each source it was compiled from, by path.

        Returns
        -------
        int
            The object's number in this recording.
        """
        digest = hashlib.sha256(notes).hexdigest()
        number = self._numbers.get((path, digest))
        if number is not None and number == self.recording.newest.get(path):
            return number
        stored = self.folder / "objects" / f"{digest}.gcno.z"
        if not stored.exists():
            _replace(stored, zlib.compress(notes))
        number, self._next = self._next, self._next + 1
        self._numbers[path, digest] = number
        self.recording.objects[number] = StoredObject(path, digest, dict(sources))
        self.write(_object_fields(number, self.recording.objects[number]))
        return number

    def add_test(
        self,
        name: str,
        fields: Mapping[str, Any],
        objects: Sequence[int],
        counters: Sequence[bytes],
        table: bytes = b"",
        sources: Mapping[str, str] | None = None,
    ) -> None:
        """Store one test.

        Parameters
        ----------
        name : str
            The test.
        fields : mapping of str to Any
            Its outcome, as JSON can hold it.
        objects : sequence of int
            Numbers of the objects it ran code of.
        counters : sequence of bytes
            Those of each object, 64-bit, little-endian.
        table : bytes, optional
            The files of gcovr's report, as JSON.
        sources : mapping of str to str, optional
            The digests of its sources.
        """
        packed = zlib.compress(table) if table else b""
        whole = _test_fields(name, objects, fields, packed, sources or {})
        self.write(whole, packed + zlib.compress(b"".join(counters)))

    def exclude(self, exclusions: Exclusions) -> None:
        """Say which lines do not count from now on.

        Parameters
        ----------
        exclusions : Exclusions
            All of them; what was said before is void.
        """
        if exclusions != self.recording.exclusions:
            self.recording.exclusions = exclusions
            self.write({"kind": "exclusions", **exclusions.fields()})

    def end(self, tests: Sequence[str]) -> None:
        """Say that the whole suite was run, and which tests it has.

        Parameters
        ----------
        tests : sequence of str
            Names; others that are recorded are gone.
        """
        self.write({"kind": "end", "tests": list(tests)})

    def write(self, fields: Mapping[str, Any], blob: bytes = b"") -> None:
        """Add a record, in one write.

        Parameters
        ----------
        fields : mapping of str to Any
            The record, as JSON can hold it.
        blob : bytes, optional
            Bytes that go with it.

        Raises
        ------
        UsageError
            Not all of it could be written; the next recorder cuts off what was.
        """
        data = _framed(fields, blob)
        try:
            if os.write(self._log, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            cause = f"the recording can't be written: {error.strerror}"
            cure = "make room for it; the tests recorded so far are kept"
            raise UsageError(Problem(str(self.recording.log), "", cause, cure)) from None


def _test_fields(
    name: str, objects: Sequence[int], fields: Mapping[str, Any], table: bytes, sources: Mapping[str, str]
) -> dict[str, Any]:
    by_gcovr = {"table": len(table), "sources": dict(sources)} if table else {}
    return {"kind": "test", "name": name, "objects": list(objects), **fields, **by_gcovr}


def _object_fields(number: int, stored: StoredObject) -> dict[str, Any]:
    fields = {"id": number, "path": stored.path, "digest": stored.digest, "sources": dict(stored.sources)}
    return {"kind": "object", **fields}


def _framed(fields: Mapping[str, Any], blob: bytes = b"") -> bytes:
    head = json.dumps(fields, separators=(",", ":")).encode()
    payload = _HEAD.pack(len(head)) + head + blob
    return _FRAME.pack(len(payload), zlib.crc32(payload)) + payload


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
    while at + _FRAME.size <= len(data):
        size, checksum = _FRAME.unpack_from(data, at)
        payload = data[at + _FRAME.size : at + _FRAME.size + size]
        if len(payload) < size or zlib.crc32(payload) != checksum:
            return
        at += _FRAME.size + size
        yield payload, (size, checksum), _FRAME.size + size


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that nobody ever sees half of it."""
    try:
        with complete_file(path) as file:
            file.write(content)
    except OSError as error:
        problem = Problem(str(path), "", f"it can't be written: {error.strerror}", "make room for it")
        raise UsageError(problem) from None
