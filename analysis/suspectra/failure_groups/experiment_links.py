"""What experiments say of failing tests: that they share a fault, or that they do not.

A correction of a fault makes all tests pass that fail because of it, and no others. No experiment is known to be one. But
where each of two tests passes with an alteration with which the other one still fails, and no alteration makes both pass,
they probably have faults of their own. And groups all of whose tests pass with the same change of the program, which
breaks none that passed, are probably one. That one of two tests passes says nothing: most alterations that make a test
pass at a place that is right compensate for what this test does there.

An alteration counts if it is the same for all tests: a change of the program, or a decision or a value that is altered
each time. What breaks a passing test puts nothing together, nor does leaving out a check that raises, with which tests
pass whatever is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome


@dataclass(frozen=True)
class AlteredRuns:
    """How the failing tests end with one alteration."""

    first: Experiment  # one of the experiments
    passing: tuple[int, ...]  # the failing tests that pass with it, by index
    failing: tuple[int, ...]  # those that still fail
    harmless: bool  # whether it breaks no test that passed before, as far as that was tried, and leaves out no check
    confirmed: bool  # whether it is a change of the program with which tests that passed were run, and pass

    def place(self) -> str:
        """What was altered, and where, to say after "passes"."""
        name = self.first.file.rpartition("/")[2]
        return f"{self.first.condition} in {name}:{self.first.line}"


@dataclass(frozen=True)
class ExperimentLinks:
    """What experiments say of the failing tests of a run."""

    tests: tuple[str, ...]  # the failing tests, by name
    altered: tuple[AlteredRuns, ...]  # by alteration, those with which a failing test passes

    @classmethod
    def from_experiments(cls, made: Iterable[Experiment], tests: Sequence[str]) -> ExperimentLinks:
        """Compare what the same alterations do to several failing tests."""
        index = {test: number for number, test in enumerate(tests)}
        by_alteration: dict[tuple[object, ...], list[Experiment]] = defaultdict(list)
        for one in made:
            if one.instance == EVERY and one.outcome is not ExperimentOutcome.NOT_REACHED:
                by_alteration[one.key[1:]].append(one)
        altered = (_altered_runs(own, index) for own in by_alteration.values())
        return cls(tuple(tests), tuple(one for one in altered if one.passing))

    def apart(self) -> Bools:
        """Whether two tests probably have faults of their own; shape (tests, tests)."""
        passes, fails = self._table("passing"), self._table("failing")
        harmless = passes[[one.harmless for one in self.altered]]
        parted = passes.T @ fails > 0
        return parted & parted.T & (harmless.T @ harmless == 0)

    def joining(self) -> list[frozenset[int]]:
        """Tests, by index, that pass with a change of the program that breaks none: two or more for each change."""
        return [frozenset(one.passing) for one in self.altered if one.confirmed and len(one.passing) > 1]

    def why(self, tests: Sequence[str]) -> str:
        """Say which alterations show that these tests belong together, and apart from others; empty if none does."""
        return " ".join(filter(None, (self.why_together(tests), self.why_apart(tests))))

    def why_together(self, tests: Sequence[str]) -> str:
        """Say which change makes all of these tests pass; empty where none is known."""
        wanted = {number for number, test in enumerate(self.tests) if test in set(tests)}
        found = next((one for one in self.altered if one.confirmed and wanted <= set(one.passing)), None)
        if found is None or len(wanted) < 2:
            return ""
        return f"{'Both' if len(wanted) == 2 else f'All {len(wanted)}'} pass {found.place()}."

    def why_apart(self, tests: Sequence[str]) -> str:
        """Say what makes one of these tests pass and not one that is no part of them; empty where that parts nothing."""
        own = np.array([test in set(tests) for test in self.tests], bool)
        parted = np.argwhere(self.apart() & own[:, None] & ~own[None, :]).tolist()
        for one, other in parted[:1]:
            found = next(run for run in self.altered if one in run.passing and other in run.failing)
            return f"{self.tests[one]} passes {found.place()}, and {self.tests[other]}, of another group, does not."
        return ""

    def _table(self, ended: str) -> Ints:
        """Which tests passed or failed with each alteration, as numbers; shape (alterations, tests)."""
        table = np.zeros((len(self.altered), len(self.tests)), np.int64)
        for row, one in enumerate(self.altered):
            table[row, list(one.passing if ended == "passing" else one.failing)] = 1
        return table


def _altered_runs(own: Sequence[Experiment], index: dict[str, int]) -> AlteredRuns:
    """The runs with one alteration."""
    passing = sorted({index[one.test] for one in own if one.test in index and one.outcome.repairs})
    failing = sorted({index[one.test] for one in own if one.test in index and not one.outcome.repairs})
    others = [one.outcome.repairs for one in own if one.test not in index]
    harmless = all(others) and not own[0].guard
    confirmed = harmless and bool(others) and own[0].kind == "mutant"
    return AlteredRuns(own[0], tuple(passing), tuple(failing), harmless, confirmed)
