"""Decisions of a failing run that come out the other way: which there are, and how a machine is asked for them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import chain, groupby

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.experiments.alterations.switching import FEW, SwitchedDecision, actions
from suspectra.experiments.altered_runs import Alteration
from suspectra.experiments.run_answers import DecisionSite, Trace
from suspectra.paths.distance import Distance
from suspectra.paths.generation import sets_of_branches
from suspectra.paths.path import Path
from suspectra.paths.searches.search import Suspiciousness, nothing_known
from suspectra.runs.experiment import EVERY, Experiment
from suspectra_recorder.experiments.messages import RunRequest

MAX_TOGETHER = 3
"""Decisions that are turned in one run, at most."""

MAX_WINDOW = 200
"""The last so many decisions of the failing run are turned together; each of the others only alone."""

MAX_SETS = 2000
"""Sets of decisions that are turned in the order of the paper: where three together make more, two are, or one is."""


@dataclass(frozen=True)
class Turns(Alteration):
    """Decisions that come out the other way in one run."""

    switches: tuple[SwitchedDecision, ...]  # in the order of the run
    # which events of the failing run they are, if they may be turned together with others: then the path is recorded
    positions: tuple[int, ...] = ()
    distance: tuple[int, ...] = ()  # the same, also where they are only turned alone; empty if not known, in threads

    def to_json(self) -> RunRequest:
        """How a machine is asked for it."""
        return self.confirmation if self.positions else self.switches[0].to_json()

    @property
    def confirmation(self) -> RunRequest:
        """How a machine is asked for it with its path."""
        points = [(one.place.file, one.place.number, one.instance, one.action) for one in self.switches]
        return {"kind": "path", "switched": [*points]}

    def experiment(self, test: str) -> Experiment:
        """The experiment that the first decision alone is."""
        return self.switches[0].experiment(test)

    @property
    def skips_check(self) -> bool:
        """Whether an error is not raised because of it: the test may pass since nothing complains."""
        return any(one.skips_check for one in self.switches)


class TurnableRun:
    """The decisions of a failing run that may be turned: all but loops that would go on."""

    def __init__(self, trace: Trace, path: Path, preferred: Suspiciousness = nothing_known):
        self.trace, self.path = trace, path
        self._preferred = [preferred(place.file, place.line) for place in trace.places]
        self._number, self._truth = trace.decisions // 2, trace.decisions % 2
        self._instance = _times(self._number)
        is_while = np.array([place.kind == "while" for place in trace.places], bool)
        self._turnable = ~is_while[self._number] | (self._truth == 1)
        events = np.flatnonzero(path.is_branch)
        self._event = events if self._is_same(events) else np.zeros(0, np.int64)
        self._decision = {event: decision for decision, event in enumerate(self._event.tolist())}
        # the positions of the events that may be turned together, ascending
        self.window: list[int] = self._event[self._turnable[: len(self._event)]][-MAX_WINDOW:].tolist()
        self._window = np.array(self.window, np.int64)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._turnable))

    def place(self, position: int) -> DecisionSite:
        """The decision that an event is."""
        return self.trace.places[int(self._number[self._decision[position]])]

    @property
    def alone(self) -> int:
        """How many candidates turn one decision: each time, and those that are made more than once every time."""
        times = Counter(self._number.tolist())
        often = (number for number in set(self._number[self._turnable].tolist()) if times[number] > 1)
        return len(self) + sum(len(self._actions(number)) for number in often)

    @property
    def in_threads(self) -> bool:
        """Whether the decisions are those of several threads."""
        return len(self._event) < len(self._number)

    @property
    def check(self) -> int | None:
        """The position of the last decision, if it is a check that raised an error; None for any other."""
        if not len(self._event):
            return None
        place = self.trace.places[self._number[-1]]
        raised = place.kind == "if" and place.guard & (int(self._truth[-1]) + 1)
        return int(self._event[-1]) if raised else None

    def avoids_check(self, path: Path) -> bool:
        """Whether the check that raised an error is not made in another run.

        False where no check raised one.
        """
        return self.check is not None and bool(self.path.aligned(path)[self.check] < 0)

    def singles(self) -> Iterator[Turns]:
        """Decisions that are turned alone.

        Of equally preferred ones first every time, then at single times, the last one first. Of those that are made
        often, the last `FEW` times come before those of all others.
        """
        newest_first = np.flatnonzero(self._turnable)[::-1].tolist()
        times = Counter(self._number.tolist())
        newest_first.sort(key=self._preference, reverse=True)  # stable
        rest: list[int] = []
        for _, alike in groupby(newest_first, self._preference):
            decisions = list(alike)
            yield from self._every_time(decisions, times)
            for decision in decisions:
                number, instance = int(self._number[decision]), int(self._instance[decision])
                if times[number] > 1 and times[number] - instance >= FEW:
                    rest.append(decision)
                elif times[number] > 1:
                    yield self._turns([decision], [instance])
        for decision in rest:
            yield self._turns([decision], [int(self._instance[decision])])

    def _every_time(self, decisions: Sequence[int], times: Mapping[int, int]) -> Iterator[Turns]:
        by_number: dict[int, list[int]] = {}
        for decision in decisions:
            by_number.setdefault(int(self._number[decision]), []).append(decision)
        for number, made in by_number.items():
            if times[number] == 1:
                yield self._turns(made, [EVERY])
            else:
                yield from self._often(number)

    def _often(self, number: int) -> Iterator[Turns]:
        """A decision that is made more than once comes out the other way every time, or the same way every time."""
        place, made = self.trace.places[number], self._number == number
        for action in self._actions(number):
            turned = made if action == "other" else made & (self._truth == (action == "false"))
            yield Turns((SwitchedDecision(place, EVERY, action),), distance=self._events(np.flatnonzero(turned)))

    def nearest_first(self) -> Iterator[Turns]:
        """What to turn in the order of the paper, so that no path is nearer than an earlier one (Theorem 1).

        Sets of decisions, single ones that are too early to be turned with others, and decisions every time.
        """
        if self.in_threads:
            yield from self.singles()
            return
        times = Counter(self._number.tolist())
        often = [turns for number, made in times.items() if made > 1 for turns in self._often(number)]
        often = [turns for turns in often if len(turns.distance) > 1]
        sets = sets_of_branches(self.path.depends_on.tolist(), self.window, self.max_together)
        together = (self.turns(one, list(map(self.instance, one))) for one in sets)
        early = np.flatnonzero(self._turnable)[::-1][len(self.window) :].tolist()
        alone = (self._turns([one], [int(self._instance[one])]) for one in early)
        yield from merge(sorted(often, key=_nearness), chain(together, alone), key=_nearness)

    @property
    def max_together(self) -> int:
        """How many decisions are turned together in the order of the paper."""
        sizes = range(MAX_TOGETHER, 1, -1)
        within = (most for most in sizes if self.sets_of(most) <= MAX_SETS)
        return next(within, 1)

    def sets_of(self, most: int) -> int:
        """Count the sets of up to so many decisions, at most."""
        return sum(math.comb(len(self.window), size) for size in range(1, most + 1))

    def _actions(self, number: int) -> tuple[str, ...]:
        return actions(self.trace.places[number], self.trace.outcomes[number])

    def _preference(self, decision: int) -> float:
        return self._preferred[int(self._number[decision])]

    def sets(self, size: int) -> Iterator[tuple[int, ...]]:
        """Choose decisions to be turned together.

        The positions of their events, in the order of `sets_of_branches`, preferred ones first.
        """
        preferred_last = sorted(self.window, key=lambda position: self._preference(self._decision[position]))
        yield from sets_of_branches(self.path.depends_on.tolist(), preferred_last, size, size)

    def turns(self, positions: Sequence[int], instances: Sequence[int]) -> Turns:
        """Turn some decisions in one run.

        In the order of the run.
        """
        return self._turns([self._decision[position] for position in positions], instances)

    def instance(self, position: int) -> int:
        """The how many-th time of its decision an event is."""
        return int(self._instance[self._decision[position]])

    def instances_in(self, other: Path) -> dict[int, int]:
        """Find the events of the window in a run in which earlier decisions were turned.

        For each position the how many-th time it is there. Without those that are not made there, or that come out the
        other way by themselves.
        """
        times = _times(other.statement)
        counterpart = self.path.aligned(other)[self._window]
        there = counterpart >= 0
        there[there] = other.outcome[counterpart[there]] == self.path.outcome[self._window[there]]
        return dict(zip(self._window[there].tolist(), times[counterpart[there]].tolist(), strict=True))

    def corrected(self, turns: Turns, path: Path) -> Turns:
        """Turn the same events at the times at which they are made in the run in which that was tried."""
        known = self.instances_in(path)
        instances = [one.instance for one in turns.switches]
        # what has come out the other way is not known there
        made = [known.get(place, instance) for place, instance in zip(turns.positions, instances, strict=False)]
        return turns if len(made) < 2 or made == instances else self.turns(turns.positions, made)

    def without(self, turns: Turns, position: int) -> Turns:
        """Turn one event less."""
        instances = dict(zip(turns.positions, (one.instance for one in turns.switches), strict=True))
        del instances[position]
        return self.turns([*instances], [*instances.values()])

    def events_of(self, turns: Turns, differing: Sequence[int]) -> tuple[int, ...]:
        """Find the events that were turned in a run.

        Positions; of a decision that is turned every time, the first one.
        """
        if turns.positions:
            return turns.positions
        (switch,) = turns.switches
        for position in differing:
            decision = self._decision.get(position, -1)
            if decision >= 0 and self.trace.places[self._number[decision]] == switch.place:
                return (position,)
        return tuple(differing[:1])

    def _is_same(self, events: Ints) -> bool:
        """Whether the events of the path are the decisions of the trace, in the same order."""
        if len(events) != len(self._number) or np.any(self.path.outcome[events] != self._truth):
            return False
        pairs = {*zip(self._number.tolist(), self.path.statement[events].tolist(), strict=True)}
        return len(pairs) == len({number for number, _ in pairs}) == len({statement for _, statement in pairs})

    def _turns(self, decisions: Sequence[int], instances: Sequence[int]) -> Turns:
        positions = self._events(decisions)
        switches = tuple(
            SwitchedDecision(self.trace.places[self._number[decision]], instance, self._action(decision))
            for decision, instance in zip(decisions, instances, strict=True)
        )
        inside = bool(self.window) and all(position >= self.window[0] for position in positions)
        return Turns(switches, positions if inside else (), positions)

    def _events(self, decisions: Iterable[int]) -> tuple[int, ...]:
        return tuple(int(self._event[one]) for one in decisions if one < len(self._event))

    def _action(self, decision: int) -> str:
        return "false" if self._truth[decision] else "true"


def _nearness(turns: Turns) -> tuple[int, ...]:
    return Distance(turns.distance).nearness


def _times(numbers: Ints) -> Ints:
    """For each element the how many-th one of its value it is, from 1."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    first = np.ones(len(order), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(first)
    times = np.empty(len(order), np.int64)
    times[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order)))) + 1
    return times
