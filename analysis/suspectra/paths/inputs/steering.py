"""Steering a program along a path by its input.

It is run, and at the first decision that is not as wanted another input is solved for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.base.cancellation import check
from suspectra.dependences.exploration import Constraint, Values
from suspectra.paths.distance import distance
from suspectra.paths.inputs.tried_input import TriedRun
from suspectra.paths.path import Path

MAX_RUNS = 12
"""Runs of one wanted path."""

MAX_TURNED = 12
"""Constraints of one run that are turned, the last ones."""


@dataclass(frozen=True)
class Wanted:
    """A path that is wanted: that of the failing run, with some decisions the other way."""

    failing: Path  # the failing run
    turned: tuple[int, ...]  # positions of its branches that come out differently

    def first_other(self, path: Path) -> int:
        """Compare the path that came with the one that was wanted.

        The position in it of the first decision that is not as wanted; -1 if there is none.
        """
        counterpart = self.failing.aligned(path)
        there = np.flatnonzero(self.failing.is_branch & (counterpart >= 0))
        wanted = self.failing.outcome[there] ^ np.isin(there, self.turned)
        other = counterpart[there][path.outcome[counterpart[there]] != wanted]
        return int(other.min()) if len(other) else -1

    def is_path_of(self, run: TriedRun) -> bool:
        """Whether a run takes it."""
        counterpart = self.failing.aligned(run.path)
        return bool((counterpart[list(self.turned)] >= 0).all()) and self.first_other(run.path) < 0

    def open_constraints(self, run: TriedRun, *, arrived: bool) -> list[int]:
        """The constraints of a run that may come out the other way, so that it gets nearer to the path."""
        other = self.first_other(run.path)
        last = len(run.path) - 1 if other < 0 else other
        known = np.zeros(len(run.path) + 1, bool)
        counterpart = self.failing.aligned(run.path)
        known[counterpart[counterpart >= 0]] = True
        places = np.array(run.positions, np.int64)
        together = np.bincount(places[places >= 0], minlength=len(run.path) + 1)
        found = [
            number
            for number, place in enumerate(places.tolist())
            if place <= last
            and ((place == last and not arrived) or not known[min(place, len(run.path))] or together[place] > 1)
        ]
        return found[-MAX_TURNED:]


class Steering:
    """Finds inputs for paths. What was solved once is not solved again."""

    def __init__(
        self,
        run: Callable[[Values], TriedRun | None],
        alternatives: Callable[[Sequence[Constraint], Sequence[int]], Iterator[tuple[int, Values | None]]],
        failing: TriedRun,
        is_over: Callable[[], bool],
    ):
        self._run, self._alternatives, self._failing, self._is_over = run, alternatives, failing, is_over
        self._solved: dict[tuple[int, int], Values | None] = {}
        self._keys_of: dict[TriedRun, list[tuple[int, int]]] = {}
        self._ran: dict[str, TriedRun | None] = {"{}": failing}

    def runs(self, turned: tuple[int, ...]) -> Iterator[TriedRun]:
        """Find inputs with which the program takes a path."""
        wanted = Wanted(self._failing.path, turned)
        pending: list[Values] = [{}]
        seen, arrived, left = {"{}"}, False, MAX_RUNS
        while pending and left and not self._is_over():
            check()
            left -= 1
            run = self._tried(pending.pop())
            if run is None:
                continue
            if wanted.is_path_of(run):
                arrived = True
                yield run
            for values in self._turned(run, wanted.open_constraints(run, arrived=arrived)):
                key = json.dumps(values, sort_keys=True)
                if key not in seen:
                    seen.add(key)
                    pending.append(values)

    def changed(self, branches: Sequence[int]) -> set[int]:
        """Find the statements whose decisions come out differently with inputs that turn a single one of some others.

        Of each statement the last decision that asks a symbol is turned.
        """
        places, failing = set(branches), self._failing
        last = {failing.path.statement[place]: n for n, place in enumerate(failing.positions) if place in places}
        found: set[int] = set()
        for number in last.values():
            for values in self._turned(failing, [number]):
                if self._is_over():
                    return found
                if (run := self._tried(values)) is not None:
                    turned = list(distance(failing.path, run.path).branches)
                    found.update(failing.path.statement[turned].tolist())
        return found

    def changeable(self, branches: Sequence[int]) -> int:
        """Count the decisions of the failing run that an input changes, which goes the same way up to them."""
        places = set(branches)
        numbers = [number for number, place in enumerate(self._failing.positions) if place in places]
        solved = self._solve(self._failing, numbers)
        return len({self._failing.positions[number] for number, values in solved if values is not None})

    def _turned(self, run: TriedRun, numbers: Sequence[int]) -> Iterator[Values]:
        return (values for _, values in self._solve(run, numbers) if values is not None)

    def _solve(self, run: TriedRun, numbers: Sequence[int]) -> list[tuple[int, Values | None]]:
        """For each constraint an input with which it comes out the other way, and those before as they are."""
        keys = self._keys(run)
        missing = [number for number in numbers if keys[number] not in self._solved]
        for number, values in self._alternatives(run.constraints, missing) if missing else ():
            self._solved[keys[number]] = values
            if self._is_over():
                break
        return [(number, self._solved.get(keys[number])) for number in numbers]

    def _keys(self, run: TriedRun) -> list[tuple[int, int]]:
        """For each constraint of a run a key of the question how it comes out the other way, the same in all runs."""
        if run not in self._keys_of:
            before, keys = 0, []
            for term, truth in run.constraints:
                own = hash(json.dumps([term, truth]))
                keys.append((before, own))
                before = hash((before, own))
            self._keys_of[run] = keys
        return self._keys_of[run]

    def _tried(self, values: Values) -> TriedRun | None:
        key = json.dumps(values, sort_keys=True)
        if key not in self._ran:
            self._ran[key] = self._run(values)
        return self._ran[key]
