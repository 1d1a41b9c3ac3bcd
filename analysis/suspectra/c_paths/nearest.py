"""The passing test of a compiled program whose path is nearest to that of a failing one."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from suspectra.c_paths.flow import Flow
from suspectra.c_paths.searching import CPathSearcher, CPathSetting
from suspectra.c_paths.traced_run import TracedRun
from suspectra.errors import EvidenceError
from suspectra.evidence.evidence import Verdict
from suspectra.experiments.deadline import TimeIsUp
from suspectra.experiments.nearest_path import MAX_PASSING, NearPath, NearPaths, compare, not_passing
from suspectra.experiments.path_searching import PathSearchLimits
from suspectra.paths.report import PathReport


class CNearestPath(CPathSearcher):
    """Compares the path of a failing test with those of passing ones.

    Parameters
    ----------
    setting : CPathSetting
        What the search is about.

    Attributes
    ----------
    near : NearPaths
        The tests that were compared.

    Examples
    --------
    >>> from suspectra.c_paths.traced_program import TracedProgram
    >>> from suspectra.c_paths.traced_tests import TracedTests
    >>> from suspectra.cancellation import Token
    >>> from suspectra.experiments.path_searching import PathOptions
    >>> from suspectra.spectrum import Spectrum
    >>> tests = TracedTests([], TracedProgram(folder), Token())
    >>> spectrum = Spectrum.from_matrix([[1], [1]], failed=[True, False])
    >>> searcher = CNearestPath(CPathSetting("t1", tests, ["t2"], spectrum, PathOptions(), Token()))
    >>> list(searcher.search(PathSearchLimits(0.0)))
    Traceback (most recent call last):
    suspectra.errors.EvidenceError: t1: the build has no such test. Fix: …
    """

    def __init__(self, setting: CPathSetting):
        super().__init__(setting)
        known = set(setting.tests.names)
        self._passing = tuple(name for name in setting.passing if name in known)
        self.near = NearPaths(setting.test, self._passing, setting.options.order)

    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Compare one passing test after the other, `MAX_PASSING` unless another limit is set."""
        failing = self.failing_run()
        chosen = self._passing[: limits.candidates or MAX_PASSING]
        left = len(self._passing) - len(chosen)
        for done, name in enumerate(chosen):
            yield self._report(len(chosen) - done, left)
            if limits.over:
                return
            try:
                found = self.setting.tests.run(name, limits.end)
            except TimeIsUp:
                return
            except EvidenceError as error:
                self.problems.append(error.problem)
                continue
            if found.verdict is Verdict.PASSED:
                self.near.compared.append(self._compared(failing, found.run, name))
            else:
                self.problems.append(not_passing(name))
        yield self._report(0, left)

    def _compared(self, failing: TracedRun, passing: TracedRun, name: str) -> NearPath:
        program = self.setting.tests.program
        flow = Flow(program, [failing, passing])
        return compare(flow.path(failing, self.left_out), flow.path(passing, self.left_out), program, name)

    def _report(self, pending: int, left: int) -> PathReport:
        report = self.near.report(self.events, pending, left)
        return replace(report, notes=(*report.notes, *self.notes()))
