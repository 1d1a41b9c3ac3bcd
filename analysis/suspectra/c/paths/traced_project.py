"""A project whose tests are run by programs that record their paths."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from suspectra.base.cancellation import Token
from suspectra.base.operating_system import ELSEWHERE, LIMITS, require
from suspectra.c.build_kind import BuildKind, option_of
from suspectra.c.paths.traced_build import PATHS, Recording, TracedBuild
from suspectra.c.paths.traced_cmake import TracedCMakeBuild
from suspectra.c.paths.traced_make import TracedAutomakeBuild, TracedMakeBuild, TracedMesonBuild
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.evidence.source_paths import SourcePaths
from suspectra.processes.scratch import ScratchFolder
from suspectra_recorder.folders import cache_folder

_BUILDS: dict[BuildKind, type[TracedBuild]] = {
    BuildKind.CMAKE: TracedCMakeBuild,
    BuildKind.MESON: TracedMesonBuild,
    BuildKind.AUTOMAKE: TracedAutomakeBuild,
}


@dataclass
class TracedProject:
    """A workspace with a build, which is not changed: a second build records."""

    workspace: Path  # the folder with the sources
    build: Path  # the folder of CMake, Meson or automake with the tests; of plain make a file with their commands
    recording: Recording = PATHS  # what the second build records
    folder: Path | None = None  # where the second build is; in the user's cache unless given
    targets: tuple[str, ...] = ()  # what of it is built; all by default

    def __post_init__(self) -> None:
        self.workspace, self.build = (Path(os.path.realpath(path)) for path in (self.workspace, self.build))

    @contextmanager
    def tests(self, token: Token, end: float = math.inf) -> Iterator[TracedTests]:
        """Build it, and provide its tests.

        Raises EvidenceError when it does not build, UsageError on Windows, Cancelled when the token was cancelled, and
        TimeIsUp when it was not built by then.
        """
        require(LIMITS, "recording paths of compiled programs", ELSEWHERE)
        with ScratchFolder() as scratch:
            cache = self.folder or Path(cache_folder(str(self.workspace)) or scratch)
            folder, kind = cache / TracedBuild.name(self.build), BuildKind.for_build(self.build)
            build = (
                TracedMakeBuild(self.workspace, folder, self.build, self.recording)
                if kind is BuildKind.MAKE
                else _BUILDS[kind](self.build, folder, recording=self.recording)
            )
            build.end, build.targets = end, self.targets
            build.make(token)
            cases = build.suite(self.workspace).cases
            yield TracedTests(cases, TracedProgram(self.workspace, SourcePaths(self.workspace), token), token)

    @property
    def named(self) -> str:
        """The option of commands that names the build."""
        return option_of(self.build, self.workspace)
