"""The passing test of a compiled program whose path is nearest to that of a failing one."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from suspectra.c_paths.flow import Flow
from suspectra.c_paths.searching import CPathSearcher, CPathSetting
from suspectra.evidence.evidence import Verdict
from suspectra.experiments.nearest_path import NearPath, NearPaths, compare
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
        passing = [name for name in setting.passing if name in known]
        self.near = NearPaths(setting.test, passing, setting.options.order)

    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Compare one passing test after the other."""
        failing = self.failing_run()

        def compared(name: str) -> NearPath | None:
            found = self.setting.tests.run(name, limits.end)
            if found.verdict is not Verdict.PASSED:
                return None
            program = self.setting.tests.program
            flow = Flow(program, [failing, found.run])
            return compare(flow.path(failing, self.left_out), flow.path(found.run, self.left_out), program, name)

        yield from self.near.search(limits, compared, self._report, self.problems)

    def _report(self, pending: int, left: int) -> PathReport:
        report = self.near.report(self.events, pending, left)
        return replace(report, notes=(*report.notes, *self.notes()))
