"""Looking for what makes the difference between a failing test and a passing one, from the input to the failure.

States of the two runs are compared before corresponding statements. What is different is put into the passing run, all
of it and then less and less, as long as the test then fails like the failing one (Zeller 2002). What is left is the
cause at that point. Bisection finds the statements after which the cause is another one (Cleve & Zeller 2005).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import NamedTuple

import numpy as np

from suspectra.cancellation import check
from suspectra.errors import EvidenceError, Problem
from suspectra.evidence.sources import SourceReader
from suspectra.experiment import Outcome
from suspectra.experiments.path_searching import PathSearcher, PathSearchLimits, PathSetting
from suspectra.experiments.recorded_paths import MAX_EVENTS
from suspectra.experiments.recorded_statements import RecordedRun, Statements, state_before
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.experiments.repeated_tests import RepeatedTests
from suspectra.experiments.runs import Answer
from suspectra.experiments.system_use import system_use
from suspectra.experiments.unusable import unusable
from suspectra.location import Location
from suspectra.paths.delta_debugging import Differences, Verdict, isolate
from suspectra.paths.memory import Place, StateDifference, compare_states, content_at
from suspectra.paths.report import PathReport, ReportedPlace
from suspectra.paths.structure import comparable_points
from suspectra.paths.transitions import CausePlace, CauseSteps, Transition, cause_steps
from suspectra.quantity import many
from suspectra_recorder.experiments.exchange import MemoryGraph
from suspectra_recorder.experiments.memory_graph import MAX_NODES

MAX_PASSING = 5
"""Passing tests whose runs are compared with that of the failing one, to choose the one with most in common."""

MAX_RUNS = 300
"""Runs for the cause at one point."""

MAX_AROUND = 20
"""Statements that are named besides that of a transition."""

NOTHING_COMPARABLE = (
    "No passing test executes a statement for the same reason: record one that does nearly what the failing one does."
)
OUT_OF_TIME = "The time was up before all points were compared: give more seconds to see the other transitions."


class _Failure(NamedTuple):
    """How a test failed: the exception, where the program raised it, where the test did, and what was compared."""

    exception: str
    raised: tuple[object, ...]
    line: int
    sides: tuple[str, ...]

    @classmethod
    def of(cls, answer: Answer) -> _Failure:
        noted = answer.noted
        sides = noted.get("failed") or [[]]
        return cls(answer.exception, tuple(noted.get("raised") or ()), noted.get("line", 0), tuple(sides[-1]))

    def resembles(self, other: _Failure) -> bool:
        """Whether another test failed by the same fault, as far as one can tell.

        What two tests expect may be different, but not what the program gave them.
        """
        if (self.exception, self.raised, len(self.sides)) != (other.exception, other.raised, len(other.sides)):
            return False
        return not self.sides or any(one == two for one, two in zip(self.sides, other.sides, strict=True))


class CauseTransitions(PathSearcher):
    r"""Looks for the cause transitions between a failing test and the passing one with most in common.

    Parameters
    ----------
    setting : PathSetting
        What the search is about.

    Examples
    --------
    The passing test has another price:

    >>> import sys
    >>> from suspectra.experiments.path_techniques import TECHNIQUES
    >>> from suspectra.experiments.recorded_paths import Paths
    >>> from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
    >>> _ = (folder / "cart.py").write_text("def total(price):\n    vat = price // 5\n    return price + vat\n")
    >>> source = "from cart import total\n\ndef test_a():\n    assert total(20) < 20\n"
    >>> _ = (folder / "test_cart.py").write_text(source + "\ndef test_b():\n    assert total(2) < 20\n")
    >>> test, passing = FailingTest("test_cart.py::test_a", "test_cart.py"), ["test_cart.py::test_b"]
    >>> kinds = TECHNIQUES["cause-transitions"].kinds
    >>> tests = RepeatedTests([sys.executable, "-m", "pytest"], folder, [test], kinds, passing)
    >>> searcher = CauseTransitions(PathSetting(test, tests, Paths(folder), passing))
    >>> *_, report = searcher.search(PathSearchLimits(time.monotonic() + 60))
    >>> for one in report.transitions:
    ...     print(one.location.short, [(cause.place, cause.failing, cause.passing) for cause in one.places])
    cart.py:2 [('price', '20', '2')]
    cart.py:3 []
    >>> tests.close()
    """

    def __init__(self, setting: PathSetting):
        super().__init__(setting)
        self._statements = Statements()
        self._compared = 0
        self._notes: list[str] = []
        self._harm: list[str] = []

    def search(self, limits: PathSearchLimits) -> Iterator[PathReport]:
        """Compare with one passing test after the other, `MAX_PASSING` unless another limit is set, until one shows
        transitions.
        """
        name = self.setting.test.name
        failing = self._failing_run()
        nearest = sorted(self.setting.passing, key=lambda other: _function(other) != _function(name))  # stable
        candidates: list[tuple[int, int, str, RecordedRun]] = []
        for order, other in enumerate(nearest[: limits.candidates or MAX_PASSING]):
            check()
            yield self._report()
            if time.monotonic() >= limits.end:
                return
            run = self._passing_run(other)
            if run is not None and (points := len(comparable_points(failing.path, run.path))):
                candidates.append((-points, order, other, run))
        if not candidates:
            self._notes.append(NOTHING_COMPARABLE)
        for _, _, other, run in sorted(candidates, key=lambda one: one[:2]):
            self._compared += 1
            pair = StatePair(self.setting.tests, self._statements, (name, failing), (other, run), limits.end)
            if not self.setting.options.all_modules:
                self._leave_out_harm(pair)
            report = self._report()
            for report in map(self._report, repeat(pair), pair.search()):
                yield report
            if pair.stopped:
                yield replace(report, notes=(*report.notes, OUT_OF_TIME))
                return
            if report.transitions:
                yield replace(report, complete=True, notes=(*self._harm, *pair.notes()))
                return
            self._notes.append(pair.why_not())
        yield replace(self._report(), complete=True)

    def _report(self, pair: StatePair | None = None, transitions: tuple[Transition, ...] = ()) -> PathReport:
        summary, notes = "", [*self._harm, *self._notes]
        if pair is not None:
            summary = (
                f"{pair.passing} passes, and its states can be compared with those of {self.setting.test.name} "
                f"before {many(len(pair.points), 'statement')}."
            )
            notes += pair.notes()
        named = [ReportedPlace(one.location, "statement", one.instance, None, None) for one in transitions]
        named += [ReportedPlace(location, "statement", 1, None, None) for one in transitions for location in one.around]
        by_location = {one.location: one for one in reversed(named)}
        report = tuple(sorted(by_location.values(), key=named.index))
        other = pair.passing if pair is not None else None
        return PathReport(
            "cause-transitions",
            self.setting.test.name,
            report,
            other,
            (),
            self._compared,
            False,
            0.0,
            summary if transitions else "",
            None,
            tuple(notes),
            transitions,
        )

    def _leave_out_harm(self, pair: StatePair) -> None:
        """Alter nothing in modules that may do harm."""
        workspace = self.setting.tests.machine(self.setting.test.name).workspace
        read = SourceReader(workspace)
        for file in sorted({pair.location(at).file for at, _ in pair.points}):
            if used := system_use(read(file) or b""):
                pair.points = [point for point in pair.points if pair.location(point[0]).file != file]
                note = (
                    f"{file} uses {used}, so nothing was altered in its functions: "
                    "allow it with --all-modules, best with --copy."
                )
                self._harm += [note] if note not in self._harm else []

    def _record(self, test: str) -> RecordedRun:
        return self._statements.record(self.setting.tests.machine(test), test, TRACE_S)

    def _passing_run(self, test: str) -> RecordedRun | None:
        try:
            run = self._record(test)
        except EvidenceError as error:
            self.problems.append(error.problem)
            return None
        if run.answer.outcome is Outcome.PASSED:
            return run
        cause = f"{test} does not pass when it runs alone, so it was not compared"
        self.problems.append(Problem("", "", cause, "record the tests again"))
        return None

    def _failing_run(self) -> RecordedRun:
        name = self.setting.test.name
        first, again = self._record(name), self._record(name)
        if first.answer.outcome is not Outcome.FAILED:
            raise unusable(name, first.answer.outcome, seconds=TRACE_S, decisions=MAX_EVENTS)
        if not len(first.path):
            cause = f"{name} executes no function of the program"
            cure = "choose a test that executes code of the workspace"
        elif (at := _parting(first, again)) is not None:
            where = self._statements.locations[int(first.path.statement[at])].short
            cause = f"two runs of {name} execute different statements, from {where} on"
            cure = "let it not depend on time, chance, threads or what ran before"
        else:
            return first
        raise EvidenceError(Problem("", "", cause, cure))


class StatePair:
    """The search for transitions between two runs.

    Parameters
    ----------
    tests : RepeatedTests
        Runs the tests.
    statements : Statements
        Has recorded both runs.
    failing, passing : tuple of str and RecordedRun
        The names of the tests, and what they execute.
    end : float
        When to stop, as ``time.monotonic`` has it.

    Attributes
    ----------
    passing : str
        The name of the passing test.
    points : list of (int, int)
        Positions in both runs before which the states can be compared.
    runs : int
        How often a test ran.
    stopped : bool
        Whether there was no time for more.

    Examples
    --------
    There is no time to compare states:

    >>> from suspectra.paths.path import Path
    >>> from suspectra.experiments.runs import Answer
    >>> statements = Statements()
    >>> statements.locations.append(Location("cart.py", 8, 8))
    >>> failing, passing = (
    ...     RecordedRun(Answer(outcome, 0.1, ""), Path.from_events([(0, -1, -1)]))
    ...     for outcome in (Outcome.FAILED, Outcome.PASSED)
    ... )
    >>> pair = StatePair(None, statements, ("test_a", failing), ("test_b", passing), end=0.0)
    >>> list(pair.search()), pair.stopped
    ([], True)
    >>> pair.location(0).short, pair.notes()
    ('cart.py:8', [])
    >>> pair.why_not().partition(":")[0]
    'At all points that were compared, the variables of test_b are those of test_a'
    """

    def __init__(
        self,
        tests: RepeatedTests,
        statements: Statements,
        failing: tuple[str, RecordedRun],
        passing: tuple[str, RecordedRun],
        end: float,
    ):
        self._tests, self._statements, self._end = tests, statements, end
        (self._failing, self._ours), (self.passing, self._theirs) = failing, passing
        self.points = comparable_points(self._ours.path, self._theirs.path)
        self._failure = _Failure.of(self._ours.answer)
        self._fixed: dict[str, None] = {}
        self._full = self._not_minimal = False
        self._with_differences = 0
        self._causes: dict[int, tuple[CausePlace, ...]] = {}
        self._places: dict[int, Place] = {}  # the first one of each cause
        self._writers: dict[tuple[int, int], int] = {}
        self._passed = False
        self.runs = 0
        self.stopped = False

    def search(self) -> Iterator[tuple[Transition, ...]]:
        """Look for the causes at comparable points.

        Yields
        ------
        tuple of Transition
            The chain, each time that more of it is known.
        """
        for steps in cause_steps(len(self.points), self._cause):
            yield self._chain(steps)

    def why_not(self) -> str:
        """Say why there is no chain.

        Returns
        -------
        str
            A sentence.
        """
        if not self._with_differences:
            return (
                f"At all points that were compared, the variables of {self.passing} are those of {self._failing}: "
                "look at what else the tests depend on, such as modules, files and attributes of classes."
            )
        cannot = f", perhaps because {_some(list(self._fixed))} can't be copied" if self._fixed else ""
        return (
            f"{self.passing} does not fail in the same way with the state of {self._failing}{cannot}: "
            "a test that expects the same, or checks the same value, would tell more."
        )

    def notes(self) -> list[str]:
        """Say what was left out.

        Returns
        -------
        list of str
            Sentences.
        """
        found = []
        if self._fixed:
            found.append(f"{_some(list(self._fixed))} can't be copied: the passing run kept its own.")
        if self._full:
            found.append(f"A state has more than {MAX_NODES} values: those that few steps lead to were compared.")
        if self._not_minimal:
            found.append(f"A cause was not narrowed down completely: that would take more than {MAX_RUNS} runs.")
        return found

    def _cause(self, point: int) -> tuple[CausePlace, ...] | None:
        """The cause at a point; None where there is none, or no time."""
        if self._out_of_time():
            return None
        at, there = self.points[point]
        state, other = self._state(self._failing, self._ours, at), self._state(self.passing, self._theirs, there)
        if state is None or other is None:
            return None
        self._full |= state["full"] or other["full"]
        compared = compare_states(state, other)
        self._fixed.update(dict.fromkeys(compared.fixed))
        differences = compared.differences
        if not differences:
            return None
        self._with_differences += 1
        wanted = self._run(there, differences)
        if wanted is None or not wanted.resembles(self._failure):
            return None
        runs_before = self.runs

        def test(some: Differences) -> Verdict:
            found = self._run(there, [differences[one] for one in sorted(some)])
            if found is None:
                return Verdict.PASSES if self._passed else Verdict.UNRESOLVED
            return Verdict.FAILS if found == wanted else Verdict.UNRESOLVED

        isolated = isolate(
            len(differences), test, lambda: self.runs - runs_before < MAX_RUNS and not self._out_of_time()
        )
        self._not_minimal |= not isolated.minimal
        chosen = [differences[one] for one in sorted(isolated.cause)]
        places = tuple(CausePlace(str(one.place), one.place.function, one.failing, one.passing) for one in chosen)
        self._causes[point], self._places[point] = places, chosen[0].place
        # the same place is the same cause, whatever is there
        return tuple(place._replace(failing="", passing="") for place in places)

    def _state(self, test: str, run: RecordedRun, point: int) -> MemoryGraph | None:
        self.runs += 1
        return state_before(self._tests.machine(test), test, run, point)[1]

    def _run(self, point: int, differences: Sequence[StateDifference]) -> _Failure | None:
        """How the passing test fails if it gets these; None if it does not, or can't get them."""
        self.runs += 1
        changes = [one.change for one in differences]
        test = self.passing
        answer, _ = state_before(self._tests.machine(test), test, self._theirs, point, changes)
        self._passed = answer.outcome is Outcome.PASSED and not answer.noted.get("refused")
        if answer.outcome is not Outcome.FAILED or answer.noted.get("refused"):
            return None
        return _Failure.of(answer)

    def _out_of_time(self) -> bool:
        check()
        self.stopped |= time.monotonic() >= self._end
        return self.stopped

    def _chain(self, steps: CauseSteps) -> tuple[Transition, ...]:
        begin, end = self.points[steps.first][0], self.points[steps.last][0]
        chain = [Transition(*self._executed(begin), self._causes[steps.first], True, ())]
        for before, after in steps.steps:
            since, until = self.points[before][0], self.points[after][0]
            writer = self._writer(since, until, self._places[after])
            around = [self.location(at) for at in range(until - 1, since - 1, -1) if at != writer]
            chain.append(Transition(*self._executed(writer), self._causes[after], False, _first(around)))
        last = len(self._ours.path) - 1
        around = [self.location(at) for at in range(last - 1, end - 1, -1)]
        return (*chain, Transition(*self._executed(last), (), False, _first(around)))

    def location(self, position: int) -> Location:
        """Look up the statement at a position of the failing run.

        Parameters
        ----------
        position : int
            From 0.

        Returns
        -------
        Location
            Where it is.
        """
        return self._statements.locations[int(self._ours.path.statement[position])]

    def _executed(self, position: int) -> tuple[Location, int]:
        """The statement at a position of the failing run, and its how many-th time."""
        statement = self._ours.path.statement
        number = int(statement[position])
        return self.location(position), int(np.count_nonzero(statement[: position + 1] == number))

    def _writer(self, since: int, until: int, place: Place) -> int:
        """The position of the statement after which the failing run had in a place what it has before `until`.

        Between two points that can be compared, the failing run may have executed others.
        """
        if until - since == 1:
            return since
        if (since, until) not in self._writers:
            writer = until - 1
            state = self._state(self._failing, self._ours, until)
            for at in range(until - 1, max(since, until - MAX_AROUND) - 1, -1):
                if state is None or self._out_of_time():
                    break
                before = self._state(self._failing, self._ours, at)
                if before is None or content_at(before, place) != content_at(state, place):
                    writer = at
                    break
            self._writers[since, until] = writer
        return self._writers[since, until]


def _first(locations: Sequence[Location]) -> tuple[Location, ...]:
    """Different ones, at most `MAX_AROUND`."""
    return tuple(dict.fromkeys(locations))[:MAX_AROUND]


def _function(test: str) -> str:
    """The name of a test without the case of a parametrised one."""
    return test.partition("[")[0]


def _parting(one: RecordedRun, other: RecordedRun) -> int | None:
    """The position of the first statement that is different."""
    ours, theirs = one.path.statement, other.path.statement
    shared = min(len(ours), len(theirs))
    differing = np.flatnonzero(ours[:shared] != theirs[:shared])
    if len(differing):
        return int(differing[0])
    return None if len(ours) == len(theirs) else min(shared, len(ours) - 1)


def _some(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
