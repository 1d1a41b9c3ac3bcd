"""Second builds by Meson, automake and plain make, whose compilers are replaced."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError
from suspectra.c.meson_settings import MesonSettings
from suspectra.c.paths.traced_build import COVERAGE, LINKED_WITH, PATHS, Recording, TracedBuild
from suspectra.c.recording.automake import NO_MANUALS, automake_suite, make_variables
from suspectra.c.recording.case import CCase
from suspectra.c.recording.meson import configuring_again, meson_suite
from suspectra.c.recording.suite import CSuite
from suspectra.c.recording.suites import shell_suite
from suspectra.c.recording.test_programs import divided

_COMPILER = """\
#!/bin/sh
# compiles without coverage, whose counters would be blocks of their own, and with the flags that record paths;
# links each program with the recorder
recorder="{recorder}"
files=
for word do
    shift
    case $word in
    {coverage}) continue ;;
    -c | -E | -S | -M | -MM | -fsyntax-only | -shared | -r | -v | --version | -dump* | -print* | --print*) recorder= ;;
    -*) ;;
    *) files=1 ;;
    esac
    set -- "$@" "$word"
done
exec {compiler} "$@" {flags} ${{files:+$recorder}}
"""

_VARIABLES = {"CC": "cc", "CXX": "c++"}
"""The variables that name the compilers, and what these are usually called."""

_NEEDS_SHELL = re.compile(r"[^\w\s./,:+@%^-]|^\s*\w+=|^\s*(?:cd|exec|set|if|for|while|test|\.)\s")


class _ReplacingBuild(TracedBuild):
    """A build whose compilers are scripts that add the flags, since nothing else survives what projects set."""

    @abstractmethod
    def compilers(self) -> Mapping[str, str]:
        """The compilers of the first build, by the variable that names them."""

    def scripts(self, token: Token, *more: str) -> dict[str, str]:
        """The compilers of this build, by the variable that names them; they compile with more flags."""
        self.own.mkdir(parents=True, exist_ok=True)
        made = {}
        for variable, compiler in self.compilers().items():
            recorder, flags = self.compiled_recorder(shlex.split(compiler), token, plus=variable == "CXX")
            script = self.own / _VARIABLES[variable]
            linked = shlex.join([str(recorder), *LINKED_WITH])
            flags_given = shlex.join([*flags, *more])
            text = _COMPILER.format(recorder=linked, coverage=COVERAGE, compiler=compiler, flags=flags_given)
            if not script.exists() or script.read_text(encoding="utf-8") != text:
                script.write_text(text, encoding="utf-8")
                script.chmod(0o700)
            made[variable] = str(script)
        return made


class TracedMesonBuild(_ReplacingBuild):
    """A second build with the compilers and options of the first one."""

    def make(self, token: Token) -> None:
        """Configure it and build it."""
        first, scripts = MesonSettings(self.first), self.scripts(token)
        settings = ["-Db_coverage=false", "-Db_lundef=false", "-Db_lto=false", "-Dwerror=false", "-Ddebug=true"]
        configure = ["meson", "setup", *configuring_again(self.folder), str(self.folder), first.source]
        self.run([*configure, *first.options, *settings], token, more=scripts)
        self.run(["meson", "compile", "-C", str(self.folder), "-j", str(self.jobs)], token)

    def suite(self, workspace: Path) -> CSuite:
        """List the tests of Meson."""
        return divided(meson_suite(workspace, self.folder), workspace)

    def compilers(self) -> Mapping[str, str]:
        """What the folder says, where it does."""
        return MesonSettings(self.first).compilers or _usual_compilers()


class TracedAutomakeBuild(_ReplacingBuild):
    """A second build with the options of ``configure`` of the first one."""

    def make(self, token: Token) -> None:
        """Configure it and build it, with its tests."""
        source = make_variables(str(self.first), ("abs_srcdir",))["abs_srcdir"]
        options = shlex.split(self.run(["./config.status", "--config"], token, self.first).stdout.decode())
        kept = [option for option in options if option.partition("=")[0] not in _VARIABLES]
        scripts = [f"{name}={path}" for name, path in self.scripts(token).items()]
        self.folder.mkdir(exist_ok=True)
        if not (self.folder / "Makefile").exists():
            self.run([os.path.join(source, "configure"), *kept, *scripts], token, self.folder)
        made = ["make", f"-j{self.jobs}", NO_MANUALS]
        self.run(made, token, self.folder)
        self.run([*made, "check", "TESTS="], token, self.folder)

    def suite(self, workspace: Path) -> CSuite:
        """List the tests of ``make check``."""
        return divided(automake_suite(workspace, self.folder), workspace)

    def compilers(self) -> Mapping[str, str]:
        """What the Makefile has."""
        self.own.mkdir(parents=True, exist_ok=True)
        return {name: value for name, value in make_variables(str(self.first), tuple(_VARIABLES)).items() if value}


class TracedMakeBuild(_ReplacingBuild):
    """A copy of a workspace with a Makefile, built where its sources are."""

    def __init__(self, workspace: Path, folder: Path, commands: Path, recording: Recording = PATHS):
        super().__init__(workspace, folder, recording=recording)
        self._commands = commands  # a file with the tests, each a command of the shell

    def make(self, token: Token) -> None:
        """Copy it, and build everything again: what is built in the workspace counts coverage."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.first, self.folder, symlinks=True, ignore=shutil.ignore_patterns(".*", "node_modules"))
        scripts = self.scripts(token, f"-fdebug-prefix-map={self.folder}={self.first}")
        making = [f"-j{self.jobs}", *(f"{name}={path}" for name, path in scripts.items())]
        try:
            self.run(["make", "-B", *making], token, self.folder)
        except EvidenceError as first:  # some projects refuse to make their settings again
            try:
                self.run(["make", "clean"], token, self.folder)
                self.run(["make", *making], token, self.folder)
            except EvidenceError:
                raise first from None

    def suite(self, workspace: Path) -> CSuite:
        """Read the list of commands, which run in the copy. Those that need no shell are started without one."""
        suite = shell_suite(self.folder, self._commands)
        return replace(suite, cases=tuple(map(_without_shell, suite.cases)))

    def compilers(self) -> Mapping[str, str]:
        """What the environment names, else the usual ones."""
        return _usual_compilers()


def _without_shell(case: CCase) -> CCase:
    command = case.argv[-1]
    if _NEEDS_SHELL.search(command):
        return case
    program, *rest = shlex.split(command)
    return replace(case, argv=(os.path.join(case.folder, program) if os.sep in program else program, *rest))


def _usual_compilers() -> dict[str, str]:
    return {name: found for name, usual in _VARIABLES.items() if (found := os.environ.get(name) or shutil.which(usual))}
