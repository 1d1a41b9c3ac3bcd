"""A search for paths about one failing test of a C or C++ program, from its build to its end."""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

from suspectra.base.cancellation import current_token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.operating_system import ELSEWHERE, LIMITS, require
from suspectra.c.paths.searching import CPathSearcher, CPathSetting
from suspectra.c.paths.traced_build import TracedBuild
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.c.recording.suites import ctest_suite
from suspectra.c.recording.test_programs import divided
from suspectra.evidence.logs.path_reports import executed_sources
from suspectra.evidence.source_paths import SourcePaths
from suspectra.paths.report import PathReport
from suspectra.paths.searches.nearest_path import nearest_tests
from suspectra.paths.searches.search import PathSearchLimits, SearchInquiry
from suspectra.processes.scratch import ScratchFolder
from suspectra_recorder.folders import cache_folder

SEARCHERS = {
    "nearest-path": "suspectra.c.paths.nearest:CNearestPath",
    "apg": "suspectra.c.paths.switching:CSwitching",
}
"""Module and class of each technique that compiled programs have."""


@dataclass
class CPathInquiry(SearchInquiry):
    """A search about a test of CTest, by one of `SEARCHERS`. The time counts once the programs are built."""

    workspace: Path  # the folder with the sources
    build: Path  # the build folder of CMake with the tests. It is not changed: a second build of it records paths

    def steps(self) -> Generator[PathReport]:
        """Search until nothing is left to be tried, or the time is up. What was found is kept in the workspace.

        Raises EvidenceError when nothing can be found out about the test, UsageError on Windows, and Cancelled when the
        current work was cancelled.
        """
        require(LIMITS, "recording paths of compiled programs", ELSEWHERE)
        if self.technique not in SEARCHERS:
            cause = f"{self.technique} works on tests of Python only"
            cure = f"choose {' or '.join(SEARCHERS)} for tests of C and C++"
            raise EvidenceError(Problem("", "", cause, cure))
        token = current_token()
        workspace, first = Path(os.path.realpath(self.workspace)), Path(os.path.realpath(self.build))
        sources = executed_sources(workspace, self.spectrum, self.test.name)
        with ScratchFolder() as scratch:
            build = TracedBuild(first, Path(cache_folder(str(workspace)) or scratch) / TracedBuild.name(first))
            build.make(token)
            cases = divided(ctest_suite(workspace, build.folder), workspace).cases
            program = TracedProgram(workspace, SourcePaths(workspace), token)
            passing = nearest_tests(self.spectrum, self.test.name)
            tests = TracedTests(cases, program, token)
            make: type[CPathSearcher] = resolve_name(SEARCHERS[self.technique])
            searcher = make(CPathSetting(self.test.name, tests, passing, self.spectrum, self.options, token))
            try:
                yield from self.follow(searcher.search(PathSearchLimits(self.begin())))
            finally:
                if self.report.found:
                    self.keep(workspace, sources)
                self.note(searcher.problems)
