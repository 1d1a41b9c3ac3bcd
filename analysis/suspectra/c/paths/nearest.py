"""The passing test of a compiled program whose path is nearest to that of a failing one."""

from __future__ import annotations

import shlex
from collections.abc import Generator
from dataclasses import replace

from suspectra.c.paths.flow import Flow
from suspectra.c.paths.searching import CPathSearcher, CPathSetting
from suspectra.evidence.evidence import Verdict
from suspectra.paths.report import PathReport
from suspectra.paths.searches.nearest_path import NearPath, NearPaths, compare
from suspectra.paths.searches.search import PathSearchLimits


class CNearestPath(CPathSearcher):
    """Compares the path of a failing test with those of passing ones."""

    def __init__(self, setting: CPathSetting):
        super().__init__(setting)
        known = set(setting.tests.names)
        passing = [name for name in setting.passing if name in known]
        values_by = f"suspectra investigate {shlex.quote(setting.test)} {setting.build} --technique value-predicates"
        self.near = NearPaths(setting.test, passing, setting.options.order, values_by)  # the tests that were compared

    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Compare one passing test after the other."""
        program = self.setting.tests.program
        failing = self.failing_run().run.in_common(program)

        def compared(name: str) -> NearPath | None:
            found = self.setting.tests.run(name, limits.end)
            if found.verdict is not Verdict.PASSED:
                return None
            passing = found.run.in_common(program)
            flow = Flow(program, [failing, passing])
            return compare(flow.path(failing, self.left_out), flow.path(passing, self.left_out), program, name)

        yield from self.near.search(limits, compared, self._report, self.problems)

    def _report(self, pending: int, left: int) -> PathReport:
        report = self.near.report(self.events, pending, left)
        return replace(report, notes=(*report.notes, *self.notes()))
