"""Cause transitions between a failing run and the same test with an input with which it passes."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from suspectra.experiments.repeated_test import TRACE_S
from suspectra.paths.inputs.search import InputSearch
from suspectra.paths.report import PathReport
from suspectra.paths.searches.cause_transitions import CauseTransitions
from suspectra.paths.searches.recorded_statements import GivenInput
from suspectra.paths.searches.search import PathSearchLimits
from suspectra.paths.searches.state_pair import Side

UNSEEN = "The test does not end with this input as it did before, when its states are looked at."


class InputTransitions(CauseTransitions):
    """Looks for the cause transitions between a failing run and one with another input."""

    technique = "cause-transitions-inputs"

    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Find an input with which the test passes, as `InputSearch` does, and compare the states of both runs.

        Raises EvidenceError when the solver is missing, nothing in the input can be changed, or nobody knows what is
        right for others.
        """
        inputs = InputSearch(self.setting)
        for report in inputs.search(limits):
            yield replace(report, technique=self.technique, report=(), distance=(), parts=None, complete=False)
        self.notes += report.notes
        if inputs.failing is None or inputs.found is None:
            yield replace(report, technique=self.technique)
            return
        name, found = self.setting.test.name, inputs.found
        self.notes.insert(0, report.summary)
        machine = self.setting.tests.machine(name)
        given, other = (GivenInput(machine, inputs.job(run)) for run in (inputs.failing, found))
        failing = Side.for_test(given, name, self._failing_states(given))
        run = self.statements.record(other, name, TRACE_S)
        if run.answer.outcome is not found.answer.outcome:
            yield replace(report, technique=self.technique, notes=(*self.notes, UNSEEN))
            return
        passing = Side(f"{name} with {found.in_words}", found.in_words, other, name, run)
        is_last = yield from self._compare(failing, passing, limits.end)
        if not is_last:
            yield replace(report, technique=self.technique, report=(), notes=tuple(self.notes))
