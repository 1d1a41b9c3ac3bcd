"""Reading a recording: the logs that Suspectra's own recorder keeps.

Nothing in a recording is executed: frames hold JSON, integers and bits. Every length is checked against what is
really there, and every decompression has a limit.
"""

from __future__ import annotations

import difflib
import os
import stat
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import repeat, takewhile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from suspectra.arrays import Bools, Ints, Row
from suspectra.cancellation import Cancelled, check, checked
from suspectra.errors import EvidenceError, Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import EdgeEvidence, Evidence, MeasuredFile, TestResult, Verdict, join_files
from suspectra.evidence.sources import SourceReader
from suspectra.instrumentation.outline import Outline, difference
from suspectra.instrumentation.probes import Kind
from suspectra.location import Location
from suspectra.recording.collection import CollectionError
from suspectra.recording.history import WholeFiles, current, inflate, newest, newest_errors
from suspectra.recording.log import (
    DAMAGE,
    MAGIC,
    SUFFIX,
    Frame,
    FrameKind,
    LogDamage,
    frames,
    held,
    inside,
    read_json,
    split_json,
)
from suspectra.recording.settings import recording_folder
from suspectra.spectrum import FIRST_OUTCOME, Edges, ranges

_MAX_LOG = 1 << 30
_MAX_MAP = 1 << 27
_ARCS = (Kind.ENTRY, Kind.ARM, Kind.FLOW)
_OUTCOMES = (Kind.FALSE, Kind.TRUE)
_EMPTY = np.zeros(0, np.int32)
_FEW = 64  # shifts up to which slices are quicker than a table
_COUNT = np.dtype("<u8")
_MAX_COUNT = 1 << 40  # far beyond any test, and no sum of such numbers overflows
_RECORD = "run the tests with `suspectra record -- pytest`"
_AGAIN = "run the tests again"


class RecordingSource:
    """The recording of a workspace as a source of evidence.

    Parameters
    ----------
    workspace : path
        The folder the recorded paths are relative to.
    folder : path, optional
        Where the logs are, by default ``.suspectra/recording`` in the workspace.
    edges : bool
        Hand over control-flow edges too. They cost about as much time as the statements.

    Notes
    -----
    Reading again reads only what was appended. Files and rows that did not change are the same objects as
    before, also when the recorder has merged its logs meanwhile.

    Edges follow coverage.py's convention for arcs and are derived from probes. Sure are the entry of a function
    or module, both arms of ``if``, ``while`` and ``for``, the arms of ``match`` and of exception handlers, and
    the step from one statement to the next where there is no other way to reach the latter. The rest is not
    here: the way out of a function, jumps back to the head of a loop, and where the arms of a branch join again.
    Conditional expressions, ``and``/``or`` and comprehensions are no branches here, as in coverage.py; recordings with
    counts hold the outcomes of their conditions besides.

    A test that was recorded with an older version of a source keeps what it executed in functions that do the same
    in both versions, and elsewhere the lines that are the same. If it executed code that does something else now, a
    problem names the source, and edges of such code are left out.
    """

    recorded_by: ClassVar[str] = "record"

    def __init__(
        self,
        workspace: str | os.PathLike[str],
        folder: str | os.PathLike[str] | None = None,
        *,
        edges: bool = False,
    ):
        self.workspace = Path(os.path.realpath(workspace))
        self._boundary = Boundary(self.workspace)
        self.given = folder is not None
        self.folder = Path(folder) if folder is not None else Path(recording_folder(str(self.workspace)))
        self.edges = edges
        self._logs: dict[str, _Log] = {}
        self._maps: dict[tuple, _SourceMap] = {}
        self._layout = _Layout({}, edges)
        self._laid_out: list[tuple[_Section, int]] = []
        self._plans: dict[_Section, _Plan] = {}
        self._live = _Live()
        self._decoded: dict[tuple[str, int], _Decoded] = {}
        self._odd: dict[str, _Decoded] = {}
        self._import: tuple[object, Row, list[Problem]] = (None, _EMPTY, [])
        self._outside_rows: dict[_Section, list[_Decoded]] = {}

    def watched(self) -> Sequence[str]:
        """The folder of the logs."""
        return [str(self.folder)]

    def growing(self) -> bool:
        """Whether tests are still running whose log was read: what they replace is then a mixture of two runs."""
        return self._is_inside() and any(held(self.folder / name) for name in self._logs)

    def read(self) -> Evidence:
        """The present state of the recording.

        Raises
        ------
        EvidenceError
            When there is no recording, or none of it can be read.
        """
        problems = self._read_logs()
        self._live.update(self._logs.values())
        latest = max((s.started for s in self._sections()), default=0)
        run = next((s.run for s in self._sections() if s.started == latest), "")
        sections = [s for s in self._sections() if s in self._live.sections or s.run == run]
        self._lay_out(sections)
        problems += [p for s in sections for p in s.problems]
        problems += self._decode()
        records, gone = self._without_deleted()
        problems += gone
        decoded = [record.decoded for record in records]
        return Evidence(
            source=self._name(),
            tests=tuple([record.result for record in records]),
            files=self._layout.files,
            rows=tuple([d.row for d in decoded]),
            at_import=self._outside(sections, problems),
            edges=self._edges(decoded, problems) if self.edges else None,
            problems=tuple(dict.fromkeys(problems)),
            runs=tuple(records),
            collection_errors=self._collection_errors(),
        )

    def _collection_errors(self) -> tuple[CollectionError, ...]:
        """What could not be collected, without what is gone from the disk since."""
        logs = self._logs.values()
        errors = [(section.run, error) for log in logs for section in log.sections for error in section.errors]
        if not errors:
            return ()
        live = newest_errors(errors, [collection for log in logs for collection in log.collections])
        there = self._boundary.existing(error.home for error in live if error.home)
        return tuple(error for error in live if not error.home or error.home in there)

    def _edges(self, decoded: Sequence[_Decoded], problems: list[Problem]) -> EdgeEvidence:
        rows = tuple(d.edges for d in decoded)
        times = [d.times for d in decoded if d.times is not None]
        if times and len(times) < len(decoded) and any(map(len, times)):
            cause = (
                f"{len(decoded) - len(times)} of {len(decoded)} tests were recorded without counts, so none are used"
            )
            problems.append(Problem(self._name(), "", cause, "run all tests with `suspectra record --counts`"))
        counted = tuple(times) if len(times) == len(decoded) else None
        return EdgeEvidence(self._layout.edge_table, rows, counted, source_of=SourceReader(self.workspace))

    # logs

    def _read_logs(self) -> list[Problem]:
        names, problems = self._log_names()
        self._logs = {name: self._logs.get(name) or _Log() for name in names}
        for name, log in self._logs.items():
            log.update(self.folder / name, f"{self._name()}/{name}", self._source_map)
            problems += log.problems
        if not any(log.sections for log in self._logs.values()):
            if problems:
                raise EvidenceError(problems[0])
            raise EvidenceError(Problem(self._name(), "", "nothing has been recorded yet", _RECORD))
        return problems

    def _log_names(self) -> tuple[list[str], list[Problem]]:
        if not self._is_inside():
            raise EvidenceError(
                Problem(
                    self._name(),
                    "",
                    "the folder of the recording leads outside the workspace",
                    "remove the link and record again",
                )
            )
        try:
            entries = sorted(os.scandir(self.folder), key=lambda entry: entry.name)
        except FileNotFoundError:
            raise EvidenceError(Problem(self._name(), "", "nothing has been recorded yet", _RECORD)) from None
        except OSError as error:
            cause = f"the recording can't be read: {error.strerror or error}"
            raise EvidenceError(Problem(self._name(), "", cause, "check the folder's permissions")) from None
        names, problems = [], []
        for entry in entries:
            if not entry.name.endswith(SUFFIX):
                continue
            if entry.is_file(follow_symlinks=False):
                names.append(entry.name)
            else:
                cause = "is not a regular file and was not read"
                problems.append(Problem(f"{self._name()}/{entry.name}", "", cause, "remove it"))
        return names, problems

    def _is_inside(self) -> bool:
        """Whether the logs are in the workspace, or where the user said."""
        return self.given or self._boundary.real(self.folder) is not None

    def _name(self) -> str:
        try:
            return Path(os.path.abspath(self.folder)).relative_to(self.workspace).as_posix()
        except ValueError:
            return str(self.folder)

    def _sections(self) -> list[_Section]:
        """All sections, the oldest first."""
        found = [section for log in self._logs.values() for section in log.sections]
        return sorted(found, key=lambda section: section.started)

    def _source_map(self, head: dict[str, Any], blob: bytes) -> _SourceMap:
        traced = bool(head.get("traced", True))
        key = (head["path"], head["digest"], bool(head["is_test"]), traced, len(blob), zlib.crc32(blob))
        if key not in self._maps:
            self._maps[key] = _SourceMap.from_payload(head, blob)
        return self._maps[key]

    # tests

    def _without_deleted(self) -> tuple[list[_Record], list[Problem]]:
        """The records without those of tests whose file is gone."""
        records = list(self._live.records.values())
        there = self._boundary.existing(self._live.files)
        lost = {file: n for file, n in self._live.files.items() if file not in there}
        if lost:
            records = [r for r in records if r.result.location is None or r.result.location.file not in lost]
        return records, [
            Problem(file, "", f"was deleted; its {count} recorded tests are left out", _AGAIN)
            for file, count in lost.items()
        ]

    # rows

    def _lay_out(self, sections: list[_Section]) -> None:
        """One version of each source, that of the newest section that has it."""
        present = [(section, len(section.maps)) for section in sections]
        if present == self._laid_out:
            return
        versions = {m.measured.path: m for s in sections for m in s.maps if m is not None and m.traced}
        versions = dict(sorted(versions.items()))
        if list(versions.values()) != list(self._layout.versions.values()):
            layout = _Layout(versions, self.edges)
            self._move(_Move(self._layout, layout))
            self._layout = layout
            self._plans.clear()
        self._laid_out = present
        known = {id(m) for s in self._sections() for m in s.maps}
        self._maps = {key: m for key, m in self._maps.items() if id(m) in known}

    def _move(self, move: _Move) -> None:
        """Bring what was decoded to a new layout; of the sources, only those that changed are looked at again."""
        decoded = [r for r in self._live.records.values() if r.decoded is not None]
        moved = [move.moved(r.decoded, r.section, r.rows) for r in checked(decoded)]
        for record, after in zip(decoded, moved, strict=True):
            record.decoded = after
        for section, rows in self._outside_rows.items():
            moved = [move.moved(*one) for one in zip(rows, repeat(section), section.outside, strict=False)]
            self._outside_rows[section] = list(takewhile(lambda decoded: decoded is not None, moved))
        self._decoded = {r.key: r.decoded for r in self._live.records.values() if r.decoded}
        self._odd = {name: d for (name, _), d in self._decoded.items() if d.odd}
        self._live.fresh = [r for r in self._live.records.values() if r.decoded is None]

    def _plan(self, section: _Section) -> _Plan:
        plan = self._plans.get(section)
        if plan is None or plan.sources != len(section.maps):
            plan = self._plans[section] = _Plan(section, self._layout)
        return plan

    def _decode(self) -> list[Problem]:
        """Decode what is new, and forget what it replaced.

        Returns
        -------
        list of Problem
            What is wrong with any row that counts.
        """
        live = self._live
        for name, time in live.gone:
            self._decoded.pop((name, time), None)
            self._odd.pop(name, None)
        for record in checked(live.fresh):
            name = record.result.name
            if live.records.get(name) is not record:  # replaced before it was ever looked at
                continue
            decoded = self._decoded.get(record.key)
            if decoded is None:
                try:
                    decoded = self._plan(record.section).decode(record.rows)
                except (ValueError, struct.error) as error:
                    decoded = _damaged(error)
            record.decoded = self._decoded[record.key] = decoded
            self._odd.pop(name, None)
            if decoded.odd:
                self._odd[name] = decoded
        live.fresh, live.gone = [], []
        here = {section for log in self._logs.values() for section in log.sections}
        self._plans = {section: plan for section, plan in self._plans.items() if section in here}
        return self._oddities()

    def _oddities(self) -> list[Problem]:
        problems = [
            Problem(self._name(), name, f"what the test executed is damaged: {decoded.damage}", "run the test again")
            for name, decoded in self._odd.items()
            if decoded.damage
        ]
        stale = Counter(path for decoded in self._odd.values() for path in decoded.stale)
        return problems + [
            Problem(
                path,
                "",
                f"{count} of the tests that execute it were recorded before it changed; on lines that changed "
                "nothing is known of them",
                _AGAIN,
            )
            for path, count in sorted(stale.items())
        ]

    def _outside(self, sections: list[_Section], problems: list[Problem]) -> Row:
        state = (self._layout, [(section, len(section.maps), len(section.outside)) for section in sections])
        if self._import[0] != state:
            self._import = (state, *self._outside_of(sections))
        problems += self._import[2]
        return self._import[1]

    def _outside_of(self, sections: list[_Section]) -> tuple[Row, list[Problem]]:
        reached, problems = np.zeros(self._layout.columns, bool), []
        self._outside_rows = {section: self._outside_rows.get(section, []) for section in sections}
        for section, known in self._outside_rows.items():
            for rows in section.outside[len(known) :]:
                try:
                    known.append(self._plan(section).decode(rows))
                except (ValueError, struct.error) as error:
                    known.append(_damaged(error))
            for decoded in known:
                reached[decoded.row] = True
                if decoded.damage:
                    cause = f"what ran at import is damaged: {decoded.damage}"
                    problems.append(Problem(self._name(), "", cause, _AGAIN))
        return np.flatnonzero(reached).astype(np.int32), problems


@dataclass(eq=False)
class _SourceMap:
    """One version of one source: its statements, and what its cells mean."""

    measured: MeasuredFile
    cells: int  # a multiple of eight
    checksum: np.ndarray  # of each statement's text
    kind: np.ndarray
    cell: np.ndarray
    line: np.ndarray
    target: np.ndarray
    function: np.ndarray
    traced: bool
    outline: Outline | None
    conditions: np.ndarray  # places, shape (k, 4)

    @classmethod
    def from_payload(cls, head: dict[str, Any], blob: bytes) -> _SourceMap:
        """Out of a ``FILE`` frame.

        Raises
        ------
        ValueError
            When it is damaged.
        """
        sizes, body = split_json(inflate(blob, _MAX_MAP))
        statements, probes = int(sizes["statements"]), int(sizes["probes"])
        cells = -(-int(sizes["cells"]) // 8) * 8
        columns = np.frombuffer(body, "<i4").astype(np.int32, copy=False)
        if min(statements, probes) < 0 or len(columns) != 4 * statements + 5 * probes or cells > 8 * _MAX_MAP:
            raise ValueError("sizes that do not fit")
        first, last, function, checksum = columns[: 4 * statements].reshape(4, statements)
        kind, cell, line, target, owner = columns[4 * statements :].reshape(5, probes)
        functions = tuple((str(name), int(start), int(end)) for name, start, end in sizes["functions"])
        conditions = np.array(sizes.get("conditions", []), np.int64).reshape(-1, 4)
        outcome = _is_any(kind, _OUTCOMES)
        sound = (
            np.all(np.diff(first) > 0)
            and np.all((first > 0) & (first <= last))
            and np.all((cell >= 0) & (cell < cells))
            and all(np.all((f >= -1) & (f < len(functions))) for f in (function, owner))
            and np.all(target < FIRST_OUTCOME)
            and np.all((conditions >= 0) & (conditions < FIRST_OUTCOME))
            and np.all((target[outcome] >= 0) & (target[outcome] < len(conditions)))
        )
        if not sound:
            raise ValueError("lines or probes out of range")
        measured = MeasuredFile(
            inside(head["path"]),
            str(head["digest"]),
            first,
            last,
            function,
            functions,
            bool(head["is_test"]),
        )
        traced, outline = bool(head.get("traced", True)), Outline.from_json(sizes.get("outline"))
        target = np.where(outcome, FIRST_OUTCOME + 2 * target + (kind == Kind.TRUE), target)
        places = conditions.astype(np.int32)
        return cls(measured, cells, checksum, kind, cell, line, target, owner, traced, outline, places)

    @cached_property
    def arcs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Cells, the number of the arc that each means; the arcs' ends, shape (k, 2), and functions."""
        facts = np.flatnonzero(_is_any(self.kind, (*_ARCS, *_OUTCOMES)) & (self.target != 0))
        line, target = self.line[facts], self.target[facts]
        # as one number each, which sorts many times faster than rows of two do
        codes = line.astype(np.int64) * (1 << 32) + target
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        table = np.stack([line[first], target[first]], axis=1)
        return self.cell[facts], inverse.reshape(-1), table, self.function[facts][first]

    @cached_property
    def statement_facts(self) -> tuple[np.ndarray, np.ndarray]:
        """Cells, and the statement that each means."""
        facts = self.kind == Kind.STATEMENT
        return self.cell[facts], np.searchsorted(self.measured.line, self.line[facts])


def _is_any(kind: Ints, kinds: Iterable[Kind]) -> Bools:
    """Which probes are of some kinds."""
    return np.logical_or.reduce([kind == int(one) for one in kinds])


@dataclass(eq=False)
class _Section:
    """One process's run: its sources in the order in which its rows number them."""

    run: str
    started: int
    maps: list[_SourceMap | None] = field(default_factory=list)
    outside: list[bytes] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    errors: list[CollectionError] = field(default_factory=list)


@dataclass(eq=False)
class _Record:
    """One test's record, its rows still packed."""

    result: TestResult
    time: int
    section: _Section
    rows: bytes
    decoded: _Decoded | None = None

    @cached_property
    def key(self) -> tuple[str, int]:
        """What tells this run of the test from others."""
        return self.result.name, self.time


class _Live:
    """The records that count: the last one of each test, oldest first, unless a later collection missed the test.

    Attributes
    ----------
    records : dict of str to _Record
    sections : Counter of _Section
    files : Counter of str
        Records by section, and by the file their test stands in.
    fresh : list of _Record
    gone : list of (str, int)
        What came since the caller last emptied the list, and name and time of what went.
    """

    def __init__(self) -> None:
        self.records: dict[str, _Record] = {}
        self.sections: Counter[_Section] = Counter()
        self.files: Counter[str] = Counter()
        self.fresh: list[_Record] = []
        self.gone: list[tuple[str, int]] = []
        self._seen: dict[object, tuple[int, int]] = {}  # how many records and collections of each log
        self._latest = 0

    def update(self, logs: Iterable[_Log]) -> None:
        """Take in what was appended to the logs; go through all of it only where that is not all that happened."""
        logs = list(logs)
        seen, self._seen = self._seen, {log.reading: (len(log.records), len(log.collections)) for log in logs}
        appended = [record for log in logs for record in log.records[seen.get(log.reading, (0, 0))[0] :]]
        appended.sort(key=lambda record: record.time)
        grown = seen.keys() <= self._seen.keys()
        collected = sum(len(log.collections) for log in logs) != sum(n for _, n in seen.values())
        if not grown or collected or (appended and appended[0].time < self._latest):
            self._start_over(logs)
            return
        collections = current(c for log in logs for c in log.collections)
        for record in appended:
            if not any(c.forgets(record.result.name, record.time) for c in collections):
                self._add(record)

    def _start_over(self, logs: Sequence[_Log]) -> None:
        everything = [record for log in logs for record in log.records]
        live = newest(((r.result.name, r.time) for r in everything), [c for log in logs for c in log.collections])
        chosen = {r.result.name: r for r in everything if live.get(r.result.name) == r.time}
        last = {name: record.time for name, record in chosen.items()}
        self.gone += [(name, record.time) for name, record in self.records.items() if last.get(name) != record.time]
        self.records, self.sections, self.files, self.fresh = {}, Counter(), Counter(), []
        for record in sorted(chosen.values(), key=lambda record: (record.time, record.result.name)):
            self._add(record)

    def _add(self, record: _Record) -> None:
        before = self.records.get(record.result.name)
        if before is not None:
            self._drop(before)
        self.records[record.result.name] = record
        self.sections[record.section] += 1
        if record.result.location is not None:
            self.files[record.result.location.file] += 1
        if record.decoded is None:
            self.fresh.append(record)
        self._latest = max(self._latest, record.time)

    def _drop(self, record: _Record) -> None:
        del self.records[record.result.name]
        self.gone.append((record.result.name, record.time))
        record.decoded = None  # its log keeps the record, which needs no more room than on disk
        self.sections -= Counter([record.section])
        if record.result.location is not None:
            self.files -= Counter([record.result.location.file])


class _Log:
    """What has been read of one log."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.reading = object()  # another one when the log is read from its start again
        self.offset = 0
        self.identity: tuple[int, int] | None = None
        self.sections: list[_Section] = []
        self.records: list[_Record] = []
        self.collections: list[WholeFiles] = []
        self.problems: list[Problem] = []
        self._damage: list[Problem] = []

    def update(self, path: Path, name: str, source_map: Callable[..., _SourceMap]) -> None:
        """Read what was appended since the last time; `name` is what problems call the log."""
        self.problems = self._damage
        try:
            data = self._appended(path)
        except OSError as error:
            cause = f"can't be read: {error.strerror or error}"
            self.problems = [*self._damage, Problem(name, "", cause, _AGAIN)]
            return
        if data is None:
            return
        start = self.offset
        try:
            for frame in checked(frames(data, header=start == 0)):
                try:
                    self._add(frame, source_map)
                except DAMAGE as error:
                    place = f"frame that ends at byte {start + frame.end}"
                    cause = f"does not hold what it should ({type(error).__name__}: {error})"
                    self._damage.append(Problem(name, place, cause, _AGAIN))
                self.offset = start + frame.end
        except Cancelled:
            self._clear()  # a frame may stand for an earlier one, so reading can't go on in the middle
            raise
        except LogDamage as damage:
            place = f"byte {start + damage.offset}"
            if damage.cause == "torn frame":
                cause = "the last entry is cut off, as it is when a process is killed; all before it was read"
            else:
                cause = f"{damage.cause}; nothing after this place was read"
            self.problems = [*self._damage, Problem(name, place, cause, _AGAIN)]
        else:
            self.problems = list(self._damage)

    def _appended(self, path: Path) -> bytes | None:
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(0, "no regular file")
            if status.st_size > _MAX_LOG:
                raise OSError(0, f"larger than {_MAX_LOG >> 20} MiB")
            identity = (status.st_dev, status.st_ino)
            if identity != self.identity or status.st_size < self.offset:
                self._clear()
                self.identity = identity
                self.problems = self._damage
            if status.st_size == self.offset and self.offset:
                return None
            if not self.offset:
                head = stream.read(len(MAGIC))
                if head != MAGIC:
                    return head  # enough to see that it is no log
            stream.seek(self.offset)
            return stream.read(_MAX_LOG)

    def _add(self, frame: Frame, source_map: Callable[..., _SourceMap]) -> None:
        payload = frame.payload
        if frame.kind == FrameKind.RUN:
            head = read_json(payload)
            self.sections.append(_Section(str(head["run"]), int(head["started"])))
            return
        section = self.sections[-1]
        if frame.kind == FrameKind.FILE:
            section.maps.append(None)  # keeps the numbers right when the map is damaged
            head, blob = split_json(payload)
            section.maps[-1] = source_map(head, blob)
        elif frame.kind == FrameKind.TEST:
            head, rows = split_json(payload)
            self.records.append(_Record(_test_result(head), int(head["time"]), section, rows))
        elif frame.kind == FrameKind.OUTSIDE:
            section.outside.append(payload)
        elif frame.kind == FrameKind.SHARED:
            head, rows = split_json(payload)  # for those who choose tests, but damage is told by all
            if "name" not in head or not rows:
                raise ValueError("nothing that is shared")
            if not head["name"]:
                section.outside.append(rows)  # a first import
        elif frame.kind == FrameKind.SCOPE:
            self.collections.append(WholeFiles.from_payload(payload, section.run))
        elif frame.kind == FrameKind.PROBLEM:
            head = read_json(payload)
            section.problems.append(Problem(*(str(head[k]) for k in ("file", "place", "cause", "cure"))))
        elif frame.kind == FrameKind.ERROR:
            section.errors.append(CollectionError.from_dict(read_json(payload)))


def _test_result(head: dict[str, Any]) -> TestResult:
    place = head.get("location")
    location = None
    if place is not None:
        file, line = place
        location = Location(inside(file), int(line), int(line))
    return TestResult(
        name=str(head["name"]),
        verdict=Verdict(head["verdict"]),
        location=location,
        phases={str(phase): str(outcome) for phase, outcome in dict(head["phases"]).items()},
        message=str(head["message"]),
        seconds=float(head["seconds"]),
        flaky=bool(head["flaky"]),
    )


@dataclass(frozen=True, eq=False)
class _Decoded:
    """The rows of a record in the columns of the layout."""

    row: Row
    edges: Row
    times: np.ndarray | None  # how often each edge was taken, None where that was not counted
    stale: tuple[str, ...]  # sources that have changed since
    section: _Section | None  # as it was read; merged logs have others
    touched: np.ndarray  # its numbers of the sources
    damage: str = ""

    @property
    def odd(self) -> bool:
        """Whether there is something to say about it."""
        return bool(self.stale or self.damage)


class _Layout:
    """The columns: one version of each source, and its edges."""

    def __init__(self, versions: dict[str, _SourceMap], edges: bool):
        self.versions = versions
        self.files = tuple(m.measured for m in versions.values())
        sizes = [len(file.line) for file in self.files]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.columns = int(starts[-1])
        self.start = {path: int(start) for path, start in zip(versions, starts, strict=False)}
        self.size = dict(zip(versions, sizes, strict=True))
        self.with_edges = edges
        self.edge_start: dict[str, int] = {}
        self.edge_size: dict[str, int] = {}
        self.edges_of: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # cells, edges of the same facts
        if edges:
            self.edge_table = self._edges()

    def _edges(self) -> Edges:
        functions = join_files(self.files).functions
        offsets = np.searchsorted([f.file for f in functions], np.arange(len(self.files)))
        parts: list[np.ndarray] = []
        count = 0
        for number, (path, source) in enumerate(checked(self.versions.items())):
            cells, inverse, table, function = source.arcs
            function = np.where(function >= 0, function + offsets[number], -1)
            parts.append(np.column_stack([np.full(len(table), number), table, function]))
            self.edges_of[path] = cells, inverse + count
            self.edge_start[path], self.edge_size[path] = count, len(table)
            count += len(table)
        check()
        columns = np.concatenate(parts) if parts else np.zeros((0, 4))
        conditions = tuple(source.conditions for source in self.versions.values())
        given = conditions if any(map(len, conditions)) else ()
        return Edges(*columns.astype(np.int32).T.copy(), complete=False, conditions=given)


def _damaged(error: Exception) -> _Decoded:
    return _Decoded(_EMPTY, _EMPTY, _EMPTY, (), None, _EMPTY, f"{error}")


class _Move:
    """From the columns of one layout to those of the next."""

    def __init__(self, before: _Layout, after: _Layout):
        self.changed = {
            path
            for path in before.versions.keys() | after.versions.keys()
            if before.versions.get(path) is not after.versions.get(path)
        }
        kept = [path for path in before.versions if path not in self.changed]
        self._after = after
        self._statements = _Shift([(before.start[p], after.start[p], before.size[p]) for p in kept], before.columns)
        self._edges = None
        if before.with_edges:
            spans = [(before.edge_start[p], after.edge_start[p], before.edge_size[p]) for p in kept]
            self._edges = _Shift(spans, len(before.edge_table))
        self._touches: dict[_Section, np.ndarray] = {}
        self._plans: dict[_Section, _Plan] = {}

    def moved(self, decoded: _Decoded, section: _Section, rows: bytes) -> _Decoded | None:
        """Rows in the columns of the new layout, the same arrays where none moved; None for damaged ones.

        Parameters
        ----------
        decoded : _Decoded
            In the columns of the layout before.
        section : _Section
        rows : bytes
            As they are packed now, and the section they are packed for.
        """
        if decoded.damage:
            return None
        if self._changed_in(decoded.section)[decoded.touched].any():
            return self._decoded_again(decoded, section, rows)
        row = self._statements.of(decoded.row)
        edges = self._edges.of(decoded.edges) if self._edges else decoded.edges
        if row is decoded.row and edges is decoded.edges:
            return decoded
        return _Decoded(row, edges, decoded.times, decoded.stale, decoded.section, decoded.touched)

    def _changed_in(self, section: _Section) -> np.ndarray:
        """Whether each source of a section changed."""
        if section not in self._touches:
            changed = [m is None or m.measured.path in self.changed for m in section.maps]
            self._touches[section] = np.array(changed, bool)
        return self._touches[section]

    def _decoded_again(self, decoded: _Decoded, section: _Section, rows: bytes) -> _Decoded | None:
        """What stays in its new columns, and the sources that changed once more as they were packed."""
        if section not in self._plans:
            only = set(np.flatnonzero(self._changed_in(section)).tolist())
            self._plans[section] = _Plan(section, self._after, only)
        try:
            own = self._plans[section].decode(rows)
        except (ValueError, struct.error):
            return None
        row, _ = self._statements.staying(decoded.row)
        row = np.sort(np.concatenate([row, own.row]), kind="stable")
        stale = (*(path for path in decoded.stale if path not in self.changed), *own.stale)
        if not self._edges:
            return replace(decoded, row=row, stale=stale)
        edges, stays = self._edges.staying(decoded.edges)
        edges = np.concatenate([edges, own.edges])
        order = np.argsort(edges, kind="stable")
        times = None if decoded.times is None else np.concatenate([decoded.times[stays], own.times])[order]
        return replace(decoded, row=row, stale=stale, edges=edges[order], times=times)


class _Shift:
    """The new places of the columns of sources that did not change, which stay in their order.

    Parameters
    ----------
    spans : sequence of (int, int, int)
        Old start, new start and size of each such source, ascending.
    columns : int
        How many there were.
    """

    def __init__(self, spans: Sequence[tuple[int, int, int]], columns: int):
        old, new, size = np.array(spans, np.int64).reshape(-1, 3).T
        self._columns, self._spans = columns, (old, new, size)
        shift = new - old
        turns = np.flatnonzero(np.diff(shift, prepend=shift[:1] - 1))  # all in between go the same way
        self._from, self._by = old[turns].astype(np.int32), shift[turns].tolist()  # as wide as rows, which saves a copy
        self._stays = not shift.any()

    def of(self, row: Row) -> Row:
        """A row that holds columns of such sources alone; the same array where it stays in its place."""
        if self._stays or not len(row):
            return row
        if len(self._by) > _FEW:
            moved = self._place[row]
            return row if np.array_equal(moved, row) else moved
        cuts = [*row.searchsorted(self._from).tolist(), len(row)]
        moved = row
        for by, start, end in zip(self._by, cuts, cuts[1:], strict=False):
            if by and start < end:
                moved = row.copy() if moved is row else moved
                moved[start:end] += by
        return moved

    def staying(self, row: Row) -> tuple[Row, np.ndarray]:
        """The columns of any row that are of such sources, in their new places; and which they are."""
        place = self._place[row]
        stays = place >= 0
        return place[stays], stays

    @cached_property
    def _place(self) -> np.ndarray:
        old, new, size = self._spans
        place = np.full(self._columns, -1, np.int32)
        place[ranges(old, old + size)] = ranges(new, new + size)
        return place


class _Plan:
    """How the cells of one section map to the columns of a layout; with `only`, those of these sources."""

    def __init__(self, section: _Section, layout: _Layout, only: Container[int] | None = None):
        self.section = section
        self.maps = maps = tuple(section.maps)
        self.sources = len(maps)
        self.layout = layout
        self.only = only
        self.sizes = np.array([m.cells // 8 if m is not None else 0 for m in maps], np.int64)
        self.total = int(self.sizes.sum())
        self.damaged = {number for number, m in enumerate(maps) if m is None}
        self.stale: dict[int, tuple[str, np.ndarray]] = {}  # path, and the cells of what does something else now
        self.statements = _Gather([self._facts(n, self._statement_facts) for n in range(self.sources)])
        self.edges = None
        if layout.with_edges:
            self.edges = _Gather([self._facts(n, self._edge_facts) for n in range(self.sources)])

    def _facts(self, number: int, facts: Callable[..., tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        source = self.maps[number] if self.only is None or number in self.only else None
        current = None
        if source is not None and source.traced:
            current = self.layout.versions.get(source.measured.path)
        return facts(number, source, current) if current is not None else (_EMPTY, _EMPTY)

    def _statement_facts(self, number: int, source: _SourceMap, current: _SourceMap):
        start = self.layout.start[source.measured.path]
        cell, statement = source.statement_facts
        if source is not current:
            if source.measured.digest != current.measured.digest:
                self.stale[number] = source.measured.path, _carried(source, current).doubtful
            statement = _carried(source, current).statement[statement]
            cell, statement = cell[statement >= 0], statement[statement >= 0]
        return cell, statement + start

    def _edge_facts(self, number: int, source: _SourceMap, current: _SourceMap):
        if source is current:
            return self.layout.edges_of[source.measured.path]
        carried = _carried(source, current)
        return carried.arc_cell, carried.arc + self.layout.edge_start[source.measured.path]

    def decode(self, rows: bytes) -> _Decoded:
        """The rows of a record.

        Raises
        ------
        ValueError, struct.error
            When they are damaged.
        """
        data = inflate(rows, 4 + 4 * self.sources + self.total * (1 + 8 * _COUNT.itemsize))
        (count,) = struct.unpack_from("<I", data)
        if count > self.sources:
            raise ValueError("more sources than there are")
        numbers = struct.unpack_from(f"<{count}I", data, 4)
        if numbers and (max(numbers) >= self.sources or len(set(numbers)) != count):
            raise ValueError("sources that are not there")
        if not self.damaged.isdisjoint(numbers):
            raise ValueError("a source whose map is damaged")
        touched = np.array(numbers, np.int32)
        sizes = self.sizes[touched]
        head, size = 4 + 4 * count, int(sizes.sum())
        if len(data) < head + size:
            raise ValueError("a wrong number of bits")
        fired = np.unpackbits(np.frombuffer(data, np.uint8, size, head)).view(bool)
        starts = 8 * (sizes.cumsum() - sizes)
        stale = tuple(self._stale(touched, starts, fired)) if self.stale else ()
        times = _times(data[head + size :], fired)
        row, _ = self.statements.columns_of(touched, starts, fired)
        if self.edges is None:
            return _Decoded(row, _EMPTY, None, stale, self.section, touched)
        edges, passed = self.edges.columns_of(touched, starts, fired, times)
        return _Decoded(row, edges, passed, stale, self.section, touched)

    def _stale(self, touched: np.ndarray, starts: np.ndarray, fired: np.ndarray) -> Iterator[str]:
        """The sources in which the test executed what does something else now."""
        for number, start in zip(touched.tolist(), starts.tolist(), strict=True):
            if number in self.stale:
                path, cells = self.stale[number]
                if fired[start + cells].any():
                    yield path


def _times(data: bytes, fired: np.ndarray) -> np.ndarray | None:
    """How often each cell was passed, None where the recorder did not count.

    Raises
    ------
    ValueError
        When the data is neither nothing nor a count for each cell that is set.
    """
    cells = int(np.count_nonzero(fired))
    if not data and cells:
        return None
    if len(data) != cells * _COUNT.itemsize:
        raise ValueError("a wrong number of bits or counts")
    times = np.zeros(len(fired), np.int64)
    times[fired] = np.clip(np.frombuffer(data, _COUNT), 1, _MAX_COUNT).astype(np.int64)
    return times


class _Gather:
    """From set cells to sorted columns.

    Each column looks at its cell, source by source in the order of the columns, so nothing has to be sorted and only
    the sources that a test touched are looked at.

    Parameters
    ----------
    facts : sequence of (cells, columns)
        For each source the cells, counted within the source, and the column that each means. A column may be meant
        by several cells.
    """

    def __init__(self, facts: Sequence[tuple[np.ndarray, np.ndarray]]):
        orders = [np.argsort(column, kind="stable") for _, column in facts]
        ordered = [(cell[o], column[o]) for (cell, column), o in zip(facts, orders, strict=True)]
        self.sizes = np.array([len(cell) for cell, _ in ordered], np.int64)
        self.starts = self.sizes.cumsum() - self.sizes
        self.cell = np.concatenate([_EMPTY, *(cell for cell, _ in ordered)]).astype(np.int32)
        self.column = np.concatenate([_EMPTY, *(column for _, column in ordered)]).astype(np.int32)
        self.repeats = any(np.any(column[1:] == column[:-1]) for _, column in ordered)
        first = np.array([column[0] if len(column) else -1 for _, column in ordered], np.int64)
        # sources are numbered as they were loaded, columns by path
        self.place = np.empty(len(first), np.int64)
        self.place[np.argsort(first, kind="stable")] = np.arange(len(first))

    def columns_of(
        self, touched: np.ndarray, starts: np.ndarray, fired: np.ndarray, times: np.ndarray | None = None
    ) -> tuple[Row, np.ndarray | None]:
        """The columns that are meant by set cells, sorted and without repetition, and how often each was passed.

        Parameters
        ----------
        touched : ndarray of int64
            Numbers of sources.
        starts : ndarray of int64
            Where the cells of each of them begin in `fired`.
        fired : ndarray of bool
        times : ndarray of int64, optional
            How often each cell was passed.
        """
        order = self.place[touched].argsort()
        touched, starts = touched[order], starts[order]
        sizes = self.sizes[touched]
        ends = sizes.cumsum()
        within = np.arange(int(ends[-1]) if len(ends) else 0)
        facts = within + np.repeat(self.starts[touched] - ends + sizes, sizes)
        cells = self.cell[facts] + np.repeat(starts, sizes)
        met = fired[cells].nonzero()[0]
        row = self.column[facts[met]]
        passed = times[cells[met]] if times is not None else None
        if self.repeats and len(row):
            first = np.concatenate([[True], row[1:] != row[:-1]]).nonzero()[0]
            row = row[first]
            passed = np.add.reduceat(passed, first) if passed is not None else None
        return row, passed


@dataclass(frozen=True, eq=False)
class _Carried:
    """What of an older version of a source is there in a newer one."""

    statement: np.ndarray  # for each statement its number in the newer one, -1 where there is none
    doubtful: np.ndarray  # the cells of code that does something else now
    arc_cell: np.ndarray
    arc: np.ndarray  # facts of arcs that are the same in both: the older cells, the newer arcs


@lru_cache(maxsize=256)
def _carried(old: _SourceMap, new: _SourceMap) -> _Carried:
    same, around = _same_functions(old, new)
    keeps = np.append(same >= 0, around)  # the last one, -1, is what stands outside of functions
    statement = _aligned(old, new, same)
    doubtful = np.unique(old.cell[~keeps[old.function]])
    cell, arc, ends, function = old.arcs
    line = dict(zip(old.measured.line.tolist(), np.append(new.measured.line, 0)[statement].tolist(), strict=True))
    places = {tuple(pair): number for number, pair in enumerate(new.arcs[2].tolist())}
    moved = [tuple(line.get(abs(end), 0) * (1 if end > 0 else -1) for end in pair) for pair in ends.tolist()]
    there = np.array([places.get(pair, -1) for pair in moved], np.int64)
    there = np.where(keeps[function], there, -1)[arc]
    return _Carried(statement, doubtful, cell[there >= 0], there[there >= 0])


def _same_functions(old: _SourceMap, new: _SourceMap) -> tuple[np.ndarray, bool]:
    """For each function the newer one's that does the same, -1 where none does; and whether what is around does."""
    same = np.full(len(old.measured.functions), -1, np.int64)
    if old.outline is None or new.outline is None or len(old.outline.functions) != len(same):
        return same, False
    numbers = {key: number for number, key in enumerate(new.outline.keys())}
    for number, (key, function) in enumerate(zip(old.outline.keys(), old.outline.functions, strict=True)):
        other = numbers.get(key, -1)
        if other >= 0 and new.outline.functions[other].body == function.body:
            same[number] = other
    return same, not difference(old.outline, new.outline).around


def _aligned(old: _SourceMap, new: _SourceMap, same: np.ndarray) -> np.ndarray:
    """For each statement of the old version the same one in the new version, -1 where there is none.

    Functions that do the same have the same statements, however they are laid out; the rest is compared as text.
    """
    out = np.full(len(old.checksum), -1, np.int64)
    before, after = _by_function(old), _by_function(new)
    taken = np.zeros(len(new.checksum), bool)
    for number in np.flatnonzero(same >= 0).tolist():
        mine, theirs = before.get(number, _EMPTY), after.get(int(same[number]), _EMPTY)
        if len(mine) == len(theirs):
            out[mine] = theirs
            taken[theirs] = True
    mine, theirs = np.flatnonzero(out < 0), np.flatnonzero(~taken)
    matcher = difflib.SequenceMatcher(None, old.checksum[mine].tolist(), new.checksum[theirs].tolist(), autojunk=False)
    for a, b, size in matcher.get_matching_blocks():
        out[mine[a : a + size]] = theirs[b : b + size]
    return out


def _by_function(source: _SourceMap) -> dict[int, np.ndarray]:
    """The numbers of each function's statements."""
    order = np.argsort(source.measured.function, kind="stable")
    numbers, starts = np.unique(source.measured.function[order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, starts[1:]), strict=True))
