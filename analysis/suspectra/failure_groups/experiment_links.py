"""What experiments say of failing tests: that they share a fault, or that they do not.

A correction of a fault makes all tests pass that fail because of it, and no others. No experiment is known to be one.
But where each of two tests passes with a change of the program that breaks no test that passed, and with which the
other one still fails, and no alteration makes both pass, they probably have faults of their own. And groups all of
whose tests pass with the same such change are probably one. Two changes of one line part nothing: that line is at
fault. That one of two tests passes says nothing: most alterations that make a test pass at a place that is right
compensate for what this test does there. Nor does a value: each test needs another one, whatever is wrong.

A change counts if tests that passed were run with it, and pass, and if it leaves out no check that raises, without
which tests pass whatever is wrong. Nobody runs a test with a change of what it does not execute: it still fails.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome

Executing: TypeAlias = Callable[[str, int, int], Bools]
"""Which failing tests execute lines, from one to another, of a file."""


@dataclass(frozen=True)
class AlteredRuns:
    """How the failing tests end with one alteration."""

    first: Experiment  # one of the experiments
    passing: tuple[int, ...]  # the failing tests that pass with it, by index
    failing: tuple[int, ...]  # those that still fail, as do those that do not execute what a confirmed one changes
    # whether it is a change of the program that leaves out no check, and with which tests that passed still pass
    confirmed: bool

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
    def from_experiments(
        cls, made: Iterable[Experiment], tests: Sequence[str], executing: Executing | None = None
    ) -> ExperimentLinks:
        """Compare what the same alterations do to several failing tests."""
        index = {test: number for number, test in enumerate(tests)}
        by_alteration: dict[tuple[object, ...], list[Experiment]] = defaultdict(list)
        for one in made:
            if one.instance == EVERY and one.outcome is not ExperimentOutcome.NOT_REACHED:
                by_alteration[one.key[1:]].append(one)
        altered = (_altered_runs(own, index, executing) for own in by_alteration.values())
        return cls(tuple(tests), tuple(one for one in altered if one.passing))

    def apart(self) -> Bools:
        """Whether two tests probably have faults of their own; shape (tests, tests)."""
        passes, fails = self._table("passing"), self._table("failing")
        confirmed = np.array([one.confirmed for one in self.altered], bool)
        both = passes[np.array([not one.first.guard for one in self.altered], bool)]
        one: Bools = passes[confirmed].T @ fails[confirmed] > 0
        neither: Bools = both.T @ both == 0
        places: dict[tuple[str, int], Ints] = defaultdict(lambda: np.zeros(len(self.tests), np.int64))
        for run in self.altered:
            if run.confirmed:
                places[run.first.file, run.first.line][list(run.passing)] = 1
        repaired = np.array([*places.values()], np.int64).reshape(-1, len(self.tests))
        elsewhere: Bools = repaired.T @ repaired == 0
        return one & one.T & neither & elsewhere

    def joining(self) -> list[frozenset[int]]:
        """Tests, by index, that pass with a change of the program that breaks none: two or more for each change."""
        return [frozenset(one.passing) for one in self.altered if one.confirmed and len(one.passing) > 1]

    def why(self, tests: Sequence[str]) -> str:
        """Say which alteration shows that these tests belong together, or apart from others; empty if none does."""
        own = frozenset(number for number, test in enumerate(self.tests) if test in set(tests))
        mine = np.isin(np.arange(len(self.tests)), list(own))
        parted = np.argwhere(self.apart() & mine[:, None] & ~mine[None, :]).tolist()
        if not parted:
            joined = next((run for run in self.altered if run.confirmed and own.issubset(run.passing)), None)
            return f"{_all(len(own))} pass {joined.place()}." if joined and len(own) > 1 else ""
        runs = [run for run in self.altered if run.confirmed]
        found = ((run, pair) for pair in parted for run in runs if pair[0] in run.passing and pair[1] in run.failing)
        run, (one, other) = max(found, key=lambda pair: len(own.intersection(pair[0].passing)))
        every = len(own) > 1 and own.issubset(run.passing)
        who = f"{_all(len(own))} pass" if every else f"{self.tests[one]} passes"
        return f"{who} {run.place()}, and {self.tests[other]}, of another group, does not."

    def _table(self, ended: str) -> Ints:
        """Which tests passed or failed with each alteration, as numbers; shape (alterations, tests)."""
        table = np.zeros((len(self.altered), len(self.tests)), np.int64)
        for row, one in enumerate(self.altered):
            table[row, list(one.passing if ended == "passing" else one.failing)] = 1
        return table


def _all(count: int) -> str:
    return "Both" if count == 2 else f"All {count}"


def _altered_runs(own: Sequence[Experiment], index: dict[str, int], executing: Executing | None) -> AlteredRuns:
    """The runs with one alteration."""
    passing = sorted({index[one.test] for one in own if one.test in index and one.outcome.repairs})
    failing = {index[one.test] for one in own if one.test in index and not one.outcome.repairs}
    others = [one.outcome.repairs for one in own if one.test not in index]
    confirmed = bool(others) and all(others) and not own[0].guard and own[0].kind == "mutant"
    if confirmed and passing and executing is not None:
        executes = executing(own[0].file, own[0].line, own[0].end_line)
        # where a test that passes does not execute the change by its coverage, that says nothing of others either
        if executes[passing].all():
            failing.update(np.flatnonzero(~executes).tolist())
    return AlteredRuns(own[0], tuple(passing), tuple(sorted(failing)), confirmed)
