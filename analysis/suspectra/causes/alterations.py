"""Whether a failure can disappear if some nodes have other values: tested by runs with altered states."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement, islice
from typing import Protocol, TypeAlias

from suspectra.base.cancellation import check
from suspectra.base.deadline import TimeIsUp
from suspectra.causes.failure_place import FailurePlace
from suspectra.causes.states import AlteredStates, NewValue, StatePoint, StatesRun
from suspectra.dependences.exploration import Exploration, ExploredPath, Solver, Values
from suspectra.dependences.narrowing import PASSES, Combination, Property
from suspectra.experiments.alterations.alternates import Alternate, one_more, roots
from suspectra.experiments.alterations.counterparts import Counterparts
from suspectra.experiments.alterations.replacing import NotedValues, Part, other_values, parts_of
from suspectra.experiments.run_answers import AlteredRunAnswer
from suspectra.runs.experiment import ExperimentOutcome
from suspectra_recorder.experiments.messages import RunRequest
from suspectra_recorder.experiments.values.literals import shown, to_text

TIME_BOUND_S = 10.0
"""Seconds that a run may take, or more if the failing run takes long: tBOUND of the paper."""

MAX_TOGETHER = 12
"""Of several values that are replaced together, how many combinations of other values are tried."""

_NUMERIC = (int, float, str)  # what a symbol can stand for
_NUMBERS = (int, float, Decimal, Fraction)  # what can be 0

Parts: TypeAlias = Mapping[Part, object]


class _Run(Protocol):
    """Runs the test once."""

    def __call__(self, job: RunRequest, *, end: float = math.inf) -> AlteredRunAnswer:
        """How it ends with what the job alters; `TimeIsUp` where it was not over at `end`."""


@dataclass(frozen=True)
class KnownValues:
    """What is known of the values of a failing run."""

    noted: NotedValues  # those of the failing run
    others: Sequence[NotedValues] = ()  # those of passing runs

    @property
    def failed(self) -> list[Parts]:
        """The sides of the comparison that made the test fail; what was expected is one of the last ones."""
        return [parts_of(text) for text in self.noted.failed]

    def at(self, point: StatePoint) -> Parts:
        """The value that was assigned at a time.

        As `suspectra.experiments.alterations.replacing.parts_of` gives it; empty if nothing is known.
        """
        texts = self._own.get((point.file, point.number), ())
        return parts_of(texts[point.instance - 1]) if point.instance <= len(texts) else {}

    def counterparts(self, point: StatePoint) -> list[NewValue]:
        """What stands in the place of the value, or of all numbers inside it, in the failed comparison."""
        parts = self.at(point)
        inside = {(): parts[()]} if () in parts else parts
        found = ((part, next(self._counterparts.for_value(value), None)) for part, value in inside.items())
        return [NewValue(point, part, value) for part, value in found if value is not None and to_text(value)]

    @cached_property
    def _counterparts(self) -> Counterparts:
        return Counterparts([parts[()] for parts in self.failed if () in parts])

    @cached_property
    def _own(self) -> dict[tuple[str, int], Sequence[str]]:
        return self._texts(self.noted)

    def seen(self, point: StatePoint) -> list[Parts]:
        """The values that the same statement assigned at any time, those of the failing run first."""
        place = point.file, point.number
        texts = dict.fromkeys(text for one in (self.noted, *self.others) for text in self._texts(one).get(place, ()))
        return [parts_of(text) for text in texts]

    @staticmethod
    def _texts(noted: NotedValues) -> dict[tuple[str, int], Sequence[str]]:
        return {(place.file, place.number): texts for place, texts in noted.values.items()}


@dataclass
class StateAlterations:
    """Alters states of a failing test on a machine.

    A decision comes out the other way. Of assigned values those that a solver knows become symbols (Algorithm 5); if
    that shows nothing, other values are tried: those that the statement had at other times, the other side of the
    failing comparison, empty ones, None, and numbers that would make the sides of a later comparison equal.
    """

    run: _Run  # runs the test once; takes a job and the end of the time, and gives the answer
    points: Mapping[int, StatePoint]  # where each node is altered; nodes without one can't be
    decisions: frozenset[int]  # the nodes that are decisions
    values: KnownValues  # what can be put in the place of others
    workspace: str = ""  # the folder in which the test runs; an absolute path
    solver: Solver | None = None  # what solves constraints
    end: float = float("inf")  # when to stop, as `time.monotonic` has it
    # when to stop if nothing has made the test pass by then, but something has made it fail later
    end_if_later: float = float("inf")
    progress: FailurePlace | None = None  # where the unaltered run failed. Without it, no run fails later
    count: int = field(default=0, init=False)  # how many altered runs there were
    # nodes with which the test did not pass, but failed later than it does unaltered
    further: set[Combination] = field(default_factory=set, init=False)
    # by node that was altered alone: the value with which the test passes, in short, or None where it passes with none
    alone: dict[int, str | None] = field(default_factory=dict, init=False)
    _unaltered: StatesRun | None = field(default=None, init=False)
    _known: dict[object, bool] = field(default_factory=dict, init=False)

    def put_off(self, seconds: float) -> None:
        """Stop so much later."""
        self.end += seconds
        self.end_if_later += seconds

    def polluted(self, nodes: Combination, wanted: Property) -> bool:
        """Whether the failure can disappear if these nodes have other values.

        False also where no other value is known.

        Raises TimeIsUp when `end` has come, or `end_if_later` for what makes the test pass.
        """
        only_later = not wanted.or_later and self.further and not any(self._known.values())
        if only_later and time.monotonic() >= self.end_if_later:
            raise TimeIsUp
        if any(node not in self.points for node in nodes):
            return False
        if wanted.or_later:
            if nodes in self.further:
                return True
            wanted = PASSES if _key(nodes, PASSES) in self._known else wanted  # all that there is has been tried
        key = _key(nodes, wanted)
        if key not in self._known:
            self._known[key] = self._can_repair(nodes, wanted)
            if len(nodes) == 1 and not wanted.or_later:
                self.alone.setdefault(nodes[0], "" if self._known[key] else None)
        return self._known[key]

    @property
    def unaltered(self) -> StatesRun:
        """The failing run with nothing altered."""
        if self._unaltered is None:
            self._unaltered = StatesRun.from_answer(self.run(AlteredStates().to_json()))
        return self._unaltered

    def altered(self, states: AlteredStates) -> StatesRun:
        """Run the test once with altered states.

        Raises TimeIsUp when `end` has come.
        """
        check()
        if time.monotonic() >= self.end:
            raise TimeIsUp
        self.count += 1
        return StatesRun.from_answer(self.run(states.to_json(), end=self.end))

    def place_of_failure(self, run: StatesRun) -> tuple[str, tuple[str, int] | None]:
        """Say where a run failed."""
        inside = (frame for frame in reversed(run.frames) if frame[0].startswith(self.workspace))
        return run.answer.exception, next(inside, None)

    def is_later(self, run: StatesRun) -> bool:
        """Whether a run fails later in the test than it does unaltered.

        False also where it does not fail.
        """
        failed = run.answer.outcome is ExperimentOutcome.FAILED
        return failed and self.progress is not None and self.progress.is_before(run)

    def _can_repair(self, nodes: Combination, wanted: Property) -> bool:
        tested = _Tested(self, nodes, wanted)
        assigned = [self.points[node] for node in nodes if node not in self.decisions]
        if not assigned:
            return tested.holds(self.altered(tested.states))
        symbols = _symbols(assigned, self.values)
        if self.solver is not None and symbols:
            runs = _SymbolicRuns(tested, symbols)
            if Exploration(runs, self.solver, self.unaltered.decisions).succeeds():
                return True
        return self._replaces(tested, assigned)

    def _replaces(self, tested: _Tested, assigned: Sequence[StatePoint]) -> bool:
        """Whether a value from a pool repairs, or for a single number a root."""
        counterparts = [value for point in assigned for value in self.values.counterparts(point)]
        # the counterpart of one whole value is among its alternates
        several_or_inside = len(counterparts) > 1 or any(value.part for value in counterparts)
        if several_or_inside and tested.holds(self.altered(tested.states.with_values(counterparts))):
            return True
        each = [list(_alternates(point, self.values)) for point in assigned]
        for together in islice(_combined(each), None if len(each) == 1 else MAX_TOGETHER):
            if tested.holds(self.altered(tested.states.with_values(together))):
                tested.note(together[0])
                return True
        return len(assigned) == 1 and self._moves(tested, assigned[0])

    def _moves(self, tested: _Tested, point: StatePoint) -> bool:
        """Move each number by one, and then to where the comparisons that moved become equal."""
        for part, number in self.values.at(point).items():
            more = one_more(number)
            if more is None:
                continue
            moved = self.altered(tested.states.with_values([NewValue(point, part, more)], compare=True))
            if tested.holds(moved):
                tested.note(NewValue(point, part, more))
                return True
            for alternate in roots(number, self.values.noted.distances, moved.distances):
                value = NewValue(point, part, alternate.value)
                if tested.holds(self.altered(tested.states.with_values([value]))):
                    tested.note(value)
                    return True
        return False


def _key(nodes: Combination, wanted: Property) -> object:
    return nodes, tuple(tuple(sorted(one.items())) for one in wanted.alternatives), wanted.or_later


class _Tested:
    """A combination of nodes that is altered, and the property that is wanted then."""

    def __init__(self, alterations: StateAlterations, nodes: Combination, wanted: Property):
        self.alterations, self.nodes, self.wanted = alterations, nodes, wanted
        points = alterations.points
        self.watched = sorted({node for one in wanted.alternatives for node in one})
        switched = tuple(points[node] for node in nodes if node in alterations.decisions)
        self.states = AlteredStates(switched, watched=tuple(points[node] for node in self.watched))

    def note(self, value: NewValue) -> None:
        """Keep the value with which the test passes, where nothing else is altered."""
        if len(self.nodes) == 1 and not self.wanted.or_later:
            self.alterations.alone[self.nodes[0]] = shown(value.value)

    def holds(self, run: StatesRun) -> bool:
        """Whether the failure is gone.

        That wanted decisions come out as they have to is not enough: it only makes it likely that the test passes, and
        the run goes on to its end.
        """
        if run.answer.outcome.repairs:
            return True
        if self.alterations.is_later(run):
            self.alterations.further.add(self.nodes)
            return self.wanted.or_later
        return False

    def path(self, run: StatesRun, *, ended: bool) -> ExploredPath:
        """A run as the exploration sees it."""
        if not self.wanted.alternatives:
            place = self.alterations.place_of_failure
            reached = run.answer.outcome.repairs or place(run) == place(self.alterations.unaltered)
            properties = [[run.last]] if reached and run.last >= 0 else []
        else:
            outcomes = dict(zip(self.watched, zip(run.outcomes, run.marks, strict=True), strict=False))
            reached = any(outcome >= 0 for outcome, _ in outcomes.values())
            properties = list(self._alternatives(outcomes))
        return ExploredPath(run.constraints, self.holds(run), reached, properties, run.decisions, ended)

    def _alternatives(self, outcomes: Mapping[int, tuple[int, int]]) -> Iterator[list[int]]:
        """The constraints that would make an alternative hold if they came out the other way."""
        for one in self.wanted.alternatives:
            wrong = [outcomes.get(node, (-1, -1)) for node, way in one.items() if outcomes.get(node, (-1,))[0] != way]
            marks = [mark for outcome, mark in wrong if outcome >= 0 and mark >= 0]
            if marks and len(marks) == len(wrong):
                yield sorted(set(marks))


class _SymbolicRuns:
    """Runs with symbols in the place of values; each has a name, and the value of the failing run."""

    def __init__(self, tested: _Tested, symbols: Sequence[NewValue]):
        self._tested, self._symbols = tested, symbols

    def along(self, values: Values | None) -> ExploredPath:
        """Run the test with symbols that have these values."""
        run = self._run([symbol._replace(value=self._value(symbol, values)) for symbol in self._symbols])
        return self._tested.path(run, ended=bool(run.answer.noted.get("frames") is not None))

    def repairs(self, values: Values) -> bool:
        """Run it with the values alone."""
        plain = [symbol._replace(value=self._value(symbol, values), symbol="") for symbol in self._symbols]
        holds = self._tested.holds(self._run(plain))
        if holds and len(plain) == 1:
            self._tested.note(plain[0])
        return holds

    def _run(self, values: Sequence[NewValue]) -> StatesRun:
        return self._tested.alterations.altered(self._tested.states.with_values(values))

    @staticmethod
    def _value(symbol: NewValue, values: Values | None) -> object:
        """What a symbol is in a run; one that no constraint is about keeps its value."""
        found = None if values is None else values.get(symbol.symbol)
        return found if found is not None and to_text(found) else symbol.value


def _symbols(assigned: Sequence[StatePoint], values: KnownValues) -> list[NewValue]:
    """A symbol for each value, or for the numbers inside it; none if something can't be one."""
    symbols: list[NewValue] = []
    for number, point in enumerate(assigned):
        inside = [
            NewValue(point, part, value, f"s{number}.{index}")
            for index, (part, value) in enumerate(values.at(point).items())
            if any(type(value) is known for known in _NUMERIC)
        ]
        whole = [one for one in inside if not one.part]
        if not inside:
            return []
        symbols += whole or inside
    return symbols


def _alternates(point: StatePoint, values: KnownValues) -> Iterator[NewValue]:
    """Other values for one, those first that the failing comparison suggests."""
    found = [
        (part, alternate)
        for part, alternates in other_values(values.at(point), values.seen(point), values.failed, containers=True)
        for alternate in alternates
    ]
    found += [
        (part, Alternate("empty", type(number)())) for part, number in values.at(point).items() if _is_not_0(number)
    ]
    found.sort(key=lambda one: _is_unlikely(one[1]))  # stable
    for part, alternate in found:
        yield NewValue(point, part, alternate.value)


def _combined(each: Sequence[Sequence[NewValue]]) -> Iterator[tuple[NewValue, ...]]:
    """Combinations of one value of each, those of the first values first."""
    for size in range(sum(len(values) - 1 for values in each) + 1) if all(each) else ():
        for further in combinations_with_replacement(range(len(each)), size):
            numbers = Counter(further)
            if all(numbers[which] < len(values) for which, values in enumerate(each)):
                yield tuple(values[numbers[which]] for which, values in enumerate(each))


def _is_not_0(value: object) -> bool:
    return type(value) in _NUMBERS and value != 0


def _is_unlikely(alternate: Alternate) -> bool:
    return alternate.role not in ("expected", "opposite")
