"""The states of a failing and a passing run, compared before corresponding statements."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from suspectra.base.cancellation import check
from suspectra.base.english import enumeration, first_of
from suspectra.base.location import Location
from suspectra.experiments.altered_runs import Runs
from suspectra.experiments.run_answers import AlteredRunAnswer
from suspectra.paths.delta_debugging import ConfigurationVerdict, Differences, isolate
from suspectra.paths.searches.nearest_path import MAX_NAMED
from suspectra.paths.searches.recorded_statements import RecordedRun, RecordedStatements, state_before
from suspectra.paths.state_differences import AccessPath, StateDifference, compare_states, content_at
from suspectra.paths.structure import comparable_points
from suspectra.paths.transition_search import CausePlace, CauseSteps, Transition, cause_steps
from suspectra.runs.experiment import ExperimentOutcome
from suspectra_recorder.experiments.messages import MemoryGraph
from suspectra_recorder.experiments.values.memory_graph import MAX_NODES

MAX_RUNS = 300
"""Runs for the cause at one point."""

MAX_AROUND = 20
"""Statements that are named besides that of a transition."""


class _Failure(NamedTuple):
    """How a test failed: the exception, where the program raised it, where the test did, and what was compared."""

    exception: str
    raised: tuple[object, ...]
    line: int
    sides: tuple[str, ...]

    @classmethod
    def from_answer(cls, answer: AlteredRunAnswer) -> _Failure:
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


class Side(NamedTuple):
    """One of two runs that are compared."""

    name: str  # what sentences call it
    other: str  # what a report calls it: its test, or its input
    runs: Runs
    test: str  # the name of the test
    run: RecordedRun  # what it executes

    @classmethod
    def for_test(cls, runs: Runs, test: str, run: RecordedRun) -> Side:
        """The run of a test with its own input."""
        return cls(test, test, runs, test, run)


class StatePair:
    """The search for transitions between two runs."""

    def __init__(self, statements: RecordedStatements, failing: Side, passing: Side, end: float):
        self._statements, self._end = statements, end
        self.failing, self.passing = failing, passing
        # positions in both runs before which the states can be compared
        self.points = comparable_points(failing.run.path, passing.run.path)
        self._failure = _Failure.from_answer(failing.run.answer)
        fails = passing.run.answer.outcome is ExperimentOutcome.FAILED
        self._passing_failure = _Failure.from_answer(passing.run.answer) if fails else None
        self._fixed: dict[str, None] = {}
        self._full = self._not_minimal = False
        self._compared = self._with_differences = 0
        self._causes: dict[int, tuple[CausePlace, ...]] = {}
        self._places: dict[int, AccessPath] = {}  # the first one of each cause
        self._writers: dict[tuple[int, int], int] = {}
        self._passed = False
        self.runs = 0  # how often a test ran
        self.stopped = False  # whether there was no time for more

    def search(self) -> Iterator[tuple[Transition, ...]]:
        """Look for the causes at comparable points."""
        for steps in cause_steps(len(self.points), self._cause):
            yield self._chain(steps)

    def why_not(self, passing: Sequence[str]) -> str:
        """Say why there is no chain."""
        names, does = enumeration(passing, MAX_NAMED), "does" if len(passing) == 1 else "do"
        if not self._compared:
            return self._nothing_compared(names)
        if not self._with_differences:
            return (
                f"At all points that were compared, the variables of {names} are those of {self.failing.name}: "
                "look at what else the tests depend on, such as modules, files and attributes of classes."
            )
        return (
            f"{names} {does} not fail in the same way with the state of {self.failing.name}{self._cannot}: "
            "a test that expects the same, or checks the same value, would tell more."
        )

    @property
    def reason(self) -> tuple[bool, bool, str]:
        """What has to be the same of pairs without a chain for one sentence about all of them."""
        return bool(self._compared), bool(self._with_differences), self._cannot

    @property
    def _cannot(self) -> str:
        return f", perhaps because {first_of(list(self._fixed))} can't be copied" if self._fixed else ""

    def _nothing_compared(self, names: str) -> str:
        begin = f"No state of {names} was compared with {self.failing.name}: "
        return f"{begin}it could not be read again. Let the tests not depend on time, chance or what ran before."

    def notes(self) -> list[str]:
        """Say what was left out."""
        found = []
        if self._fixed:
            found.append(f"{first_of(list(self._fixed))} can't be copied: the passing run kept its own.")
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
        state, other = self._state(self.failing, at), self._state(self.passing, there)
        if state is None or other is None:
            return None
        self._full |= state["full"] or other["full"]
        self._compared += 1
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

        def test(some: Differences) -> ConfigurationVerdict:
            found = self._run(there, [differences[one] for one in sorted(some)])
            if found is None:
                return ConfigurationVerdict.PASSES if self._passed else ConfigurationVerdict.UNRESOLVED
            return ConfigurationVerdict.FAILS if found == wanted else ConfigurationVerdict.UNRESOLVED

        isolated = isolate(
            len(differences), test, lambda: self.runs - runs_before < MAX_RUNS and not self._out_of_time()
        )
        self._not_minimal |= not isolated.minimal
        chosen = [differences[one] for one in sorted(isolated.cause)]
        places = tuple(CausePlace(str(one.place), one.place.function, one.failing, one.passing) for one in chosen)
        self._causes[point], self._places[point] = places, chosen[0].place
        # the same place is the same cause, whatever is there
        return tuple(place._replace(failing="", passing="") for place in places)

    def _state(self, side: Side, point: int) -> MemoryGraph | None:
        self.runs += 1
        return state_before(side.runs, side.test, side.run, point)[1]

    def _run(self, point: int, differences: Sequence[StateDifference]) -> _Failure | None:
        """How the passing test fails if it gets these; None if it does not, or can't get them."""
        self.runs += 1
        changes = [one.change for one in differences]
        side = self.passing
        answer, _ = state_before(side.runs, side.test, side.run, point, changes)
        failure = _Failure.from_answer(answer) if answer.outcome is ExperimentOutcome.FAILED else None
        as_before = answer.outcome is side.run.answer.outcome and failure == self._passing_failure
        self._passed = as_before and not answer.noted.get("refused")
        return None if as_before or answer.noted.get("refused") else failure

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
        last = len(self.failing.run.path) - 1
        around = [self.location(at) for at in range(last - 1, end - 1, -1)]
        return (*chain, Transition(*self._executed(last), (), False, _first(around)))

    def location(self, position: int) -> Location:
        """Look up the statement at a position of the failing run."""
        return self._statements.locations[int(self.failing.run.path.statement[position])]

    def _executed(self, position: int) -> tuple[Location, int]:
        """The statement at a position of the failing run, and its how many-th time."""
        statement = self.failing.run.path.statement
        number = int(statement[position])
        return self.location(position), int(np.count_nonzero(statement[: position + 1] == number))

    def _writer(self, since: int, until: int, place: AccessPath) -> int:
        """The position of the statement after which the failing run had in a place what it has before `until`.

        Between two points that can be compared, the failing run may have executed others.
        """
        if until - since == 1:
            return since
        if (since, until) not in self._writers:
            writer = until - 1
            state = self._state(self.failing, until)
            for at in range(until - 1, max(since, until - MAX_AROUND) - 1, -1):
                if state is None or self._out_of_time():
                    break
                before = self._state(self.failing, at)
                if before is None or content_at(before, place) != content_at(state, place):
                    writer = at
                    break
            self._writers[since, until] = writer
        return self._writers[since, until]


def _first(locations: Sequence[Location]) -> tuple[Location, ...]:
    """Different ones, at most `MAX_AROUND`."""
    return tuple(dict.fromkeys(locations))[:MAX_AROUND]
