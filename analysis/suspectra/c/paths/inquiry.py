"""A search for paths about one failing test of a C or C++ program, from its build to its end."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.operating_system import ELSEWHERE, LIMITS, require
from suspectra.c.paths.searching import CPathSearcher, CPathSetting
from suspectra.c.paths.traced_build import TracedBuild
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.c.recording.suites import ctest_suite
from suspectra.evidence.logs.path_reports import add_report, executed_sources
from suspectra.evidence.source_paths import SourcePaths
from suspectra.paths.report import PathReport
from suspectra.paths.searches.nearest_path import nearest_tests
from suspectra.paths.searches.search import PathOptions, RunningSearch
from suspectra.processes.scratch import ScratchFolder
from suspectra.spectrum import Spectrum
from suspectra_recorder.folders import cache_folder

SEARCHERS = {
    "nearest-path": "suspectra.c.paths.nearest:CNearestPath",
    "apg": "suspectra.c.paths.switching:CSwitching",
}
"""Module and class of each technique that compiled programs have."""


@dataclass
class CPathInquiry(RunningSearch):
    """Asks for a run that passes and goes nearly the way of a failing test of CTest."""

    workspace: Path  # the folder with the sources
    build: Path  # the build folder of CMake with the tests. It is not changed: a second build of it records paths
    test: str  # the test that fails
    spectrum: Spectrum  # which tests execute what
    seconds: float = 30.0  # for the search, once the programs are built
    technique: str = "nearest-path"  # one of `SEARCHERS`
    options: PathOptions = field(default_factory=PathOptions)  # what else the user has chosen
    token: Token = field(default_factory=Token)  # cancel it, from any thread, to stop

    def reports(self) -> Generator[PathReport]:
        """Search until nothing is left to be tried, or the time is up. What was found is kept in the workspace.

        Raises EvidenceError when nothing can be found out about the test, UsageError on Windows, and Cancelled when the
        token was cancelled.
        """
        require(LIMITS, "recording paths of compiled programs", ELSEWHERE)
        if self.technique not in SEARCHERS:
            cause = f"{self.technique} works on tests of Python only"
            cure = f"choose {' or '.join(SEARCHERS)} for tests of C and C++"
            raise EvidenceError(Problem("", "", cause, cure))
        workspace, first = Path(os.path.realpath(self.workspace)), Path(os.path.realpath(self.build))
        sources = executed_sources(workspace, self.spectrum, self.test)
        with ScratchFolder() as scratch:
            build = TracedBuild(first, Path(cache_folder(str(workspace)) or scratch) / TracedBuild.name(first))
            build.make(self.token)
            cases = ctest_suite(workspace, build.folder).cases
            program = TracedProgram(workspace, SourcePaths(workspace), self.token)
            passing = nearest_tests(self.spectrum, self.test)
            tests = TracedTests(cases, program, self.token)
            module, _, name = SEARCHERS[self.technique].partition(":")
            make: type[CPathSearcher] = getattr(import_module(module), name)
            searcher = make(CPathSetting(self.test, tests, passing, self.spectrum, self.options, self.token))
            try:
                with closing(searcher.search(self.begin(self.seconds))) as reports:
                    yield from self.follow(reports)
            finally:
                if self.report.found:
                    add_report(workspace, self.test, self.technique, self.report.lines, sources)
                self.problems = list(dict.fromkeys(searcher.problems))

    def nothing(self) -> PathReport:
        """What is known before the search."""
        return PathReport(self.technique, self.test, (), None, (), 0, False, 0.0)
