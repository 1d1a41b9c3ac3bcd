"""A search for paths about one recorded test that fails, from its beginning to its end."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from suspectra.evidence.logs.path_reports import executed_sources
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.paths.report import PathReport
from suspectra.paths.searches.executed_lines import LINES, ExecutedLine, executed_lines
from suspectra.paths.searches.nearest_path import nearest_tests
from suspectra.paths.searches.recorded_paths import Paths
from suspectra.paths.searches.search import (
    PathSearchLimits,
    PathSetting,
    SearchInquiry,
    Suspiciousness,
    nothing_known,
)
from suspectra.paths.searches.techniques import TECHNIQUES


@dataclass
class PathInquiry(SearchInquiry):
    """A search about a test of Python, by one of `suspectra.paths.searches.techniques.TECHNIQUES`."""

    setup: RerunSetup
    suspiciousness: Suspiciousness = nothing_known  # of lines, by all tests

    def steps(self) -> Generator[PathReport]:
        """Search until nothing is left to be tried, or the time is up. What was found is kept in the workspace.

        Raises EvidenceError when nothing can be found out about the test, or what was found can't be kept.
        """
        limits = PathSearchLimits(self.begin())
        ask = self.options.ask
        options = replace(self.options, ask=None if ask is None else self.patiently(ask, limits.put_off))
        technique, workspace = TECHNIQUES[self.technique], self.setup.workspace
        executed = executed_sources(workspace, self.spectrum, self.test.name)
        passing = nearest_tests(self.spectrum, self.test.name)
        with self.setup.folder() as folder:
            tests = self.setup.repeated(folder, [self.test], technique.kinds, passing)
            paths = Paths(folder)
            tests.meanwhile = partial(paths.read_ahead, executed)
            setting = PathSetting(self.test, tests, paths, passing, options, workspace, self.suspiciousness)
            searcher = technique.load()(setting)
            with closing(tests):
                try:
                    yield from self.follow(searcher.search(limits))
                finally:
                    if self.report.found:
                        self.keep(workspace, tests.machine(self.test.name).sources or executed)
                    self.note([*tests.notices, *searcher.problems])

    def executed_lines(self, *tests: str) -> list[list[ExecutedLine]]:
        """Run some tests once more, and note the lines that they execute.

        Raises EvidenceError when a test can't be run.
        """
        with (
            self.setup.folder() as folder,
            closing(self.setup.repeated(folder, [self.test], [LINES["kind"]], tests)) as running,
        ):
            return [executed_lines(running.machine(test), test, TRACE_S) for test in tests]
