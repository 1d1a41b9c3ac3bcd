"""Looking for the passing test whose path is nearest to that of a failing one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from suspectra.cancellation import check
from suspectra.errors import EvidenceError, Problem
from suspectra.experiment import Outcome
from suspectra.experiments.mutants import nearest_first
from suspectra.experiments.recorded_paths import MAX_EVENTS, Paths, RecordedPath
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.experiments.repeated_tests import RepeatedTests
from suspectra.location import Location
from suspectra.paths.distance import differing_events, distance, parting
from suspectra.paths.path import NO_BRANCH, Path
from suspectra.spectrum import Spectrum

MAX_PASSING = 20
"""Passing tests that are compared with a failing one."""

MAX_ALIKE = 3
"""Passing tests that execute the same statements, of which more come after all others: they often take one path."""


_ENDED = {
    Outcome.PASSED: "passes when it runs alone",
    Outcome.SKIPPED: "is skipped when it runs alone",
    Outcome.STEPS: f"makes more than {MAX_EVENTS:,} decisions",
    Outcome.TIMEOUT: f"takes more than {TRACE_S:.0f} s",
    Outcome.CRASHED: "ends its process when it runs alone",
    Outcome.NOT_REACHED: "was not run",
}


class Order(str, Enum):
    """What makes a path near.

    Examples
    --------
    >>> Order("fewest") is Order.FEWEST
    True
    """

    FEWEST = "fewest"
    """Few events differ."""
    LATEST = "latest"
    """The branches that come out differently are late in the failing run, as paper 001 orders them (Definition 4)."""


class PathDifference(NamedTuple):
    """A decision or a call of the failing run that is different in the passing one.

    Parameters
    ----------
    location : Location
        Of what is decided by; for a call, of the body of the function.
    kind : str
        That of the decision, such as ``if``, or ``call``.
    instance : int
        Its how many-th time in the failing run, from 1.
    outcome : bool or None
        How it came out; None for a call.
    wanted : bool or None
        How it came out in the passing run; None where that has no such event.

    Examples
    --------
    >>> PathDifference(Location("cart.py", 8, 8), "if", 2, False, True).location.short
    'cart.py:8'
    """

    location: Location
    kind: str
    instance: int
    outcome: bool | None
    wanted: bool | None


class NearPath(NamedTuple):
    """A passing test, compared with the failing one.

    Parameters
    ----------
    test : str
        Its name.
    differing : int
        In how many events the runs differ.
    shared : int
        How many events of the failing run come before the first that differs.
    parts : PathDifference or None
        The first event that differs; None where the failing run has ended before, or takes the same path.
    differences : tuple of PathDifference
        The decisions that came out differently, in the order of the failing run.
    nearness : tuple of int
        Orders distances as paper 001 does, nearest first.

    Examples
    --------
    >>> NearPath("test_b", 0, 12, None, (), (0,)).same_path
    True
    """

    test: str
    differing: int
    shared: int
    parts: PathDifference | None
    differences: tuple[PathDifference, ...]
    nearness: tuple[int, ...]

    @property
    def same_path(self) -> bool:
        """Whether it takes the very same path, so that only values tell the two apart."""
        return self.differing == 0

    @property
    def report(self) -> tuple[PathDifference, ...]:
        """The decisions that came out differently; where there are none, the event where the runs part."""
        return self.differences or (() if self.parts is None else (self.parts,))


@dataclass(frozen=True)
class PathSearchLimits:
    """How long to search.

    Parameters
    ----------
    end : float
        When to stop, as ``time.monotonic`` has it.
    passing : int, optional
        With how many passing tests to compare at most.

    Examples
    --------
    >>> PathSearchLimits(0.0).passing
    20
    """

    end: float
    passing: int = MAX_PASSING


class NearestPath:
    """Compares the path of a failing test with those of passing ones.

    Parameters
    ----------
    tests : RepeatedTests
        Runs them; it was made for runs of the kind ``path``.
    paths : Paths
        Records them.
    failing : str
        The name of the failing test.
    passing : sequence of str
        The names of passing tests, those first whose coverage is nearest.
    order : Order, optional
        What makes a path near.

    Attributes
    ----------
    problems : list of Problem
        Why passing tests were left out.
    complete : bool
        Whether all passing tests were compared.
    compared : list of NearPath
        The tests that were compared, and pass when they run alone.
    """

    def __init__(
        self, tests: RepeatedTests, paths: Paths, failing: str, passing: Sequence[str], order: Order = Order.FEWEST
    ):
        self.problems: list[Problem] = []
        self.complete = False
        self.compared: list[NearPath] = []
        self._tests, self._paths, self._failing, self._order = tests, paths, failing, order
        self._passing = tuple(passing)

    def search(self, limits: PathSearchLimits) -> Iterator[NearPath]:
        """Compare one passing test after the other.

        Parameters
        ----------
        limits : PathSearchLimits
            When to stop.

        Yields
        ------
        NearPath
            Each that is compared.

        Raises
        ------
        EvidenceError
            When the failing test passes, takes another path each time, or makes no decision in the program.
        """
        self.complete = False
        failing = self._failing_path()
        for name in self._passing[: limits.passing]:
            check()
            if time.monotonic() >= limits.end:
                return
            try:
                found = self._record(name)
            except EvidenceError as error:
                self.problems.append(error.problem)
                continue
            if found.answer.outcome is Outcome.PASSED:
                one = compare(failing, found.path, self._paths, name)
                self.compared.append(one)
                yield one
            else:
                cause = f"{name} does not pass when it runs alone, so it was not compared"
                self.problems.append(Problem("", "", cause, "record the tests again"))
        self.complete = True

    @property
    def nearest(self) -> NearPath | None:
        """The nearest path of those that differ; None if there is none yet."""
        others = [one for one in self.compared if not one.same_path]
        return min(others, key=self._key, default=None)

    def _key(self, one: NearPath) -> tuple[object, ...]:
        place = self._passing.index(one.test)
        if self._order is Order.LATEST:
            return one.nearness, one.differing, place
        return one.differing, one.nearness, place

    def _record(self, name: str) -> RecordedPath:
        return self._paths.record(self._tests.machine(name), name, TRACE_S)

    def _failing_path(self) -> Path:
        first, again = self._record(self._failing), self._record(self._failing)
        name = self._failing
        if first.answer.outcome is not Outcome.FAILED:
            cause, cure = f"{name} {_ENDED[first.answer.outcome]}", "record the tests again, or choose another test"
        elif not len(first.path):
            cause = f"{name} makes no decision in the program, and calls none of its functions"
            cure = "choose a test that executes code of the workspace"
        elif (differs := parting(first.path, again.path)) is not None:
            place = min(differs.position, len(first.path) - 1)
            where = self._paths.places[int(first.path.statement[place])].location.short
            cause = f"two runs of {name} take different paths, from {where} on"
            cure = "let it not depend on time, chance, threads or what ran before"
        else:
            return first.path
        raise EvidenceError(Problem("", "", cause, cure))


def nearest_tests(spectrum: Spectrum, test: str) -> list[str]:
    """Put passing tests in the order in which they are compared with a failing one.

    Parameters
    ----------
    spectrum : Spectrum
        Which tests execute what.
    test : str
        The failing test.

    Returns
    -------
    list of str
        The names of all passing tests: those first that execute nearly what the failing one does, and of tests that
        execute the same statements `MAX_ALIKE` before all others.

    Examples
    --------
    >>> matrix = [[1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1]]
    >>> nearest_tests(Spectrum.from_matrix(matrix, failed=[True, False, False, False, False, False]), "t1")
    ['t2', 't3', 't4', 't6', 't5']
    """
    executed = np.zeros(len(spectrum.elements), bool)
    executed[spectrum.rows[spectrum.test_index[test]]] = True
    alike: Counter[bytes] = Counter()
    first: list[str] = []
    rest: list[str] = []
    for row in nearest_first(spectrum, executed):
        statements = spectrum.rows[row].tobytes()
        (first if alike[statements] < MAX_ALIKE else rest).append(spectrum.tests[row])
        alike[statements] += 1
    return first + rest


def compare(failing: Path, passing: Path, paths: Paths, test: str) -> NearPath:
    """Compare the path of a failing run with that of a passing one.

    Parameters
    ----------
    failing, passing : Path
        Both recorded by the same `Paths`.
    paths : Paths
        Knows what their statements are.
    test : str
        The name of the passing test.

    Returns
    -------
    NearPath
        In the events of the failing run.
    """
    counterpart = failing.aligned(passing)
    first, apart = parting(failing, passing), distance(failing, passing)

    def difference(position: int) -> PathDifference:
        statement = int(failing.statement[position])
        place = paths.places[statement]
        instance = int(np.count_nonzero(failing.statement[: position + 1] == statement))
        other = int(counterpart[position])
        outcome = _truth(int(failing.outcome[position]))
        wanted = None if other < 0 else _truth(int(passing.outcome[other]))
        return PathDifference(place.location, place.kind, instance, outcome, wanted)

    parts = None if first is None or first.position == len(failing) else difference(first.position)
    return NearPath(
        test,
        differing_events(failing, passing),
        len(failing) if first is None else first.position,
        parts,
        tuple(map(difference, apart.branches)),
        apart.nearness,
    )


def _truth(outcome: int) -> bool | None:
    return None if outcome == NO_BRANCH else bool(outcome)
