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
    """What came of a run with symbols.

    Parameters
    ----------
    constraints : sequence of (term, bool)
        In order.
    holds : bool
        Whether the property holds.
    reached : bool
        Whether it got to where the property is checked.
    property : sequence of sequence of int
        Indices of constraints; if all constraints of one sequence came out the other way, the property would hold.
    decisions : int
        How many decisions it made.
    ended : bool
        Whether it ended by itself.

    Examples
    --------
    >>> ExploredPath(((("<", ("symbol", "a", "int"), 3), True),), False, True, ((0,),)).ended
    True
    """

    constraints: Sequence[Constraint]
    holds: bool
    reached: bool
    property: Sequence[Sequence[int]] = ()
    decisions: int = 0
    ended: bool = True


class SymbolicRuns(Protocol):
    """Runs the program with symbols in the place of some values.

    Examples
    --------
    A program that fails unless ``a`` is 7:

    >>> class Seven:
    ...     def along(self, values):
    ...         a = values["a"] if values else 1
    ...         return ExploredPath([(("==", ("symbol", "a", "int"), 7), a == 7)], a == 7, True, [[0]])
    ...     def repairs(self, values):
    ...         return values["a"] == 7
    >>> runs: SymbolicRuns = Seven()
    >>> runs.along({"a": 3}).constraints, runs.repairs({"a": 7})
    ([(('==', ('symbol', 'a', 'int'), 7), False)], True)
    """

    def along(self, values: Values | None) -> ExploredPath:
        """Run it.

        Parameters
        ----------
        values : mapping of str to value, optional
            Of the symbols; those of the failing run unless given.

        Returns
        -------
        ExploredPath
            What came of it.
        """

    def repairs(self, values: Values) -> bool:
        """Whether the property holds in a run with plain values in the place of symbols.

        Parameters
        ----------
        values : mapping of str to value
            Of the symbols.

        Returns
        -------
        bool
            Nothing is assumed of the path.
        """


class Solver(Protocol):
    """Solves constraints.

    Examples
    --------
    >>> class Equal:
    ...     def solve(self, constraints):
    ...         return {name: number for ((_, (_, name, _), number), truth) in constraints if truth}
    >>> solver: Solver = Equal()
    >>> solver.solve([(("==", ("symbol", "a", "int"), 7), True)])
    {'a': 7}
    """

    def solve(self, constraints: Sequence[Constraint]) -> Values | None:
        """Find values with which all constraints come out as given.

        Parameters
        ----------
        constraints : sequence of (term, bool)
            About some symbols.

        Returns
        -------
        mapping of str to value, or None
            None where there are none, or none could be found.
        """


class Exploration:
    """Explores the paths that some values can take.

    Parameters
    ----------
    runs : SymbolicRuns
        The program.
    solver : Solver
        What finds values.
    decisions : int
        How many decisions the failing run makes.

    Examples
    --------
    >>> class Absolute:  # fails unless a is 7, behind a decision
    ...     def along(self, values):
    ...         a = values["a"] if values else 1
    ...         symbol = ("symbol", "a", "int")
    ...         return ExploredPath([(("==", symbol, 7), a == 7)], a == 7, True, [[0]])
    ...     def repairs(self, values):
    ...         return values["a"] == 7
    >>> class Reader:
    ...     def solve(self, constraints):
    ...         ((_, _, number), wanted), = constraints
    ...         return {"a": number if wanted else number + 1}
    >>> Exploration(Absolute(), Reader(), 1).succeeds()
    True
    """

    def __init__(self, runs: SymbolicRuns, solver: Solver, decisions: int):
        self._runs, self._solver = runs, solver
        self._bound = PATH_FACTOR * max(decisions, 1)
        self._deferred: deque[tuple[ExploredPath, int]] = deque()
        self._explored: set[_Key] = set()
        self._tested: set[_Key] = set()

    def succeeds(self) -> bool:
        """Explore until the property holds, or nothing is left.

        Returns
        -------
        bool
            Whether it can hold.
        """
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
