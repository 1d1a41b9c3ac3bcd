"""A project whose tests are run by programs that record their paths."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.operating_system import ELSEWHERE, LIMITS, require
from suspectra.c.paths.traced_build import TracedBuild
from suspectra.c.paths.traced_cmake import TracedCMakeBuild
from suspectra.c.paths.traced_make import TracedAutomakeBuild, TracedMakeBuild, TracedMesonBuild
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.evidence.source_paths import SourcePaths
from suspectra.processes.scratch import ScratchFolder
from suspectra_recorder.folders import cache_folder

_BUILDS: tuple[type[TracedBuild], ...] = (TracedCMakeBuild, TracedMesonBuild, TracedAutomakeBuild)


@dataclass
class TracedProject:
    """A workspace with a build, which is not changed: a second build records."""

    workspace: Path  # the folder with the sources
    build: Path  # the folder of CMake, Meson or automake with the tests; of plain make a file with their commands

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
            folder, kind = cache / TracedBuild.name(self.build), self._kind
            build = (
                TracedMakeBuild(self.workspace, folder, self.build)
                if kind is TracedMakeBuild
                else kind(self.build, folder)
            )
            build.make(token)
            cases = build.suite(self.workspace).cases
            yield TracedTests(cases, TracedProgram(self.workspace, SourcePaths(self.workspace), token), token)

    @property
    def named(self) -> str:
        """The option of commands that names the build."""
        place = os.path.relpath(self.build, self.workspace) if self.build.is_relative_to(self.workspace) else self.build
        return f"{self._kind.option} {shlex.quote(str(place))}"

    @property
    def _kind(self) -> type[TracedBuild]:
        if self.build.is_file():
            return TracedMakeBuild
        kind = next((kind for kind in _BUILDS if (self.build / kind.marks).is_file()), None)
        if kind is None:
            cause = "it is not a build folder of CMake, Meson or automake, so its programs can't be built a second time"
            cure = "name one of them; for plain make, name a file with the commands of the tests with --shell"
            raise EvidenceError(Problem(str(self.build), "", cause, cure))
        return kind
