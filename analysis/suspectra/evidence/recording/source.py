"""Reading a recording: the logs that Suspectra's own recorder keeps.

Nothing in a recording is executed: frames contain JSON, integers and bits. Every length is checked against what is
really there, and every decompression has a limit.
"""

from __future__ import annotations

import os
import shlex
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np

from suspectra.base.arrays import Row
from suspectra.base.cancellation import Cancelled, checked
from suspectra.base.english import are, many
from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.evidence import EdgeEvidence, Evidence
from suspectra.evidence.merged_problems import merged
from suspectra.evidence.recording.changes import ChangesSincePass, digests_at, failed_before, replaced
from suspectra.evidence.recording.current_records import LiveRecords
from suspectra.evidence.recording.decoder import Decoder
from suspectra.evidence.recording.layout import Layout
from suspectra.evidence.recording.layout_change import LayoutChange
from suspectra.evidence.recording.log import Log
from suspectra.evidence.recording.record_table import RecordTable
from suspectra.evidence.recording.records import EMPTY, RUN_AGAIN, Record, Rows, Section, damaged
from suspectra.evidence.recording.source_map import SourceMap
from suspectra.evidence.recording.stacks import Stacks
from suspectra.evidence.sources import SourceReader
from suspectra.program.flow_readers import FlowReading
from suspectra.program.sources_as_run import SourcesAsRun
from suspectra.spectrum.chunks import Chunks
from suspectra_recorder.instrumentation.library_references import fcntl
from suspectra_recorder.log.collection import CollectionError, cut_off
from suspectra_recorder.log.frames import SUFFIX
from suspectra_recorder.log.history import newest_errors
from suspectra_recorder.log.locks import is_locked
from suspectra_recorder.log.reader import Source
from suspectra_recorder.settings import recording_folder

T = TypeVar("T")
_RECORD = "run the tests with `suspectra record -- pytest`"


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
    flow : bool
        Let helper processes begin to read the control flow of the sources while the recording is read, for techniques
        that rank by it. It has no effect without `edges`.

    Notes
    -----
    Reading again reads only what was appended. Files and rows that did not change are the same objects as
    before, also when the recorder has merged its logs meanwhile.

    Edges follow coverage.py's convention for arcs and are derived from probes. Sure are the entry of a function
    or module, both arms of ``if``, ``while`` and ``for``, the arms of ``match`` and of exception handlers, and
    the step from one statement to the next where there is no other way to reach the latter. The rest is not
    here: the way out of a function, jumps back to the head of a loop, and where the arms of a branch join again.
    Conditional expressions, ``and``/``or`` and comprehensions are no branches here, as in coverage.py; recordings with
    counts contain the outcomes of their conditions besides.

    A test that was recorded with an older version of a source keeps what it executed in functions that do the same
    in both versions, and elsewhere the lines that are the same. If it executed code that does something else now, a
    problem names the source, and edges of such code are left out.

    Examples
    --------
    >>> from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, with_json
    >>> from suspectra_recorder.recorded_outcome import TestRecord
    >>> run = frame(FrameKind.RUN, b'{"run": "monday", "started": 1}')
    >>> test = frame(FrameKind.TEST, with_json(TestRecord("test_sum", "failed", message="assert 3 == 4").head(2)))
    >>> (folder / "logs").mkdir()
    >>> _ = (folder / "logs" / "1.log").write_bytes(MAGIC + run + test)
    >>> source = RecordingSource(folder, folder / "logs")
    >>> [(test.name, test.message) for test in source.read().tests], source.growing()
    ([('test_sum', 'assert 3 == 4')], False)
    >>> source.watched() == [str(folder / "logs")], source.command
    (True, ('pytest',))
    >>> source.sources_of_passes()  # no failing test is known to have passed before
    []
    """

    recorded_by: ClassVar[str] = "record"

    def __init__(
        self,
        workspace: str | os.PathLike[str],
        folder: str | os.PathLike[str] | None = None,
        *,
        edges: bool = False,
        flow: bool = False,
    ):
        self.workspace = Path(os.path.realpath(workspace))
        self._boundary = Boundary(self.workspace)
        self.given = folder is not None
        self.folder = Path(folder) if folder is not None else Path(recording_folder(str(self.workspace)))
        self._name = _name(self.folder, self.workspace)
        self.edges = edges
        self.flow = flow
        self._reading: FlowReading | None = None
        self._logs: dict[str, Log] = {}
        self._maps: dict[tuple[object, ...], SourceMap] = {}
        self._layout = Layout({}, edges)
        self._laid_out: list[tuple[Section, int]] = []
        self._plans: dict[Section, Decoder] = {}
        self._live = LiveRecords()
        self._table = RecordTable()
        self._stacks = Stacks()
        self._changes = ChangesSincePass()
        self._decoded: dict[tuple[str, int], Rows] = {}
        self._odd: dict[str, Rows] = {}
        self._import: tuple[object, Row, list[Problem]] = (None, EMPTY, [])
        self._outside_rows: dict[Section, list[Rows]] = {}

    @property
    def command(self) -> tuple[str, ...]:
        """How the tests are run again, as in the newest run that was read; empty if none was."""
        sections = self._sections()
        return sections[-1].command if sections else ()

    def sources_of_passes(self) -> list[tuple[dict[str, str], tuple[str, ...]]]:
        """Look up the sources with which failing tests passed for the last time, as of the last :meth:`read`.

        Returns
        -------
        list of (dict of str to str, tuple of str)
            The digests of the sources by path, the newest first, each with the tests that passed with them.
        """
        tests: dict[Section, list[str]] = {}
        for name, record in self._live.passes.items():
            tests.setdefault(record.section, []).append(name)
        newest = sorted(tests, key=lambda section: -section.started)
        return [(digests_at(section, self._sections(), self._layout), tuple(tests[section])) for section in newest]

    def watched(self) -> Sequence[str]:
        """The folder of the logs.

        Returns
        -------
        sequence of str
            One absolute path: the folder that contains the logs.
        """
        return [str(self.folder)]

    def growing(self) -> bool:
        """Check whether tests whose log was read are still running; the evidence is then a mixture of two runs.

        Returns
        -------
        bool
            Also True for a run that another program started.
        """
        return self._is_inside() and any(is_locked(self.folder / name) for name in self._logs)

    def read(self) -> Evidence:
        """Read the present state of the recording.

        Returns
        -------
        Evidence
            Parts that did not change are the same objects as before.

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
        try:
            problems += self._decode()
        except Cancelled:
            self._reading = None  # the last reference, so the helpers end
            raise
        records, gone = self._without_deleted()
        problems += gone
        self._table.update(records, self._layout)
        table, notable = self._table, self._table.notable
        passes, failures = self._live.passes, self._live.first_failures
        earlier = {**failures, **passes}
        changed = self._changes.update(notable, earlier, self._sections(), self._layout) if earlier else {}
        return Evidence(
            source=self._name,
            tests=table.results,
            files=self._layout.files,
            rows=table.rows,
            at_import=self._outside(sections, problems),
            edges=self._edges(table.decoded) if self.edges else None,
            problems=tuple(merged(problems)),
            runs=records,
            collection_errors=self._collection_errors(),
            stacks=self._stacks.update(notable, self._layout),
            source_of=SourceReader(self.workspace) if self.edges else None,
            reading=self._reading,
            changed={name: row for name, row in changed.items() if name in passes},
            old=failed_before(notable, passes, failures, changed),
            replaced=replaced(notable, passes),
            outcomes=table.outcomes,
        )

    def _collection_errors(self) -> tuple[CollectionError, ...]:
        """What could not be collected, without what is gone from the disk since."""
        logs = self._logs.values()
        errors = [(section.run, error) for log in logs for section in log.sections for error in section.errors]
        cut_off = self._cut_off()
        if not errors:
            return cut_off
        live = newest_errors(errors, [collection for log in logs for collection in log.collections])
        there = self._boundary.existing(error.home for error in live if error.home)
        return (*(error for error in live if not error.home or error.home in there), *cut_off)

    def _cut_off(self) -> tuple[CollectionError, ...]:
        """That the newest run did not end by itself, unless it is still running or somebody has recorded that."""
        sections = self._sections()
        newest = [section for section in sections if section.run == sections[-1].run]
        left = max(section.plan for section in newest) - len(set[str]().union(*(s.tests for s in newest)))
        known = any(section.ended or section.errors for section in newest)
        if left <= 0 or known or fcntl is None or self.growing():  # without locks it may be running
            return ()
        return (cut_off(left, time=newest[-1].started),)

    def _edges(self, decoded: Sequence[Rows]) -> EdgeEvidence:
        rows = tuple(d.edges for d in decoded)
        times = [d.times for d in decoded if d.times is not None]
        if len(times) == len(decoded):
            return EdgeEvidence(self._layout.edge_table, rows, tuple(times))
        uncounted = None
        if any(map(len, times)):
            cause = (
                f"{len(decoded) - len(times)} of {len(decoded)} tests were recorded without counts, so none are used"
            )
            uncounted = Problem(self._name, "", cause, "run all tests with `suspectra record --counts`")
        return EdgeEvidence(self._layout.edge_table, rows, uncounted=uncounted)

    # logs

    def _read_logs(self) -> list[Problem]:
        names, problems = self._log_names()
        self._logs = {name: self._logs.get(name) or Log(self._source_map) for name in names}
        for name, log in self._logs.items():
            log.update(self.folder / name, f"{self._name}/{name}")
            problems += log.problems
        if not any(log.sections for log in self._logs.values()):
            if problems:
                raise EvidenceError(problems[0])
            raise EvidenceError(Problem(self._name, "", "nothing has been recorded yet", _RECORD))
        return problems

    def _log_names(self) -> tuple[list[str], list[Problem]]:
        if not self._is_inside():
            raise EvidenceError(
                Problem(
                    self._name,
                    "",
                    "the folder of the recording leads outside the workspace",
                    "remove the link and record again",
                )
            )
        try:
            entries = sorted(os.scandir(self.folder), key=lambda entry: entry.name)
        except FileNotFoundError:
            raise EvidenceError(Problem(self._name, "", "nothing has been recorded yet", _RECORD)) from None
        except NotADirectoryError:
            cure = "name the folder of a recording, such as .suspectra/recording, or a ZIP file that contains one"
            raise EvidenceError(Problem(self._name, "", "it is not the folder of a recording", cure)) from None
        except OSError as error:
            cause = f"the recording can't be read: {error.strerror or error}"
            raise EvidenceError(Problem(self._name, "", cause, "check the folder's permissions")) from None
        names, problems = [], []
        for entry in entries:
            if not entry.name.endswith(SUFFIX):
                continue
            if entry.is_file(follow_symlinks=False):
                names.append(entry.name)
            else:
                cause = "is not a regular file and was not read"
                problems.append(Problem(f"{self._name}/{entry.name}", "", cause, "remove it"))
        return names, problems

    def _is_inside(self) -> bool:
        """Whether the logs are in the workspace, or where the user said."""
        return self.given or self._boundary.real(self.folder) is not None

    def _sections(self) -> list[Section]:
        """All sections, the oldest first."""
        found = [section for log in self._logs.values() for section in log.sections]
        return sorted(found, key=lambda section: section.started)

    def _source_map(self, source: Source) -> SourceMap:
        blob = source.map
        key = (source.path, source.digest, source.is_test, source.traced, len(blob), zlib.crc32(blob))
        if key not in self._maps:
            self._maps[key] = SourceMap.from_source(source)
        return self._maps[key]

    # tests

    def _without_deleted(self) -> tuple[Chunks[Record], list[Problem]]:
        """The records without those of tests whose file is gone."""
        records = self._live.ordered
        there = self._boundary.existing(self._live.files)
        lost = {file: n for file, n in self._live.files.items() if file not in there}
        if lost:
            gone = [r for r in records if r.result.location is not None and r.result.location.file in lost]
            stays = (r for r in records if r.result.location is None or r.result.location.file not in lost)
            records = Chunks.from_items(stays)
            # once a run has looked for tests there, to run them again would not help
            unknown = {
                file for r in gone if r.result.location and not self._looked_for(file := r.result.location.file, r)
            }
            lost = {file: n for file, n in lost.items() if file in unknown}
        return records, [
            Problem(file, "", f"was deleted, so {many(count, 'recorded test')} in it {are(count)} left out", RUN_AGAIN)
            for file, count in lost.items()
        ]

    def _looked_for(self, file: str, record: Record) -> bool:
        """Whether a later run would have found a file, so that nothing is to be done about its tests."""
        return any(c.looked_for(file, record.time) for log in self._logs.values() for c in log.collections)

    # rows

    def _lay_out(self, sections: list[Section]) -> None:
        """One version of each source, that of the newest section that has it."""
        present = [(section, len(section.maps)) for section in sections]
        if present == self._laid_out:
            return
        versions = {m.measured.path: m for s in sections for m in s.maps if m is not None and m.traced}
        versions = dict(sorted(versions.items()))
        if list(versions.values()) != list(self._layout.versions.values()):
            layout = Layout(versions, self.edges)
            if self.edges and self.flow:
                self._begin_reading(layout)
            self._move(LayoutChange(self._layout, layout))
            self._layout = layout
            self._plans.clear()
        self._laid_out = present
        known = {id(m) for s in self._sections() for m in s.maps}
        self._maps = {key: m for key, m in self._maps.items() if id(m) in known}

    def _begin_reading(self, layout: Layout) -> None:
        """Let helpers begin to read the control flow of new and changed sources that are still as they were run."""
        new = [m.measured for path, m in layout.versions.items() if self._layout.versions.get(path) is not m]
        source_of = SourcesAsRun(tuple(new), SourceReader(self.workspace))
        found = dict.fromkeys(source_of(file.path) for file in checked(new))
        self._reading = FlowReading([data for data in found if data is not None])

    def _move(self, move: LayoutChange) -> None:
        """Bring what was decoded to a new layout; of the sources, only those that changed are looked at again."""
        decoded = [(r, r.decoded) for r in self._live.records.values() if r.decoded is not None]
        moved = [move.moved(before, record.section, record.rows) for record, before in checked(decoded)]
        for (record, _), after in zip(decoded, moved, strict=True):
            record.decoded = after
        for section, rows in self._outside_rows.items():
            packed = ((one,) for one in section.outside)
            outside = (move.moved(*one) for one in zip(rows, repeat(section), packed, strict=False))
            self._outside_rows[section] = list(_until_none(outside))
        self._decoded = {r.key: r.decoded for r in self._live.records.values() if r.decoded}
        self._odd = {name: d for (name, _), d in self._decoded.items() if d.odd}
        self._live.fresh = [r for r in self._live.records.values() if r.decoded is None]

    def _plan(self, section: Section) -> Decoder:
        plan = self._plans.get(section)
        if plan is None or plan.sources != len(section.maps):
            plan = self._plans[section] = Decoder(section, self._layout)
        return plan

    def _decode(self) -> list[Problem]:
        """Decode what is new, and forget what it replaced."""
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
                    decoded = self._plan(record.section).decode(*record.rows)
                except (ValueError, struct.error) as error:
                    decoded = damaged(error)
            record.decoded = self._decoded[record.key] = decoded
            self._odd.pop(name, None)
            if decoded.odd:
                self._odd[name] = decoded
        live.fresh, live.gone = [], []
        present = {section for log in self._logs.values() for section in log.sections}
        self._plans = {section: plan for section, plan in self._plans.items() if section in present}
        return self._oddities()

    def _oddities(self) -> list[Problem]:
        problems = [
            Problem(self._name, name, f"what the test executed is damaged: {decoded.damage}", "run the test again")
            for name, decoded in self._odd.items()
            if decoded.damage
        ]
        stale = Counter(path for decoded in self._odd.values() for path in decoded.stale)
        if not stale:
            return problems
        tests = sum(bool(decoded.stale) for decoded in self._odd.values())
        of = f"{many(tests, 'test')} {'was' if tests == 1 else 'were'} recorded before"
        first, *others = sorted(stale)
        what = f"it and {many(len(others), 'other file')}" if others else "it"
        executes = "it executes" if tests == 1 else "they execute"
        cause = f"{of} {what} changed; what {executes} of the changed lines is not known"
        cure = f"run `suspectra record -- {shlex.join(self.command)}`" if self.command else RUN_AGAIN
        return [*problems, Problem(first, "", cause, cure)]

    def _outside(self, sections: list[Section], problems: list[Problem]) -> Row:
        state = (self._layout, [(section, len(section.maps), len(section.outside)) for section in sections])
        if self._import[0] != state:
            self._import = (state, *self._outside_of(sections))
        problems += self._import[2]
        return self._import[1]

    def _outside_of(self, sections: list[Section]) -> tuple[Row, list[Problem]]:
        reached, problems = np.zeros(self._layout.columns, bool), []
        self._outside_rows = {section: self._outside_rows.get(section, []) for section in sections}
        for section, known in self._outside_rows.items():
            for rows in section.outside[len(known) :]:
                try:
                    known.append(self._plan(section).decode(rows))
                except (ValueError, struct.error) as error:
                    known.append(damaged(error))
            for decoded in known:
                reached[decoded.row] = True
                if decoded.damage:
                    cause = f"what ran at import is damaged: {decoded.damage}"
                    problems.append(Problem(self._name, "", cause, RUN_AGAIN))
        return np.flatnonzero(reached).astype(np.int32), problems


def _until_none(items: Iterable[T | None]) -> Iterator[T]:
    for item in items:
        if item is None:
            return
        yield item


def _name(folder: Path, workspace: Path) -> str:
    """The name of a recording in messages."""
    try:
        return Path(os.path.abspath(folder)).relative_to(workspace).as_posix()
    except ValueError:
        return str(folder)
