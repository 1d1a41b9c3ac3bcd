"""Building a project a second time, so that its programs record their paths."""

from __future__ import annotations

import hashlib
import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.build_complaint import CURE, complaint_of
from suspectra.c.recording.suite import CSuite
from suspectra.processes.events import ProgramEnded
from suspectra.processes.runner import CommandToRun, run

RECORDER = Path(__file__).with_name("recorder.c")
"""What the compiled program calls."""

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

    def __init__(self, build: Path, folder: Path, jobs: int = 2):
        self.first, self.own, self.jobs = build, folder, jobs
        self.folder = folder / "build"  # the folder of the second build

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
        digest = hashlib.sha256(RECORDER.read_bytes() + version.encode()).hexdigest()[:16]
        compiled = self.own / f"recorder-{digest}.o"
        if not compiled.exists():
            unfinished = compiled.with_suffix(".new")
            options = ["-O2", "-fno-omit-frame-pointer", "-fPIC", "-c", *(["-x", "c"] if plus else [])]
            self.run([*compiler, *options, str(RECORDER), "-o", str(unfinished)], token)
            os.replace(unfinished, compiled)
        return compiled, flags

    def run(
        self,
        command: Sequence[str],
        token: Token,
        folder: Path | None = None,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> ProgramEnded:
        """Run a step of it, with more variables in its environment."""
        cure = f"install it: apt-get install {command[0]}" if command[0] in _INSTALLED else "install the compiler"
        token.check()
        asked = CommandToRun(tuple(command), str(folder or self.own), {**os.environ, **more}, guarded=True, cure=cure)
        ended = run(asked, token)
        token.check()  # it may have ended by itself meanwhile
        if ended.status:
            cause = f"the programs can't be built with the recorder of paths: {complaint_of(ended)}"
            raise EvidenceError(Problem(shlex.join(command[:3]), "", cause, CURE))
        return ended
