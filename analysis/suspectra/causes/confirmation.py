"""Which of the states that can make a test pass is at fault: a change of its statement tells.

Where a program computes, almost any state before the fault has another value with which the test passes. A change of
its statement has to suit all times that it is executed, also those in passing tests, so much less of what is right has
one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace

import numpy as np

from suspectra.base.errors import EvidenceError
from suspectra.causes.report import CauseState, ConfirmingChange
from suspectra.experiments.inquiry import RerunSetup, SuspicionSource
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.fixes.diff import difference, shown_lines
from suspectra.fixes.fix import WITH_CHANGE, Fix, fix_in_words, in_order
from suspectra.fixes.search import FixInquiry
from suspectra.runs.experiment import Experiment
from suspectra.spectrum import Spectrum

SECONDS, SHARE = 5.0, 0.2
"""For trying changes, at most, and the share of the time of a search that this may be."""

_MAX_OTHERS = 9
"""Failing tests that are asked besides that which is searched."""


class _StatesAlone(SuspicionSource):
    """Suspicion of the statements of some states, and of no others."""

    def __init__(self, suspects: SuspicionSource, states: Iterable[CauseState]):
        self._suspects, self._states = suspects, tuple(states)
        self.groups = suspects.groups

    def at(self, group: int, file: str, line: int) -> float:
        return self._suspects.at(group, file, line)

    def turn(self, group: int, file: str, line: int) -> int:
        return self._suspects.turn(group, file, line)

    def spectrum(self, group: int) -> Spectrum:
        spectrum = self._suspects.spectrum(group)
        elements = spectrum.elements
        chosen = np.zeros(len(elements), bool)
        for state in self._states:
            inside = elements.in_file(state.file)
            here = elements.line[inside]
            chosen[inside] |= (here >= state.line) & (here <= state.end_line)
        return replace(spectrum, candidates=spectrum.candidates & chosen)

    def needed(self, group: int) -> Mapping[tuple[str, int], Sequence[str]]:
        return self._suspects.needed(group)

    def lines_at_import(self, file: str) -> Collection[int]:
        return self._suspects.lines_at_import(file)

    def seconds(self, test: str) -> float:
        return self._suspects.seconds(test)

    @property
    def digests(self) -> Mapping[str, str | None]:
        return self._suspects.digests

    def read(self, file: str) -> bytes | None:
        return self._suspects.read(file)

    def update(self, made: Sequence[Experiment]) -> None:
        self._suspects.update(made)


def confirming_change(
    setup: RerunSetup, test: FailingTest, suspects: SuspicionSource, states: Iterable[CauseState], seconds: float
) -> ConfirmingChange | None:
    """The likeliest change of the statement of one of some states with which the test and all others pass.

    The others are the failing tests of its failure group, and the passing ones that execute the change. Nothing where
    only values make the test pass, or only what may hide the failure.
    """
    tests = [test, *suspects.failing_with(test.name)[:_MAX_OTHERS]]
    inquiry = FixInquiry(setup, tests, _StatesAlone(suspects, states), seconds=seconds)
    found: list[Fix] = []
    with suppress(EvidenceError), closing(inquiry.steps()) as steps:
        found.extend(steps)
    suits = (one for one in in_order(found) if not one.hides and not one.is_narrow and len(one.repaired) == len(tests))
    fix = next(suits, None)
    if fix is None:
        return None
    diff = difference(fix.candidates, suspects.read)
    said = fix_in_words(fix, len(tests), WITH_CHANGE)
    return ConfirmingChange(fix.file, fix.line, fix.end_line, said, shown_lines(diff), diff)
