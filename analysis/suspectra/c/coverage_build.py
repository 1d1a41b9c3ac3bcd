"""Configuring and building a project so that its programs count what they execute.

The build systems are CMake, Meson, those of autoconf and automake, SCons, and plain make. All but SCons and plain make
build in a folder of their own, so other builds of the project stay as they are.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from suspectra.base.errors import EvidenceError, Problem, UsageError
from suspectra.c.cmake_cache import cache_entries
from suspectra.c.recording.automake import NO_MANUALS
from suspectra.c.recording.meson import configuring_again
from suspectra.processes.runner import CommandToRun, Streams, run

FLAGS = ("-O0", "-g", "--coverage")
"""How everything is compiled."""

MARK = "suspectra-coverage.cmake"
"""A file in each folder that was built here."""

_FOLDERS = ("build", "build-coverage")
_COMPILERS = {"cc": "CC", "c++": "CXX", "gcc": "", "g++": ""}
"""The names by which makefiles call compilers, with the variable that chooses another one."""

_CLOCK_S = 1.0
"""By which the times of files may be behind."""

_JOBS = f"-j{os.cpu_count() or 1}"

_INCLUDED = """\
# included by each project(): behind the flags that a project sets itself, which would replace those of the command line
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:{flags}>")
add_link_options(--coverage)
# and behind those of single targets
list(PREPEND CMAKE_C_COMPILER_LAUNCHER "${{CMAKE_CURRENT_LIST_DIR}}/{launcher}")
list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER "${{CMAKE_CURRENT_LIST_DIR}}/{launcher}")
"""

_LAUNCHER = "suspectra-compile"

_COMPILER = """\
#!/bin/sh
# a makefile may set its own flags, so these come behind them
exec {compiler} "$@" {flags}
"""

_SITE = """\
# what SCons starts finds the compilers with coverage first, whatever environment the project makes
import os
import SCons.Platform.posix
import SCons.Tool

def _first(spawn):
    def started(sh, escape, cmd, args, env, *rest):
        path = os.pathsep.join(({folder!r}, str(env.get("PATH", os.defpath))))
        return spawn(sh, escape, cmd, args, {{**env, "PATH": path, "GCOV_PREFIX": os.devnull}}, *rest)
    return started

for _name in ("subprocess_spawn", "piped_env_spawn"):
    setattr(SCons.Platform.posix, _name, _first(getattr(SCons.Platform.posix, _name)))

# the project's own, which this one replaces
sys.path.insert(0, {own!r})
if os.path.isdir(os.path.join({own!r}, "site_tools")):
    SCons.Tool.DefaultToolpath.insert(0, os.path.join({own!r}, "site_tools"))
if os.path.isfile(os.path.join({own!r}, "site_init.py")):
    with open(os.path.join({own!r}, "site_init.py")) as _file:
        exec(compile(_file.read(), _file.name, "exec"))
"""


@dataclass(frozen=True)
class BuildStep:
    """A command of a build."""

    command: tuple[str, ...]
    folder: Path  # in which it runs
    environment: Mapping[str, str] = field(default_factory=dict)  # what is set beside the usual variables
    instead: tuple[BuildStep, ...] = ()  # what is run if it fails


@dataclass(frozen=True)
class CoverageBuild:
    """How a project is built with coverage."""

    build_system: str  # the name of the build system
    folder: Path  # with the objects
    steps: tuple[BuildStep, ...]
    tests: tuple[str, ...]  # options of `record-c` for its tests; empty if only the user knows them
    files: tuple[tuple[Path, str], ...] = ()  # what is written first, with the content
    compilers: Path | None = None  # a folder with those that are used; then everything is built again

    def make(self) -> int:
        """Run all steps, with their output on standard error.

        The number of objects with coverage.

        Raises EvidenceError when a step fails, or nothing was built with coverage.
        """
        for path, content in self.files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
            path.chmod(0o700)
        begun = time.time() - _CLOCK_S if self.compilers else 0.0
        for step in self.steps:
            status = self._status_of(step)
            if status and (not step.instead or any(map(self._status_of, step.instead))):
                cause = f"it ended with status {status}, so the project is not built"
                cure = (
                    "fix what it complains about; options for configuring go behind --, and a project that can only be"
                    " built where its sources are needs --folder ."
                )
                raise EvidenceError(Problem(shlex.join(step.command), "", cause, cure))
        notes = (
            Path(place, name) for place, _, names in os.walk(self.folder) for name in names if name[-5:] == ".gcno"
        )
        found = sum(path.stat().st_mtime >= begun for path in notes)
        if not found:
            cause = (
                "everything is built, but nothing with coverage: the project chooses its compiler or its flags itself"
            )
            cure = f"let it compile and link with {' '.join(FLAGS)}"
            raise EvidenceError(Problem(str(self.folder), "", cause, cure))
        return found

    def _status_of(self, step: BuildStep) -> int:
        """Run a step, and return the status with which it ended."""
        step.folder.mkdir(parents=True, exist_ok=True)
        # generators of sources are built with coverage, too
        environment = {**os.environ, **step.environment, "GCOV_PREFIX": os.devnull}
        if self.compilers:
            environment["PATH"] = os.pathsep.join((str(self.compilers), *os.get_exec_path()))
        cure = f"install {step.command[0]}"
        ended = run(CommandToRun(step.command, str(step.folder), environment, Streams.STDERR, cure=cure))
        if ended.interrupted:
            raise KeyboardInterrupt
        return ended.status or 0

    def tests_left_out(self) -> tuple[str, ...]:
        """The settings by which a project of CMake that was made leaves out its tests; none if it has some."""
        lists = self.folder.rglob("CTestTestfile.cmake") if "--ctest" in self.tests else ()
        if self.tests[:1] != ("--ctest",) or any("add_test(" in file.read_text(errors="replace") for file in lists):
            return ()
        entries = cache_entries(self.folder)
        off = (name for name, value in entries.items() if value == "OFF" and "TEST" in name.upper())
        return tuple(sorted(name for name in off if not name.startswith("CMAKE_")))


def coverage_build(
    workspace: Path,
    folder: str | None = None,  # for the objects; chosen unless given
    system: str | None = None,  # one of `SYSTEMS`; found out unless given
    options: Sequence[str] = (),  # for configuring
) -> CoverageBuild:
    """Say how a project is configured and built with coverage. Nothing is executed.

    Raises UsageError when the workspace has no build system that is known.
    """
    root = workspace.absolute()
    names = [name for name, files in SYSTEMS.items() if any((root / file).is_file() for file in files)]
    if system is not None:
        names = [system]
    if not names:
        cause = f"there is none of {', '.join(file for files in SYSTEMS.values() for file in files)}"
        raise UsageError(Problem(str(root), "", cause, "name the folder of the sources with --workspace"))
    return _PLANS[names[0]](root, root / (folder or _free_folder(root)), tuple(options))


SYSTEMS = {
    "cmake": ("CMakeLists.txt",),
    "meson": ("meson.build",),
    "automake": ("configure", "configure.ac", "configure.in"),
    "scons": ("SConstruct", "Sconstruct", "sconstruct"),
    "make": ("GNUmakefile", "makefile", "Makefile"),
}
"""What the root of a project of each build system has; the first that is found is used."""


def _free_folder(root: Path) -> str:
    """The first usual name that no other build, and no folder of sources, has."""
    free = (name for name in _FOLDERS if not (root / name).exists() or (root / name / MARK).is_file())
    return next(free, _FOLDERS[-1])


def _cmake(root: Path, folder: Path, options: tuple[str, ...]) -> CoverageBuild:
    include = folder / MARK
    configure: tuple[str, ...] = ("cmake", "-S", str(root), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Debug")
    configure += (f"-DCMAKE_PROJECT_INCLUDE={include}", *options)
    build = BuildStep(("cmake", "--build", str(folder), _JOBS), root, _for_projects_inside(folder / _LAUNCHER))
    steps = BuildStep(configure, root), build
    content = _INCLUDED.format(flags=";".join(FLAGS), launcher=_LAUNCHER)
    files = (include, content), (folder / _LAUNCHER, _COMPILER.format(compiler="", flags=" ".join(FLAGS)))
    return CoverageBuild("CMake", folder, steps, ("--ctest", _named(folder, root)), files)


def _for_projects_inside(launcher: Path) -> dict[str, str]:
    """What projects see that are configured while another one is built, as those of ExternalProject are."""
    flags = {name: " ".join((*os.environ.get(name, "").split(), *FLAGS)) for name in ("CFLAGS", "CXXFLAGS")}
    launchers = dict.fromkeys(("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"), str(launcher))
    return {**flags, **launchers, "LDFLAGS": " ".join((*os.environ.get("LDFLAGS", "").split(), "--coverage"))}


def _meson(root: Path, folder: Path, options: tuple[str, ...]) -> CoverageBuild:
    settings = ("-Db_coverage=true", "-Doptimization=0", "-Ddebug=true", "-Db_lto=false", "-Dwerror=false")
    configure = ("meson", "setup", *configuring_again(folder), str(folder), str(root), *settings, *options)
    steps = BuildStep(configure, root), BuildStep(("meson", "compile", "-C", str(folder)), root)
    return CoverageBuild("Meson", folder, steps, ("--meson", _named(folder, root)), ((folder / MARK, ""),))


def _automake(root: Path, folder: Path, options: tuple[str, ...]) -> CoverageBuild:
    complete = (root / "configure").is_file() and (root / "Makefile.in").exists() >= (root / "Makefile.am").exists()
    first = () if complete else (BuildStep(("autoreconf", "-fi"), root),)
    flags = " ".join(FLAGS)
    set_flags = (f"CFLAGS={flags}", f"CXXFLAGS={flags}", "LDFLAGS=--coverage")
    configure = (str(root / "configure"), *set_flags, *options)
    steps = (*first, BuildStep(configure, folder), BuildStep(("make", _JOBS, NO_MANUALS), folder))
    if not _has_automake_tests(root):
        return CoverageBuild("autoconf", folder, steps, (), ((folder / MARK, ""),))
    steps += (BuildStep(("make", _JOBS, NO_MANUALS, "check", "TESTS="), folder),)  # builds the tests, and runs none
    return CoverageBuild("automake", folder, steps, ("--automake", _named(folder, root)), ((folder / MARK, ""),))


def _has_automake_tests(root: Path) -> bool:
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in {"Makefile.am", "Makefile.in"}.intersection(names):
            text = Path(place, name).read_text(encoding="utf-8", errors="replace")
            if re.search(r"^TESTS\s*\+?=", text, re.MULTILINE):
                return True
    return False


def _scons(root: Path, folder: Path, options: tuple[str, ...]) -> CoverageBuild:
    own = root / ".suspectra"
    site = own / "scons" / "site_init.py"
    command = ("scons", f"--site-dir={site.parent}", *options)
    # what is built already has no coverage, and its commands stay the same
    steps = BuildStep((*command, "--clean"), root), BuildStep((*command, _JOBS), root)
    content = _SITE.format(folder=str(own / "compilers"), own=str(root / "site_scons"))
    files = (*_wrapped_compilers(own), (site, content))
    return CoverageBuild("SCons", root, steps, (), files, own / "compilers")


def _make(root: Path, folder: Path, options: tuple[str, ...]) -> CoverageBuild:
    own = root / ".suspectra"
    wrappers = _wrapped_compilers(own)
    settings = tuple(f"{_COMPILERS[path.name]}={path}" for path, _ in wrappers if _COMPILERS.get(path.name))
    # what is built already has no coverage; some projects also make what `configure` has written, which only complains
    again = BuildStep(("make", "clean"), root), BuildStep(("make", _JOBS, *settings, *options), root)
    step = BuildStep(("make", "-B", _JOBS, *settings, *options), root, instead=again)
    return CoverageBuild("make", root, (step,), (), tuple(wrappers), own / "compilers")


def _wrapped_compilers(own: Path) -> list[tuple[Path, str]]:
    """The files by which compilers compile with coverage, in a folder of this program in the workspace."""
    wrappers = [] if (own / ".gitignore").exists() else [(own / ".gitignore", "*\n")]
    for usual, name in _COMPILERS.items():  # libtool calls the one with which it was configured
        program, *words = (os.environ.get(name) or usual).split()
        if found := shutil.which(program):
            content = _COMPILER.format(compiler=" ".join((found, *words)), flags=" ".join(FLAGS))
            wrappers.append((own / "compilers" / usual, content))
    return wrappers


_PLANS: dict[str, Callable[[Path, Path, tuple[str, ...]], CoverageBuild]] = {
    "cmake": _cmake,
    "meson": _meson,
    "automake": _automake,
    "scons": _scons,
    "make": _make,
}


def _named(folder: Path, root: Path) -> str:
    """A folder as it is named in the folder of the workspace."""
    return os.path.relpath(folder, root) if folder.is_relative_to(root) else str(folder)
