"""The search for a shift: the difference of a value with which one test passes is tried with the other tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from suspectra.base.deadline import TimeIsUp
from suspectra.base.errors import EvidenceError
from suspectra.causes.inquiry import noted_values
from suspectra.experiments.alterations.replacing import NotedValues
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.log import ExperimentLog
from suspectra.experiments.repeated_test import TRACE_S, RepeatedTest
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.runs.experiment import SHIFT, Experiment
from suspectra.why.shifts import NeededDifference, differences, in_words, shifted

_MAX_DIFFERENCES = 3  # of a statement that are tried
_MAX_TESTS = 6  # whose values are compared


class ShiftSearch:
    """Failing tests that run with shifted values."""

    def __init__(self, setup: RerunSetup, tests: Sequence[FailingTest], end: float):
        self._setup, self._tests, self._end = setup, tests, end
        self._stack = ExitStack()
        self._own: RepeatedTests | None = None
        self._noted: Mapping[str, NotedValues] | None = None
        self._tried: set[tuple[str, int, NeededDifference]] = set()
        self._possible = 1 < len(tests) <= _MAX_TESTS

    def common(self, found: Sequence[Experiment], repeated: RepeatedTests | None = None) -> bool:
        """Whether all tests pass with one difference at a statement; those that are not known to are run with it.

        It is kept with the experiments, so that it counts in each ranking.

        `found` are experiments with other values at the statement, each with a test that passes then. Processes that
        have collected the tests already may be given.
        """
        if not self._possible:
            return False
        try:
            tests = repeated or self._started()
            if self._noted is None:
                self._noted = {test.name: noted_values(tests[test.name], test.name, TRACE_S) for test in self._tests}
            return self._common(found, self._noted, tests)
        except EvidenceError:
            self._possible = False  # one of the tests can't be run again
        except TimeIsUp:
            self._possible = repeated is not None  # the time of these processes ends before that of the search
        return False

    def _started(self) -> RepeatedTests:
        if self._own is None:
            folder = self._stack.enter_context(self._setup.folder())
            self._own = self._setup.repeated(folder, self._tests, ("values", "value"))
            self._stack.callback(self._own.close)
        return self._own

    def _common(self, found: Sequence[Experiment], noted: Mapping[str, NotedValues], tests: RepeatedTests) -> bool:
        known = {(one.test, wanted): one for one in found for wanted in differences(one, noted[one.test])}
        each = list(dict.fromkeys(wanted for _, wanted in known))
        for wanted in sorted(each, key=lambda one: len(str(one.by)))[:_MAX_DIFFERENCES]:
            first = next(one for (_, other), one in known.items() if other == wanted)
            key = first.file, first.line, wanted
            if key in self._tried:
                continue
            fits = all(
                (name, wanted) in known or self._passes(tests[name], first, wanted, noted[name]) for name in noted
            )
            self._tried.add(key)
            if fits:
                self._keep(replace(first, kind=SHIFT, detail=in_words(wanted.by)), tests)
                return True
        return False

    def _keep(self, shifted: Experiment, tests: RepeatedTests) -> None:
        with ExperimentLog(self._setup.workspace) as log:
            for test in self._tests:
                log.add(replace(shifted, test=test.name), tests[test.name].trace.sources)

    def _passes(self, test: RepeatedTest, first: Experiment, wanted: NeededDifference, noted: NotedValues) -> bool:
        """Whether a test passes with a difference that another one has passed with."""
        replacement = shifted(first, wanted, noted)
        if replacement is None:
            return False
        made = list(test.experiments([replacement], self._end, ()))
        with ExperimentLog(self._setup.workspace) as log:
            for experiment in made:
                log.add(experiment, test.trace.sources)
        return any(experiment.outcome.repairs for experiment in made)

    def close(self) -> None:
        """End all processes."""
        self._stack.close()
