"""Paths of tests, as a machine has recorded them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath
from typing import NamedTuple

import numpy as np

from suspectra.arrays import Ints
from suspectra.cancellation import checked
from suspectra.dependences.control import Calls, ControlDependences
from suspectra.evidence.sources import SourceReader
from suspectra.experiments.answers import Answer, answer_of
from suspectra.experiments.columns import read_column
from suspectra.experiments.runs import Runs
from suspectra.location import Location
from suspectra.paths.path import NO_BRANCH, Path
from suspectra.paths.report import CALL, ReportedPlace
from suspectra.program.decision_texts import DecisionTexts
from suspectra.program.point_dependences import PointDependences, joined
from suspectra.program.points import Span
from suspectra_recorder.experiments.call_marks import Body
from suspectra_recorder.experiments.decisions import Site
from suspectra_recorder.experiments.exchange import Findings, Job, RunAnswer, ThreadColumns

PATH: Job = {"kind": "path"}
"""The job that changes nothing, and notes the path."""

_Sites = tuple[str, int, Sequence[Site]]
_Bodies = tuple[str, int, Sequence[Body]]

MAX_EVENTS = 10_000_000
"""Decisions that a run may make while its path is recorded."""


class EventSite(NamedTuple):
    """What events of a path execute.

    Parameters
    ----------
    kind : str
        That of the decision, such as ``if``, or ``call``.
    location : Location
        Of what is decided by, or of the body of the function that is called.
    column : int
        Where it begins in the first line, in bytes from 0.
    function : str
        The function that is called; empty for a decision.
    end_column : int, optional
        Where it ends in the last line, in bytes from 0; not included.

    Examples
    --------
    >>> place = EventSite("if", Location("cart.py", 8, 8), 7, "", 13)
    >>> place.location.short, place.span
    ('cart.py:8', Span(line=8, column=7, end_line=8, end_column=13))
    """

    kind: str
    location: Location
    column: int
    function: str
    end_column: int = 0

    @property
    def span(self) -> Span:
        """From its begin to its end."""
        return Span(self.location.line, self.column, self.location.end_line, self.end_column)


class RecordedPath(NamedTuple):
    """The path of a test.

    Parameters
    ----------
    answer : Answer
        How the run ended.
    path : Path
        Its decisions and calls. Statements are numbers of `Paths.places`.

    Examples
    --------
    >>> ended = answer_of({"outcome": "failed", "exception": "KeyError", "seconds": 0.1})
    >>> recorded = RecordedPath(ended, Path.from_events([(0, -1, NO_BRANCH), (1, 0, 1)]))
    >>> recorded.answer.exception, len(recorded.path)
    ('KeyError', 2)
    """

    answer: Answer
    path: Path


class Paths:
    r"""Records the paths of tests, with the same numbers for the same decisions in all of them.

    Parameters
    ----------
    workspace : Path
        Where the sources are.

    Attributes
    ----------
    places : list of EventSite
        What the statements of paths are.

    Examples
    --------
    A run in this process, of a function that a machine would have called for a test:

    >>> from suspectra_recorder.experiments.loading import ExperimentHook
    >>> from suspectra_recorder.experiments.paths import NotingPath
    >>> from suspectra_recorder.experiments.switchboard import Switchboard
    >>> from suspectra_recorder.scope import Scope
    >>> cart = folder / "cart.py"
    >>> _ = cart.write_text("def price(free):\n    return 0 if free else 20\n")
    >>> board, space = Switchboard(), {}
    >>> kind = NotingPath(board, dict)
    >>> hook = ExperimentHook(Scope(str(folder)), [kind.instrument, board])
    >>> exec(hook.code(str(cart), "cart.py", cart.read_bytes()), space)
    >>> class InThisProcess(Runs):
    ...     def ask(self, test, jobs, *, steps, seconds, end=0, keep=False):
    ...         board.limit(steps)
    ...         kind.apply(jobs[0])
    ...         _ = space["price"](True)
    ...         return [{"outcome": "passed", "exception": "", "seconds": 0.1, **kind.take_back()}]
    ...     def close(self):
    ...         pass
    >>> paths = Paths(folder)
    >>> recorded = paths.record(InThisProcess(), "test_price", seconds=10)
    >>> [paths.places[statement].kind for statement in recorded.path.statement]
    ['call', 'conditional']
    >>> paths.reported(recorded.path, 1, wanted=False).outcome
    True

    Another run has the same numbers, and a new decision gets the next one:

    >>> paths.read_ahead(["cart.py"])
    >>> again = paths.from_answer(*InThisProcess().ask("test_price", [PATH], steps=10, seconds=10))
    >>> again.path.statement.tolist(), len(paths.table("cart.py")) > 0
    ([0, 1], True)
    >>> paths.number("cart.py", "decision", 1, EventSite("if", Location("cart.py", 9, 9), 4, ""))
    2
    """

    def __init__(self, workspace: FilePath):
        self.places: list[EventSite] = []
        self._numbers: dict[tuple[str, str, int], int] = {}
        self._read = SourceReader(FilePath(os.path.realpath(workspace)))
        self._tables: dict[str, PointDependences] = {}
        self._texts = DecisionTexts(self._read)
        self._last: _Program | None = None

    def record(self, runs: Runs, test: str, seconds: float, end: float = math.inf, keep: bool = False) -> RecordedPath:
        """Run a test unaltered, and note its path.

        Parameters
        ----------
        runs : Runs
            What runs it; it was started for runs of the kind ``path``.
        test : str
            Its name.
        seconds : float
            How long it may take.
        end : float
            When it has to be over, as ``time.monotonic`` has it.
        keep : bool
            See :meth:`~suspectra.experiments.runs.Runs.ask`.

        Returns
        -------
        RecordedPath
            However the test ends.

        Raises
        ------
        TimeIsUp
            When it was not over by then.
        """
        (answer,) = runs.ask(test, [PATH], steps=MAX_EVENTS, seconds=seconds, end=end, keep=keep)
        return self.from_answer(answer)

    def from_answer(self, answer: RunAnswer) -> RecordedPath:
        """Read what a machine answered to a job like `PATH`.

        Parameters
        ----------
        answer : RunAnswer
            As JSON has it.

        Returns
        -------
        RecordedPath
            The events of one thread after those of another.
        """
        ended: RunAnswer = {
            "outcome": answer["outcome"],
            "exception": answer["exception"],
            "seconds": answer["seconds"],
            "message": answer.get("message", ""),
            "types": answer.get("types", []),
            "sources": answer.get("sources", {}),
        }
        return RecordedPath(answer_of(ended), self.path(answer))

    def path(self, found: Findings) -> Path:
        """Read the path of a run.

        Parameters
        ----------
        found : Findings
            What a machine answered to a job of the kind ``path``.

        Returns
        -------
        Path
            The events of one thread after those of another.
        """
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
        """Say what an event of a failing run is.

        Parameters
        ----------
        path : Path
            The failing run, recorded here.
        position : int
            Of the event.
        wanted : bool or None
            How it comes out in a run that passes.

        Returns
        -------
        ReportedPlace
            With how often it was executed by then.
        """
        statement = int(path.statement[position])
        place = self.places[statement]
        instance = int(np.count_nonzero(path.statement[: position + 1] == statement))
        own = self._texts.own(place.location.file, place.kind, place.span) if place.kind != CALL else None
        _, column, operand = own or (0, 0, "")
        outcome = truth(int(path.outcome[position]))
        return ReportedPlace(place.location, place.kind, instance, outcome, wanted, column, operand)

    def number(self, file: str, kind: str, index: int, place: EventSite) -> int:
        """The number of a decision or a function, the same in all runs.

        Parameters
        ----------
        file : str
            Relative to the workspace.
        kind : str
            Whether it is a decision or a call.
        index : int
            Which one of its file.
        place : EventSite
            What is known of it.

        Returns
        -------
        int
            An index of `places`.
        """
        number = self._numbers.setdefault((file, kind, index), len(self.places))
        if number == len(self.places):
            self.places.append(place)
        return number

    def table(self, file: str) -> PointDependences:
        """What the points of a source depend on.

        Parameters
        ----------
        file : str
            Relative to the workspace.

        Returns
        -------
        PointDependences
            Without any point where the source can't be read.
        """
        if file not in self._tables:
            self._tables[file] = PointDependences.from_source(self._read(file) or b"")
        return self._tables[file]

    def read_ahead(self, files: Iterable[str]) -> None:
        """Make the tables of some sources before they are needed.

        Parameters
        ----------
        files : iterable of str
            Relative to the workspace.
        """
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
        calls = Calls(point, call, entry, caller, self._calling(functions, callers, lines))
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

    Parameters
    ----------
    outcome : int
        As the path has it.

    Returns
    -------
    bool or None
        None for a call, and for a way that is neither true nor false.

    Examples
    --------
    >>> truth(1), truth(0), truth(-1), truth(2)
    (True, False, None, None)
    """
    return bool(outcome) if outcome in (0, 1) else None
