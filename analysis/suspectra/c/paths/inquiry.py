"""A search for paths about one failing test of a C or C++ program, from its build to its end."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

from suspectra.base.cancellation import current_token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.paths.searching import CPathSearcher, CPathSetting
from suspectra.c.paths.traced_project import TracedProject
from suspectra.evidence.logs.path_reports import executed_sources
from suspectra.paths.report import PathReport
from suspectra.paths.searches.nearest_path import nearest_tests
from suspectra.paths.searches.search import PathSearchLimits, SearchInquiry

SEARCHERS = {
    "nearest-path": "suspectra.c.paths.nearest:CNearestPath",
    "apg": "suspectra.c.paths.switching:CSwitching",
}
"""Module and class of each technique that compiled programs have."""


@dataclass
class CPathInquiry(SearchInquiry):
    """A search about a test of C or C++, by one of `SEARCHERS`. The time counts once the programs are built."""

    workspace: Path  # the folder with the sources
    build: Path  # the build with the tests, as `TracedProject` has it. It is not changed: a second one records paths

    def steps(self) -> Generator[PathReport]:
        """Search until nothing is left to be tried, or the time is up. What was found is kept in the workspace.

        Raises EvidenceError when nothing can be found out about the test, UsageError on Windows, and Cancelled when the
        current work was cancelled.
        """
        if self.technique not in SEARCHERS:
            cause = f"{self.technique} works on tests of Python only"
            cure = f"choose {' or '.join(SEARCHERS)} for tests of C and C++"
            raise EvidenceError(Problem("", "", cause, cure))
        token = current_token()
        project = TracedProject(self.workspace, self.build)
        sources = executed_sources(project.workspace, self.spectrum, self.test.name)
        with project.tests(token) as tests:
            passing = nearest_tests(self.spectrum, self.test.name)
            make: type[CPathSearcher] = resolve_name(SEARCHERS[self.technique])
            searcher = make(
                CPathSetting(self.test.name, tests, passing, self.spectrum, self.options, token, project.named)
            )
            try:
                yield from self.follow(searcher.search(PathSearchLimits(self.begin())))
            finally:
                if self.report.found:
                    self.keep(project.workspace, sources)
                self.note(searcher.problems)
