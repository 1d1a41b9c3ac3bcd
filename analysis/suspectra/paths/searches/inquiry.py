"""A search for paths about one recorded test that fails, from its beginning to its end."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from suspectra.evidence.logs.path_reports import add_report, executed_sources
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.experiments.safety import Safety
from suspectra.paths.report import PathReport
from suspectra.paths.searches.executed_lines import LINES, ExecutedLine, executed_lines
from suspectra.paths.searches.nearest_path import nearest_tests
from suspectra.paths.searches.recorded_paths import Paths
from suspectra.paths.searches.search import (
    PathOptions,
    PathSetting,
    RunningSearch,
    Suspiciousness,
    nothing_known,
)
from suspectra.paths.searches.techniques import DEFAULT, TECHNIQUES
from suspectra.spectrum import Spectrum


@dataclass
class PathInquiry(RunningSearch):
    """Asks for a run that passes and goes nearly the way of a failing test, within some time."""

    workspace: Path  # the folder
    command: Sequence[str]  # what runs pytest: program and arguments, without tests
    test: FailingTest  # the test that fails
    spectrum: Spectrum  # which tests execute what
    seconds: float = 30.0  # for the whole
    technique: str = DEFAULT  # a name of `suspectra.paths.searches.techniques.TECHNIQUES`
    options: PathOptions = field(default_factory=PathOptions)  # what else the user has chosen
    safety: Safety = field(default_factory=Safety)  # which tests run, and where
    suspiciousness: Suspiciousness = nothing_known  # of lines, by all tests

    def reports(self) -> Generator[PathReport]:
        """Search until nothing is left to be tried, or the time is up. What was found is kept in the workspace.

        Raises EvidenceError when nothing can be found out about the test, or what was found can't be kept.
        """
        limits = self.begin(self.seconds)
        options = replace(self.options, ask=self.asking(self.options.ask, limits))
        technique = TECHNIQUES[self.technique]
        workspace = Path(os.path.realpath(self.workspace))
        executed = executed_sources(workspace, self.spectrum, self.test.name)
        passing = nearest_tests(self.spectrum, self.test.name)
        with self.safety.folder(workspace) as folder:
            tests = RepeatedTests(
                self.command, folder, [self.test], technique.kinds, passing, self.safety.excluded, workspace
            )
            paths = Paths(folder)
            tests.meanwhile = partial(paths.read_ahead, executed)
            setting = PathSetting(self.test, tests, paths, passing, options, workspace, self.suspiciousness)
            searcher = technique.load()(setting)
            with closing(tests):
                try:
                    with closing(searcher.search(limits)) as reports:
                        yield from self.follow(reports)
                finally:
                    if self.report.found:
                        sources = tests.machine(self.test.name).sources or executed
                        add_report(workspace, self.test.name, self.technique, self.report.lines, sources)
                    self.problems = list(dict.fromkeys([*tests.notices, *searcher.problems]))

    def executed_lines(self, *tests: str) -> list[list[ExecutedLine]]:
        """Run some tests once more, and note the lines that they execute.

        Raises EvidenceError when a test can't be run.
        """
        workspace = Path(os.path.realpath(self.workspace))
        with self.safety.folder(workspace) as folder:
            kinds, excluded = (LINES["kind"],), self.safety.excluded
            running = RepeatedTests(self.command, folder, [self.test], kinds, tests, excluded, workspace)
            with closing(running):
                return [executed_lines(running.machine(test), test, TRACE_S) for test in tests]

    def nothing(self) -> PathReport:
        """What is known before the search."""
        return PathReport(self.technique, self.test.name, (), None, (), 0, False, 0.0)
