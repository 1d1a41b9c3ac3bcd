"""Builds of a copy of a workspace, with the settings of a first build: after a change only that is built again."""

from __future__ import annotations

import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.build_complaint import complaint_of
from suspectra.c.build_kind import BuildKind
from suspectra.c.cmake_cache import cache_entries, cache_script
from suspectra.c.meson_settings import MesonSettings
from suspectra.c.recording.automake import NO_MANUALS, automake_suite, make_variables
from suspectra.c.recording.case import CCase
from suspectra.c.recording.meson import meson_suite
from suspectra.c.recording.suite import CSuite
from suspectra.c.recording.suites import ctest_suite, shell_suite
from suspectra.processes.events import ProgramEnded

_JOBS = "2"


def targets_of(tests: Iterable[CCase]) -> tuple[str, ...]:
    """Name what has to be built for some tests."""
    return tuple(sorted({Path(case.argv[0]).stem for case in tests}))


class StepRunner(Protocol):
    """Runs a step of a build."""

    def __call__(self, command: Collection[str], folder: Path, more: Mapping[str, str] = ...) -> ProgramEnded:
        """Run it, with more variables in its environment."""


class CopiedBuild(ABC):
    """A build of a copy of a workspace.

    Raises EvidenceError when the sources of the first build are outside of the workspace.
    """

    def __init__(self, first: Path, workspace: Path, copy: Path, own: Path, run: StepRunner):
        self.first, self.workspace, self.copy = first, workspace, copy
        self.own, self.folder = own, own / "build"  # what is built is there
        self.run = run
        self.complaint = ""  # why the last step failed
        self._is_configured = False

    def make(self, tests: Collection[CCase] = ()) -> bool:
        """Build what changed, or just the programs of some tests where these are known; whether that worked."""
        if not self._is_configured:
            self._is_configured = self.configure()
        return self._is_configured and self.build(tests)

    @abstractmethod
    def configure(self) -> bool:
        """Prepare the folder; whether that worked."""

    @abstractmethod
    def build(self, tests: Collection[CCase]) -> bool:
        """Build, as `make` says."""

    def programs(self, tests: Collection[str]) -> tuple[CCase, ...]:
        """The programs of some tests, which can be built alone; none where that is not known of all."""
        return ()

    @abstractmethod
    def suite(self) -> CSuite:
        """List its tests, once it is built."""

    def copied(self, sources: str) -> Path:
        """Where a folder of the workspace is in the copy.

        Raises EvidenceError when it is outside of the workspace.
        """
        home = Path(os.path.realpath(sources))
        if not home.is_relative_to(self.workspace):
            cause = f"its sources are in {home}, outside of the workspace"
            raise EvidenceError(Problem(str(self.first), "", cause, "name the folder of the sources with --workspace"))
        return self.copy / home.relative_to(self.workspace)

    def works(self, command: Collection[str], folder: Path, more: Mapping[str, str] = MappingProxyType({})) -> bool:
        """Run a step; whether it ended well."""
        ended = self.run(command, folder, more)
        self.complaint = complaint_of(ended) if ended.status else ""
        return not ended.status


class _CopiedCMakeBuild(CopiedBuild):
    def configure(self) -> bool:
        entries = cache_entries(self.first)
        sources = self.copied(entries.pop("CMAKE_HOME_DIRECTORY"))
        generator = entries.pop("CMAKE_GENERATOR", "")
        moved = {name: value.replace(str(self.workspace), str(self.copy)) for name, value in entries.items()}
        script = self.own / "settings.cmake"
        script.write_text(cache_script(moved), encoding="utf-8")
        command = ["cmake", "-C", str(script), "-S", str(sources), "-B", str(self.folder)]
        return self.works([*command, *(["-G", generator] if generator else [])], self.copy)

    def build(self, tests: Collection[CCase]) -> bool:
        programs = {Path(case.argv[0]) for case in tests}
        known = programs and all(one.is_relative_to(self.folder) for one in programs)
        targets = ["--target", *targets_of(tests)] if known else []
        return self.works(["cmake", "--build", str(self.folder), "--parallel", _JOBS, *targets], self.copy)

    def programs(self, tests: Collection[str]) -> tuple[CCase, ...]:
        """What the first build has; but for tests that others have to run before."""
        found = []
        for case in ctest_suite(self.workspace, self.first).cases:
            if any(name == case.name or name.startswith(f"{case.name}/") for name in tests):
                if case.depends or case.required or case.problem:
                    return ()
                found.append(case)
        programs = [Path(case.folder, case.argv[0]) for case in found]
        if not found or not all(one.is_relative_to(self.first) for one in programs):
            return ()
        moved = [self.folder / one.relative_to(self.first) for one in programs]
        return tuple(replace(case, argv=(str(one),)) for case, one in zip(found, moved, strict=True))

    def suite(self) -> CSuite:
        return ctest_suite(self.copy, self.folder)


class _CopiedMesonBuild(CopiedBuild):
    def configure(self) -> bool:
        first = MesonSettings(self.first)
        command = ["meson", "setup", str(self.folder), str(self.copied(first.source)), *first.options]
        return self.works(command, self.copy, first.compilers)

    def build(self, tests: Collection[CCase]) -> bool:
        return self.works(["meson", "compile", "-C", str(self.folder), "-j", _JOBS], self.copy)

    def suite(self) -> CSuite:
        return meson_suite(self.copy, self.folder)


class _CopiedAutomakeBuild(CopiedBuild):
    def configure(self) -> bool:
        given = self.run(["./config.status", "--config"], self.first)
        sources = self.copied(make_variables(str(self.first), ("abs_srcdir",))["abs_srcdir"])
        if (sources / "config.status").exists():  # then it can't be configured in another folder, too
            self.folder = sources
        self.folder.mkdir(exist_ok=True)
        command = [str(sources / "configure"), *shlex.split(given.stdout.decode("utf-8", "surrogateescape"))]
        return not given.status and self.works(command, self.folder)

    def build(self, tests: Collection[CCase]) -> bool:
        command = ["make", f"-j{_JOBS}", NO_MANUALS]
        return self.works(command, self.folder) and self.works([*command, "check", "TESTS="], self.folder)

    def suite(self) -> CSuite:
        return automake_suite(self.copy, self.folder)


class _CopiedMakeBuild(CopiedBuild):
    """Everything is built again each time, since few such projects say which headers their objects depend on."""

    def configure(self) -> bool:
        self.folder = self.copy
        return True

    def build(self, tests: Collection[CCase]) -> bool:
        if self.works(["make", "-B", f"-j{_JOBS}"], self.copy):
            return True
        # some projects refuse to make their settings again
        return self.works(["make", "clean"], self.copy) and self.works(["make", f"-j{_JOBS}"], self.copy)

    def suite(self) -> CSuite:
        return shell_suite(self.copy, self.first)


_KINDS: Mapping[BuildKind, Callable[[Path, Path, Path, Path, StepRunner], CopiedBuild]] = {
    BuildKind.CMAKE: _CopiedCMakeBuild,
    BuildKind.MESON: _CopiedMesonBuild,
    BuildKind.AUTOMAKE: _CopiedAutomakeBuild,
    BuildKind.MAKE: _CopiedMakeBuild,
}


def copied_build(first: Path, workspace: Path, copy: Path, own: Path, run: StepRunner) -> CopiedBuild:
    """Build a copy as a workspace was built first.

    Raises EvidenceError when nobody can see how that was.
    """
    return _KINDS[BuildKind.for_build(first)](first, workspace, copy, own, run)
