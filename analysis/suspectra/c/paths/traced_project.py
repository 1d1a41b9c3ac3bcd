"""A CMake project whose tests are run by programs that record their paths."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from suspectra.base.cancellation import Token
from suspectra.base.operating_system import ELSEWHERE, LIMITS, require
from suspectra.c.paths.traced_build import TracedBuild
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.c.recording.suites import ctest_suite
from suspectra.c.recording.test_programs import divided
from suspectra.evidence.source_paths import SourcePaths
from suspectra.processes.scratch import ScratchFolder
from suspectra_recorder.folders import cache_folder


@dataclass
class TracedProject:
    """A workspace with a build folder of CMake, which is not changed: a second build of it records."""

    workspace: Path  # the folder with the sources
    build: Path  # the build folder with the tests

    def __post_init__(self) -> None:
        self.workspace, self.build = (Path(os.path.realpath(path)) for path in (self.workspace, self.build))

    @contextmanager
    def tests(self, token: Token) -> Iterator[TracedTests]:
        """Build it, and provide its tests.

        Raises EvidenceError when it does not build, UsageError on Windows, and Cancelled when the token was cancelled.
        """
        require(LIMITS, "recording paths of compiled programs", ELSEWHERE)
        with ScratchFolder() as scratch:
            cache = Path(cache_folder(str(self.workspace)) or scratch)
            build = TracedBuild(self.build, cache / TracedBuild.name(self.build))
            build.make(token)
            cases = divided(ctest_suite(self.workspace, build.folder), self.workspace).cases
            yield TracedTests(cases, TracedProgram(self.workspace, SourcePaths(self.workspace), token), token)
