"""Running gcovr, for profiles of other compilers and for exclusion markers in sources.

gcovr runs gcov, or the gcov-compatible program of another compiler. It has no documented programming interface, so it
runs as a process and writes JSON. It is only used while tests are recorded, which runs the project's programs anyway.
Reading a recording runs nothing.

The lines that it leaves out are the same for every test. So for profiles of gcc 9 to 15 it runs once for all objects,
and this package provides the counts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.recording.gcovr_settings import GcovrSettings, read_settings
from suspectra.evidence.c.compilation_folder import with_folder
from suspectra.evidence.formats.gcov_json import json_of
from suspectra.processes.runner import CommandToRun, run
from suspectra.processes.scratch import ScratchFolder
from suspectra.program.c.files import parse_notes, written_by
from suspectra.program.c.object import Compiler

TIMEOUT_S = 120.0
"""Seconds. gcovr takes a few tenths of a second per test, but a project's pattern may keep it busy for ever."""

# Modules are searched only in the folders of this process, as a workspace may contain its own gcovr.py.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from gcovr.__main__ import main; sys.exit(main())"
)

_UNWANTED = ("GCOV", "LLVM_PROFDATA", "GCOV_PREFIX", "GCOV_PREFIX_STRIP", "LD_PRELOAD", "CFLAGS", "CXXFLAGS")
_MISMATCH = re.compile(r"version '([^']*)', prefer[^']*'([^']*)'")
_ERROR = re.compile(r"(?:\(ERROR\)|gcovr: error:|error:)\s*(\S.*)|^\w*Error: (\S.*)", re.MULTILINE)


@dataclass(frozen=True)
class GcovrObject:
    """One object file: its notes, and its profile if a test ran it."""

    notes: str  # the `.gcno` file
    compiler: Compiler  # the compiler that wrote both
    folder: str = ""  # where the compiler ran; empty if it is not known or does not matter
    profile: str = ""  # the `.gcda` file, empty for none


@dataclass
class Gcovr:
    """Runs gcovr on the profiles of one workspace.

    Raises EvidenceError when it is not installed.
    """

    workspace: str  # the folder with its settings, in which it runs
    cancel: Token  # cancel it to stop
    _exclusive: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if find_spec("gcovr") is None:
            cure = f"install it: {sys.executable} -m pip install gcovr"
            raise EvidenceError(
                Problem("", "gcovr", "it is not installed beside Suspectra, and C and C++ need it", cure)
            )

    @cached_property
    def settings(self) -> GcovrSettings:
        """The project's settings of gcovr.

        Raises EvidenceError: it is damaged.
        """
        return read_settings(self.workspace)

    @cached_property
    def version(self) -> str:
        """The version of gcovr."""
        return metadata.version("gcovr")

    def gcov(self, compiler: Compiler) -> str:
        """Find the command that reads the profiles of a compiler.

        The command in the settings, else a program on the PATH.

        Raises EvidenceError when there is no such program.
        """
        if self.settings.gcov:
            return self.settings.gcov
        if compiler.is_clang:
            found = next(filter(shutil.which, ("llvm-cov", *_numbered("llvm-cov"))), None)
            if found is None:
                cause = "there is no llvm-cov, so lines that are excluded count in programs built by clang"
                raise EvidenceError(Problem("", "llvm-cov", cause, "install it: apt-get install llvm"))
            return f"{found} gcov"
        names = (f"gcov-{compiler.major}", "gcov")
        found = next(filter(shutil.which, names), None)
        if found is None:
            cause = f"there is no {names[0]}, which reads the profiles of {compiler}"
            cure = f"install it: apt-get install gcc-{compiler.major}"
            raise EvidenceError(Problem("", names[0], cause, cure))
        return found

    def read(self, objects: Sequence[GcovrObject]) -> list[dict[str, Any]]:
        """Run gcovr on some objects, once for each combination of gcov and folder.

        Raises EvidenceError when gcovr failed, or a program that it needs is missing.
        """
        groups: dict[tuple[str, str], list[GcovrObject]] = {}
        for measured in objects:
            groups.setdefault((self.gcov(measured.compiler), measured.folder), []).append(measured)
        return [file for (gcov, folder), group in groups.items() for file in self._report(gcov, folder, group)]

    def _report(self, gcov: str, folder: str, objects: Sequence[GcovrObject]) -> list[dict[str, Any]]:
        with ScratchFolder() as folder_of_report:
            scratch = str(folder_of_report)
            profiles = os.path.join(scratch, "profiles")
            for number, measured in enumerate(objects):
                place = os.path.join(profiles, str(number))
                os.makedirs(place)
                name = os.path.splitext(os.path.basename(measured.notes))[0]
                os.symlink(os.path.abspath(measured.notes), os.path.join(place, f"{name}.gcno"))
                if measured.profile:
                    os.symlink(os.path.abspath(measured.profile), os.path.join(place, f"{name}.gcda"))
            if not folder:
                return self._run(gcov, scratch, scratch, profiles)
            with self._exclusive:  # gcov writes files with the same names there for every test
                return self._run(gcov, folder, scratch, profiles)

    def _run(self, gcov: str, folder: str, scratch: str, profiles: str) -> list[dict[str, Any]]:
        report, nothing = os.path.join(scratch, "report.json"), os.path.join(scratch, "none.cfg")
        Path(nothing).touch()
        argv = [sys.executable, "-I", "-c", _START, json.dumps([place for place in sys.path if place])]
        argv += [f"--config={nothing}", f"--root={scratch}", f"--json={report}", f"--gcov-executable={gcov}"]
        argv += [f"--gcov-object-directory={folder}", *self.settings.arguments(self.workspace), profiles]
        environment = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
        ended = run(CommandToRun(tuple(argv), self.workspace, environment, timeout=TIMEOUT_S), self.cancel)
        if ended.code:
            raise self._failed(gcov, ended.stderr.decode("utf-8", "replace"))
        if ended.code is None:
            cause = f"gcovr was stopped after {ended.seconds:.0f} s"
            raise EvidenceError(Problem(self.settings.file, "", cause, "see whether one of its patterns takes long"))
        document = json_of(Path(report).read_bytes(), Path(report), "record again")
        return list(document["files"])

    def _failed(self, gcov: str, said: str) -> EvidenceError:
        mismatch = _MISMATCH.search(said)
        if mismatch:
            cause = f"gcovr can't read the profile: it is of version {mismatch[1]}, and {gcov} reads {mismatch[2]}"
            cure = "install the gcov of the compiler that built the program"
            return EvidenceError(Problem("", gcov, cause, cure))
        words = next((found[1] or found[2] for found in _ERROR.finditer(said)), said.strip().rpartition("\n")[2])
        return EvidenceError(
            Problem(self.settings.file, gcov, f"gcovr failed: {words[:300]}", "fix that and record again")
        )


def measured_object(notes: str, profile: str, roots: Sequence[str]) -> GcovrObject:
    """Find out which compiler wrote the notes of an object, and where it ran.

    Its folder is empty if the folder no longer exists.

    Raises EvidenceError when the notes are damaged.
    """
    data = Path(notes).read_bytes()
    compiler, _ = written_by(data, notes)
    if not compiler.known:
        return GcovrObject(notes, compiler, "", profile)  # since gcc 14, gcov needs no sources
    compiled = with_folder(parse_notes(data, notes), roots)
    if all(os.path.isabs(source) for source in compiled.sources):
        return GcovrObject(notes, compiler, "", profile)
    return GcovrObject(notes, compiler, compiled.folder if os.path.isdir(compiled.folder) else "", profile)


def _numbered(name: str) -> list[str]:
    """The programs of this name with a version suffix, newest first."""
    pattern = re.compile(rf"{re.escape(name)}-(\d+)")
    found: dict[str, int] = {}
    for folder in os.get_exec_path():
        if os.path.isdir(folder):
            found.update({entry: int(match[1]) for entry in os.listdir(folder) if (match := pattern.fullmatch(entry))})
    return sorted(found, key=lambda entry: -found[entry])
