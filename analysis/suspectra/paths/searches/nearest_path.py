"""Looking for the passing test whose path is nearest to that of a failing one."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from suspectra.base.cancellation import check
from suspectra.base.deadline import TimeIsUp
from suspectra.base.english import enumeration, many
from suspectra.base.errors import EvidenceError, Problem
from suspectra.experiments.alterations.mutants import nearest_first
from suspectra.paths.distance import differing_events, distance, parting
from suspectra.paths.path import Path
from suspectra.paths.report import PathReport, ReportedPlace, grouped
from suspectra.paths.searches.recorded_paths import truth
from suspectra.paths.searches.search import Nearness, PathSearcher, PathSearchLimits, PathSetting
from suspectra.runs.experiment import ExperimentOutcome
from suspectra.spectrum import Spectrum

MAX_PASSING = 20
"""Passing tests that are compared with a failing one."""

MAX_NAMED = 3
"""Tests that a sentence names."""

FAR = 0.5
"""A passing test goes near the failing one if it shares at least so much of its decisions and calls."""

MAX_ALIKE = 3
"""Passing tests that execute the same statements, of which more come after all others: they often take one path."""

_WITHOUT = "Automated path generation (apg) needs none."


class Places(Protocol):
    """Knows what the statements of paths are, as :class:`~suspectra.paths.searches.recorded_paths.Paths` does."""

    def reported(self, path: Path, position: int, wanted: bool | None) -> ReportedPlace:
        """Say what an event of a failing run is."""


class NearPath(NamedTuple):
    """A passing test, compared with the failing one."""

    test: str  # its name
    differing: int  # in how many events the runs differ, as far as the failing one goes
    aligned: int  # how many events of the failing run have a counterpart
    shared: int  # how many events of the failing run come before the first that differs
    # the first event that differs; None where the failing run has ended before, or takes the same path
    parts: ReportedPlace | None
    differences: tuple[ReportedPlace, ...]  # the decisions that came out differently, in the order of the failing run
    nearness: tuple[int, ...]  # orders distances as paper 001 does, nearest first
    behind: int = 0  # how many events the passing test has behind the last one that both have

    @property
    def same_path(self) -> bool:
        """Whether it takes the very same path as far as the failing test goes, so that only values tell them apart."""
        return self.differing == 0

    @property
    def summary(self) -> str:
        """Which test it is, and how long it goes the same way."""
        if self.shared == 0:
            return f"{self.test} passes, and goes another way from the beginning."
        first = "decision or call" if self.shared == 1 else _in_words(self.shared)
        return f"{self.test} passes, and goes the same way for the first {first}."

    @property
    def report(self) -> tuple[ReportedPlace, ...]:
        """The decisions that came out differently, each once; where there are none, the event where the runs part."""
        return tuple(grouped(self.differences)) or (() if self.parts is None else (self.parts,))


class NearPaths:
    """The passing tests that were compared with a failing one, and what is to be said of them."""

    def __init__(self, test: str, passing: Sequence[str], order: Nearness | None, values_by: str):
        self.compared: list[NearPath] = []  # the tests that were compared, and pass when they run alone
        self._values_by = values_by  # the command that compares values
        self._test, self._passing, self._order = test, tuple(passing), order

    def search(
        self,
        limits: PathSearchLimits,
        compared: Callable[[str], NearPath | None],
        report: Callable[[int, int], PathReport],
        problems: list[Problem],  # gets why tests were not compared
    ) -> Generator[PathReport]:
        """Compare one passing test after the other, `MAX_PASSING` unless another limit is set."""
        chosen = self._passing[: limits.candidates or MAX_PASSING]
        left = len(self._passing) - len(chosen)
        for done, name in enumerate(chosen):
            yield report(len(chosen) - done, left)
            if limits.over:
                return
            try:
                near = compared(name)
            except TimeIsUp:
                return
            except EvidenceError as error:
                problems.append(error.problem)
                continue
            if near is None:
                problems.append(not_passing(name))
            else:
                self.compared.append(near)
        yield report(0, left)

    def report(self, events: int, pending: int, left: int) -> PathReport:
        """Report the nearest one."""
        nearest = self.nearest
        return PathReport(
            "nearest-path",
            self._test,
            () if nearest is None else nearest.report,
            None if nearest is None else nearest.test,
            () if nearest is None else nearest.differences,
            len(self.compared),
            pending == 0,
            0.0,
            "" if nearest is None else nearest.summary,
            None if nearest is None else nearest.parts,
            tuple(self._notes(events, pending, left)),
            similar=nearest is None or nearest.aligned >= FAR * events,
        )

    def _notes(self, events: int, pending: int, left: int) -> Iterator[str]:
        nearest = self.nearest
        same = [one.test for one in self.compared if one.same_path]
        if same:
            verbs = ("takes", "passes") if len(same) == 1 else ("take", "pass")
            goes_on = any(one.behind for one in self.compared if one.same_path)
            path = f"the very same path, as far as {self._test} goes," if goes_on else "the very same path"
            yield f"{enumeration(same, MAX_NAMED)} {verbs[0]} {path} and {verbs[1]}: only values tell them apart."
            yield f"`{self._values_by}` says which values make the difference."
        if nearest is not None and nearest.aligned < FAR * events:
            yield (
                f"Even the nearest one, {nearest.test}, shares only {nearest.aligned:,} of {_in_words(events)}. "
                f"{_WITHOUT}"
            )
        if not self.compared and not pending:
            yield f"There is no passing test to compare with: record one that does nearly the same. {_WITHOUT}"
        if pending:
            verb, it = ("is", "it") if pending == 1 else ("are", "them")
            yield f"{many(pending, 'passing test')} {verb} left to be compared: give more seconds for {it}."
        if left:
            verbs = ("executes", "was") if left == 1 else ("execute", "were")
            yield f"{many(left, 'passing test')} that {verbs[0]} less of the same {verbs[1]} not compared."

    @property
    def nearest(self) -> NearPath | None:
        """The nearest path of those that differ; None if there is none yet.

        One that does something else from the beginning is only taken where there is no other, however short it is.
        """
        others = [one for one in self.compared if not one.same_path]
        return min(others, key=self._key, default=None)

    def _key(self, one: NearPath) -> tuple[object, ...]:
        place, elsewhere = self._passing.index(one.test), one.shared == 0
        if self._order is Nearness.LATEST:
            return elsewhere, one.nearness, one.differing, place
        return elsewhere, one.differing, one.nearness, place


class NearestPath(PathSearcher):
    """Compares the path of a failing test with those of passing ones."""

    def __init__(self, setting: PathSetting):
        super().__init__(setting)
        values_by = f"suspectra paths {shlex.quote(setting.test.name)} --technique cause-transitions"
        # the tests that were compared
        self.near = NearPaths(setting.test.name, setting.passing, setting.options.order, values_by)

    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Compare one passing test after the other."""
        failing = self.failing_run()

        def compared(name: str) -> NearPath | None:
            check()
            found = self.record(name, limits.end)
            if found.answer.outcome is not ExperimentOutcome.PASSED:
                return None
            return compare(failing, found.path, self.setting.paths, name)

        yield from self.near.search(limits, compared, partial(self.near.report, len(failing)), self.problems)


def not_passing(test: str) -> Problem:
    """Say that a test was not compared, as it does not pass."""
    cause = f"{test} does not pass when it runs alone, so it was not compared"
    return Problem("", "", cause, "record the tests again")


def nearest_tests(spectrum: Spectrum, test: str) -> list[str]:
    """Put passing tests in the order in which they are compared with a failing one.

    The names of all passing tests: those first that execute nearly what the failing one does, and of tests that execute
    the same statements `MAX_ALIKE` before all others.
    """
    executed = np.zeros(len(spectrum.elements), bool)
    executed[spectrum.rows[spectrum.test_index[test]]] = True
    alike: Counter[bytes] = Counter()
    first: list[str] = []
    rest: list[str] = []
    for row in nearest_first(spectrum, executed):
        statements = spectrum.rows[row].tobytes()
        # many tests that execute the same would take the turns of those that execute something else
        (first if alike[statements] < MAX_ALIKE else rest).append(spectrum.tests[row])
        alike[statements] += 1
    return first + rest


def compare(failing: Path, passing: Path, paths: Places, test: str) -> NearPath:
    """Compare the path of a failing run with that of a passing one."""
    counterpart = failing.aligned(passing)
    first, apart = parting(failing, passing), distance(failing, passing)

    def difference(position: int) -> ReportedPlace:
        other = int(counterpart[position])
        if other >= 0:
            return paths.reported(failing, position, truth(int(passing.outcome[other])))
        place = paths.reported(failing, position, None)
        ended = place.kind == "for" and place.outcome and is_reached(position)
        return place._replace(wanted=False) if ended else place

    def is_reached(position: int) -> bool:
        """Whether what an event depends on came out the same: the end of a `for` in Python is no event of its own."""
        reason = int(failing.depends_on[position])
        there = -1 if reason < 0 else int(counterpart[reason])
        return reason < 0 or (there >= 0 and bool(passing.outcome[there] == failing.outcome[reason]))

    parts = None if first is None or first.position == len(failing) else difference(first.position)
    # what the passing test does behind the point at which the failing one ended is no difference
    behind = len(passing) - 1 - int(counterpart.max(initial=-1))
    return NearPath(
        test,
        differing_events(failing, passing) - behind,
        int(np.count_nonzero(counterpart >= 0)),
        len(failing) if first is None else first.position,
        parts,
        tuple(map(difference, apart.branches)),
        apart.nearness,
        behind,
    )


def _in_words(events: int) -> str:
    return "1 decision or call" if events == 1 else f"{events:,} decisions and calls"
