"""Paths of tests, as a machine has recorded them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.cancellation import checked
from suspectra.base.location import Location
from suspectra.dependences.control import ControlDependences, NodeCalls
from suspectra.evidence.sources import SourceReader
from suspectra.experiments.altered_runs import Runs
from suspectra.experiments.run_answers import AlteredRunAnswer, answer_of, read_column
from suspectra.paths.path import NO_BRANCH, Path
from suspectra.paths.report import CALL, ReportedPlace
from suspectra.program.python.decision_texts import DecisionTexts
from suspectra.program.python.point_dependences import PointDependences, joined
from suspectra.program.python.points import Span
from suspectra_recorder.experiments.decisions.call_marks import Body
from suspectra_recorder.experiments.decisions.rewriting import InstrumentedDecision
from suspectra_recorder.experiments.messages import Findings, MachineRunAnswer, RunRequest, ThreadColumns

PATH: RunRequest = {"kind": "path"}
"""The job that changes nothing, and notes the path."""

_Sites = tuple[str, int, Sequence[InstrumentedDecision]]
_Bodies = tuple[str, int, Sequence[Body]]

MAX_EVENTS = 10_000_000
"""Decisions that a run may make while its path is recorded."""


class EventSite(NamedTuple):
    """What events of a path execute."""

    kind: str  # that of the decision, such as `if`, or `call`
    location: Location  # of what is decided by, or of the body of the function that is called
    column: int  # where it begins in the first line, in bytes from 0
    function: str  # the function that is called; empty for a decision
    end_column: int = 0  # where it ends in the last line, in bytes from 0; not included

    @property
    def span(self) -> Span:
        """From its begin to its end."""
        return Span(self.location.line, self.column, self.location.end_line, self.end_column)


class RecordedPath(NamedTuple):
    """The path of a test."""

    answer: AlteredRunAnswer  # how the run ended
    path: Path  # its decisions and calls. Statements are numbers of `Paths.places`


class Paths:
    """Records the paths of tests, with the same numbers for the same decisions in all of them."""

    def __init__(self, workspace: FilePath):
        self.places: list[EventSite] = []  # what the statements of paths are
        self._numbers: dict[tuple[str, str, int], int] = {}
        self._read = SourceReader(FilePath(os.path.realpath(workspace)))
        self._tables: dict[str, PointDependences] = {}
        self._texts = DecisionTexts(self._read)
        self._last: _Program | None = None

    def record(self, runs: Runs, test: str, seconds: float, end: float = math.inf, keep: bool = False) -> RecordedPath:
        """Run a test unaltered, and note its path.

        Raises TimeIsUp when it was not over by then.
        """
        (answer,) = runs.ask(test, [PATH], steps=MAX_EVENTS, seconds=seconds, end=end, keep=keep)
        return self.from_answer(answer)

    def from_answer(self, answer: MachineRunAnswer) -> RecordedPath:
        """Read what a machine answered to a job like `PATH`."""
        ended: MachineRunAnswer = {
            "outcome": answer["outcome"],
            "exception": answer["exception"],
            "seconds": answer["seconds"],
            "message": answer.get("message", ""),
            "types": answer.get("types", []),
            "sources": answer.get("sources", {}),
        }
        return RecordedPath(answer_of(ended), self.path(answer))

    def path(self, found: Findings) -> Path:
        """Read the path of a run."""
        program = self._program(found.get("sites", ()), found.get("functions", ()))
        paths = [program.path(thread) for thread in found.get("threads", ())]
        starts = np.cumsum([0, *map(len, paths)])
        depends_on = [
            np.where(path.depends_on >= 0, path.depends_on + start, -1)
            for path, start in zip(paths, starts.tolist(), strict=False)
        ]
        none = [np.zeros(0, np.int64)]
        return Path(
            np.concatenate([*none, *(path.statement for path in paths)]),
            np.concatenate([*none, *depends_on]),
            np.concatenate([*none, *(path.outcome for path in paths)]),
        )

    def _program(self, sites: Sequence[_Sites], functions: Sequence[_Bodies]) -> _Program:
        """The decisions and functions of a process; most have loaded what the one before had."""
        if self._last is None or self._last.sites != sites or self._last.functions != functions:
            self._last = _Program(self, sites, functions)
        return self._last

    def reported(self, path: Path, position: int, wanted: bool | None) -> ReportedPlace:
        """Say what an event of a failing run is."""
        statement = int(path.statement[position])
        place = self.places[statement]
        instance = int(np.count_nonzero(path.statement[: position + 1] == statement))
        own = self._texts.own(place.location.file, place.kind, place.span) if place.kind != CALL else None
        _, column, operand = own or (0, 0, "")
        outcome = truth(int(path.outcome[position]))
        return ReportedPlace(place.location, place.kind, instance, outcome, wanted, column, operand)

    def number(self, file: str, kind: str, index: int, place: EventSite) -> int:
        """The number of a decision or a function, the same in all runs."""
        number = self._numbers.setdefault((file, kind, index), len(self.places))
        if number == len(self.places):
            self.places.append(place)
        return number

    def table(self, file: str) -> PointDependences:
        """What the points of a source depend on.

        Without any point where the source can't be read.
        """
        if file not in self._tables:
            self._tables[file] = PointDependences.from_source(self._read(file) or b"")
        return self._tables[file]

    def read_ahead(self, files: Iterable[str]) -> None:
        """Make the tables of some sources before they are needed."""
        for file in checked(files):
            self.table(file)


class _Program:
    """The decisions and functions of one process, by the numbers that they have there."""

    def __init__(self, paths: Paths, sites: Sequence[_Sites], functions: Sequence[_Bodies]):
        self.sites, self.functions = sites, functions
        files = sorted({file for file, _, _ in (*sites, *functions)})
        self._tables = [paths.table(file) for file in files]
        first_point = dict(zip(files, np.cumsum([0, *map(len, self._tables)]).tolist(), strict=False))
        self._file_of = {file: number for number, file in enumerate(files)}
        self._files = files
        self._first_point = first_point
        self.points = joined(self._tables)
        bodies = [(file, first + n, body) for file, first, all_ in functions for n, body in enumerate(all_)]
        total = 1 + max((number for _, number, _ in bodies), default=-1)
        self.function_statement = np.full(total, -1, np.int64)
        self.function_file = np.full(total, -1, np.int64)
        inside: dict[str, list[tuple[tuple[int, int], tuple[int, int], int]]] = {}
        for file, first, all_ in functions:
            for index, (line, column, end_line, end_column, name) in enumerate(all_):
                place = EventSite(CALL, Location(file, line, end_line), column, name)
                self.function_statement[first + index] = paths.number(file, CALL, index, place)
                self.function_file[first + index] = self._file_of[file]
                inside.setdefault(file, []).append(((line, column), (end_line, end_column), first + index))
        total = max((first + len(decisions) for _, first, decisions in sites), default=0)
        self.decision_statement = np.full(total, -1, np.int64)
        self.decision_point = np.full(total, -1, np.int64)
        self.decision_function = np.full(total, -1, np.int64)
        for file, first, decisions in sites:
            for index, (kind, line, column, end_line, end_column, _) in enumerate(decisions):
                place = EventSite(kind, Location(file, line, end_line), column, "", end_column)
                self.decision_statement[first + index] = paths.number(file, "decision", index, place)
                point = self._tables[self._file_of[file]].decision(place.span)
                self.decision_point[first + index] = point + first_point[file] if point >= 0 else -1
                around = [body for body in inside.get(file, ()) if body[0] <= (line, column) < body[1]]
                if around:
                    self.decision_function[first + index] = max(around)[2]

    def path(self, columns: ThreadColumns) -> Path:
        """The path of one thread."""
        events, tops, tops_at = map(read_column, (columns["events"], columns["tops"], columns["tops_at"]))
        functions, callers, lines = map(read_column, (columns["functions"], columns["callers"], columns["lines"]))
        call_of = np.repeat(np.append(-1, tops), np.diff(np.concatenate([[0], tops_at, [len(events)]])))
        is_entry = events < 0
        number = np.where(is_entry, 0, events // 2)
        call = np.where(is_entry, -events, call_of + 1)  # calls are numbered from 1, and 0 is outside of all
        entry = np.full(len(functions) + 1, -1, np.int64)
        entry[call[is_entry]] = np.flatnonzero(is_entry)
        self._put_into_own_calls(events, call, functions, entry)
        caller = np.append(-1, callers + 1)
        point, statement = np.full(len(events), -1, np.int64), np.full(len(events), -1, np.int64)
        decided = ~is_entry
        point[decided] = self.decision_point[number[decided]]
        statement[decided] = self.decision_statement[number[decided]]
        statement[is_entry] = self.function_statement[functions[call[is_entry] - 1]]
        calls = NodeCalls(point, call, entry, caller, self._calling(functions, callers, lines))
        reason = ControlDependences(self.points, calls).parent.astype(np.int64)
        # without a decision in its call the call itself is the reason, and for that the call from which it was made
        own = np.where(is_entry, entry[np.maximum(caller[call], 0)], entry[call])
        reason = np.where(reason >= 0, reason, np.where(own < np.arange(len(own)), own, -1))
        return Path(statement, reason, np.where(is_entry, NO_BRANCH, events % 2))

    def _put_into_own_calls(self, events: Ints, call: Ints, functions: Ints, entry: Ints) -> None:
        """Decisions of a function that was resumed unseen belong to its last call, not to the one that resumed it."""
        noted = np.append(-1, functions)[call]
        own, decided = noted.copy(), events >= 0
        own[decided] = self.decision_function[events[decided] // 2]
        for event in np.flatnonzero(own != noted).tolist():
            known = np.flatnonzero((functions == own[event]) & (entry[1:] < event)) + 1
            call[event] = known[-1] if own[event] >= 0 and len(known) else 0

    def _calling(self, functions: Ints, callers: Ints, lines: Ints) -> Ints:
        """For each call, and first for what is outside of all, the point from which it was made."""
        known: dict[tuple[int, int], int] = {}
        found = np.full(len(functions) + 1, -1, np.int64)
        for number, (caller, line) in enumerate(zip(callers.tolist(), lines.tolist(), strict=True), 1):
            if caller < 0:
                continue
            file = int(self.function_file[functions[caller]])
            if (file, line) not in known:
                known[file, line] = self._first_at(file, line)
            found[number] = known[file, line]
        return found

    def _first_at(self, file: int, line: int) -> int:
        """The first statement that begins on a line, or else what contains the line."""
        table = self._tables[file]
        point = table.first_on(line)
        return point + self._first_point[self._files[file]] if point >= 0 else -1


def truth(outcome: int) -> bool | None:
    """Say how an event of a recorded path came out.

    None for a call, and for a way that is neither true nor false.
    """
    return bool(outcome) if outcome in (0, 1) else None
