"""Sparse symbolic exploration: whether some values can make a property hold (paper 002, Algorithm 5).

The program is run again and again, each time along another path. It ends with the first run in which the property
holds, and what probably does not get to the failure any more waits in a queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

Term: TypeAlias = object
"""A tuple of an operator and its operands, a symbol, or a constant."""

Constraint: TypeAlias = tuple[Term, bool]
"""A comparison, and how it came out."""

Values: TypeAlias = Mapping[str, "int | float | str"]
"""By the name of a symbol."""

_Key: TypeAlias = "tuple[tuple[str, int | float | str], ...]"

MAX_PATHS = 30
"""Runs of one exploration."""

PATH_FACTOR = 10
"""A path that makes so many times the decisions of the failing run is not explored further: pBOUND of the paper."""


class ExploredPath(NamedTuple):
    """What came of a run with symbols."""

    constraints: Sequence[Constraint]  # in order
    holds: bool  # whether the property holds
    reached: bool  # whether it got to where the property is checked
    # indices of constraints; if all constraints of one sequence came out the other way, the property would hold
    property: Sequence[Sequence[int]] = ()
    decisions: int = 0  # how many decisions it made
    ended: bool = True  # whether it ended by itself


class SymbolicRuns(Protocol):
    """Runs the program with symbols in the place of some values."""

    def along(self, values: Values | None) -> ExploredPath:
        """Run it."""

    def repairs(self, values: Values) -> bool:
        """Whether the property holds in a run with plain values in the place of symbols."""


class Solver(Protocol):
    """Solves constraints."""

    def solve(self, constraints: Sequence[Constraint]) -> Values | None:
        """Find values with which all constraints come out as given.

        None where there are none, or none could be found.
        """


class Exploration:
    """Explores the paths that some values can take."""

    def __init__(self, runs: SymbolicRuns, solver: Solver, decisions: int):
        self._runs, self._solver = runs, solver
        self._bound = PATH_FACTOR * max(decisions, 1)
        self._deferred: deque[tuple[ExploredPath, int]] = deque()
        self._explored: set[_Key] = set()
        self._tested: set[_Key] = set()

    def succeeds(self) -> bool:
        """Explore until the property holds, or nothing is left."""
        first = self._runs.along(None)
        if not first.constraints:
            return first.holds  # nothing depends on the values
        if self._can_hold(first) or self._explore(first, 0):
            return True
        while self._deferred and not self._is_over:
            if self._explore(*self._deferred.popleft()):
                return True
        return False

    def _explore(self, path: ExploredPath, begin: int) -> bool:
        """Let one constraint after the other come out the other way (lines 15 to 45)."""
        for index in range(begin, len(path.constraints)):
            if self._is_over:
                return False
            term, truth = path.constraints[index]
            before, after = path.constraints[:index], path.constraints[index + 1 :]
            turned = [*before, (term, not truth), *after]
            values = self._solver.solve(turned) or self._solver.solve(turned[: index + 1])
            if values is None or not _is_new(values, self._explored):
                continue
            other = self._runs.along(values)
            if not other.ended:
                continue
            if other.holds:
                if self._repairs(values):
                    return True
                continue
            if other.reached:
                if self._can_hold(other):
                    return True
            elif self._solver.solve([*turned, *other.constraints]) is not None:
                self._deferred.append((other, index + 1))
                continue
            if other.decisions <= self._bound and self._explore(other, index + 1):
                return True
        return False

    def _can_hold(self, path: ExploredPath) -> bool:
        """Whether the constraints of a path are compatible with the property, and a run confirms that."""
        if path.holds:
            return True
        if not path.reached:
            return False
        for indices in path.property:
            constraints = list(path.constraints[: max(indices, default=-1) + 1])
            for index in indices:
                term, truth = constraints[index]
                constraints[index] = (term, not truth)
            values = self._solver.solve(constraints)
            if values is not None and self._repairs(values):
                return True
        return False

    def _repairs(self, values: Values) -> bool:
        return _is_new(values, self._tested) and self._runs.repairs(values)

    @property
    def _is_over(self) -> bool:
        return len(self._explored) + len(self._tested) >= MAX_PATHS


def _is_new(values: Values, known: set[_Key]) -> bool:
    """Whether values are tried for the first time; then they are known."""
    key = tuple(sorted(values.items()))
    if key in known:
        return False
    known.add(key)
    return True
