"""Building a project a second time, so that its programs record their paths."""

from __future__ import annotations

import hashlib
import math
import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from suspectra.base.cancellation import Token
from suspectra.base.deadline import seconds_until
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.build_complaint import CURE, complaint_of
from suspectra.c.recording.suite import CSuite
from suspectra.processes.events import ProgramEnded
from suspectra.processes.runner import CommandToRun, run


class Recording(NamedTuple):
    """What programs record."""

    source: Path  # what the compiled program calls
    optional: tuple[str, ...] = ()  # how it is compiled, too, by compilers that can


PATHS = Recording(Path(__file__).with_name("recorder.c"))
"""Blocks and calls, in order."""

FLAGS = (
    "-O0",
    "-gdwarf-4",  # objdump 2.40 takes lines of headers in version 5 for lines of the file that includes them
    "-fno-omit-frame-pointer",
    "-fno-jump-tables",
    "-finstrument-functions",
    "-fsanitize-coverage=trace-pc,trace-cmp",
)
"""How gcc compiles; clang gets one more, so that it leaves no block out."""

COVERAGE = "--coverage | -fprofile-arcs | -ftest-coverage | -fprofile-instr-generate | -fcoverage-mapping"
"""What a second build leaves out, as a pattern of the shell: the counters of coverage would be blocks of their own."""

LINKED_WITH = ("-rdynamic", "-pthread")
"""What the recorder needs."""

_INSTALLED = ("cmake", "meson", "make")


class TracedBuild(ABC):
    """A second build of a project, with the compilers and settings of the first one."""

    def __init__(self, build: Path, folder: Path, jobs: int = 2, recording: Recording = PATHS):
        self.first, self.own, self.jobs, self.recording = build, folder, jobs, recording
        self.folder = folder / "build"  # the folder of the second build
        self.end = math.inf  # when it has to be over
        self.targets: tuple[str, ...] = ()  # what of it is built, where that can be chosen; all by default

    @classmethod
    def name(cls, build: Path) -> str:
        """Name the folder for the second build of a first one.

        The same as long as the flags of the compiler are, so that only what was changed is compiled again.
        """
        # a build that was made with other flags keeps lines that are wrong
        made_of = b"\0".join([os.fsencode(build), *map(str.encode, FLAGS)])
        return f"paths-{hashlib.sha256(made_of).hexdigest()[:12]}"

    @abstractmethod
    def make(self, token: Token) -> None:
        """Configure it and build it.

        Raises EvidenceError when the project does not build. Raises Cancelled when the token was cancelled.
        """

    @abstractmethod
    def suite(self, workspace: Path) -> CSuite:
        """List its tests, once it is built."""

    def compiled_recorder(self, compiler: Sequence[str], token: Token, *, plus: bool = False) -> tuple[Path, list[str]]:
        """The recorder, compiled by the project's compiler, of C++ if need be, and the flags for that compiler."""
        version = self.run([*compiler, "--version"], token).stdout.decode("utf-8", "replace")
        flags = [f"{flag},no-prune" if "clang" in version and "trace-pc" in flag else flag for flag in FLAGS]
        flags += [flag for flag in self.recording.optional if self._knows(compiler, flag)]
        recorder = self.recording.source
        digest = hashlib.sha256(recorder.read_bytes() + version.encode()).hexdigest()[:16]
        compiled = self.own / f"recorder-{digest}.o"
        if not compiled.exists():
            unfinished = compiled.with_suffix(".new")
            options = ["-O2", "-fno-omit-frame-pointer", "-fPIC", "-c", *(["-x", "c"] if plus else [])]
            self.run([*compiler, *options, str(recorder), "-o", str(unfinished)], token)
            os.replace(unfinished, compiled)
        return compiled, flags

    def _knows(self, compiler: Sequence[str], flag: str) -> bool:
        command = (*compiler, flag, "-E", "-x", "c", os.devnull)
        return not run(
            CommandToRun(command, str(self.own), os.environ, guarded=True, cure="install the compiler")
        ).status

    def run(
        self,
        command: Sequence[str],
        token: Token,
        folder: Path | None = None,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> ProgramEnded:
        """Run a step of it, with more variables in its environment.

        Raises TimeIsUp when there is no time left.
        """
        cure = f"install it: apt-get install {command[0]}" if command[0] in _INSTALLED else "install the compiler"
        token.check()
        limit = seconds_until(self.end) if self.end < math.inf else None
        asked = CommandToRun(
            tuple(command), str(folder or self.own), {**os.environ, **more}, timeout=limit, guarded=True, cure=cure
        )
        ended = run(asked, token)
        token.check()  # it may have ended by itself meanwhile
        seconds_until(self.end)
        if ended.status:
            cause = f"the programs can't be built with the recorder of paths: {complaint_of(ended)}"
            raise EvidenceError(Problem(shlex.join(command[:3]), "", cause, CURE))
        return ended
