"""Running a test in gdb with decisions that come out differently.

A breakpoint that is ignored until its n-th passing stops the program each time. So the recorder in the program counts,
and calls an empty function at the wanted execution, which has the breakpoint. From there gdb steps until one of the two
ways begins, and sets the program counter to the other one; so comparisons of several jumps, as those of floating point
numbers, need nothing special.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from suspectra.base.cancellation import Cancelled, Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.paths.disassembly import RECORDING, STOP, Disassembly
from suspectra.c.paths.gdb_script import VARIABLE, GdbSwitch, SwitchedRun, Switches
from suspectra.c.recording.case import CCase, judge
from suspectra.c.recording.environment import environment_of
from suspectra.evidence.evidence import Verdict
from suspectra.processes.events import ProgramEnded, Stopped
from suspectra.processes.runner import CommandToRun, Streams, memory_folder, run
from suspectra.processes.scratch import ScratchFolder

UNALTERED = GdbSwitch(at="", block=0, jump=0, arms=[], to=0)
"""A run in which every decision comes out as it does."""

_SCRIPT = Path(__file__).with_name("gdb_script.py")
_FRAMES = {"aarch64": "x29", "arm64": "x29"}  # the register with the address of a frame, else that of x86-64
_SETTINGS = ("auto-load off", "debuginfod enabled off", "auto-solib-add off")  # no code of the workspace in gdb itself
_MAX_OUTPUT = 1 << 20

_GDB_START_S = 20.0
"""For gdb to read the program: of a large one with all its debugging information."""


def refuse_if_started_by_another(case: CCase) -> None:
    """Refuse a test that starts its program by another one, before it takes any time to run it.

    Raises EvidenceError when its command is not linked with the recorder.
    """
    try:
        with open(os.path.join(case.folder, case.argv[0]), "rb") as file:
            # gdb does not follow a shell or Python that starts the program; the tests of cmark took 80 s to show that
            linked = STOP.encode() in file.read()
    except OSError:
        linked = False
    if not linked:
        raise _started_by_another(case)


def _started_by_another(case: CCase) -> EvidenceError:
    cause = f"{case.name} starts its program by another one, such as a shell, which gdb does not follow"
    return EvidenceError(Problem("", "", cause, "choose a test whose command is the program"))


class SwitchedTest(NamedTuple):
    """A run of a test in gdb."""

    verdict: Verdict  # how it ended
    switched: int  # how many decisions came out differently


class Debugger:
    """Runs a test in gdb.

    Raises EvidenceError when there is no gdb, or the test starts its program by another one.
    """

    def __init__(self, case: CCase, module: str, code: Disassembly, seconds: float, token: Token):
        tool = shutil.which("gdb")
        if tool is None:
            cause = "decisions of compiled programs are switched in gdb, which is not installed"
            raise EvidenceError(Problem("", "", cause, "apt-get install gdb"))
        if os.path.realpath(os.path.join(case.folder, case.argv[0])) != os.path.realpath(module):
            raise _started_by_another(case)
        addresses = {name: address for address, name in code.functions.items()}
        self._recording = addresses.get(RECORDING, 0)
        self._case, self._module, self._code, self._seconds, self._token = case, module, code, seconds, token
        self._tool = tool

    def at(self, block: int, time: int) -> str:
        """Name an execution of a block, as the recorder in the program understands it."""
        return f"{block - self._recording}:{time}"

    def run(self, switches: Sequence[GdbSwitch]) -> list[SwitchedTest]:
        """Run the test once for each switch.

        In the same order.

        Raises EvidenceError when gdb can't run the program. Raises Cancelled when the token was cancelled.
        """
        case = self._case
        if not switches:
            return []
        with ScratchFolder(memory_folder()) as scratch:
            wanted = Switches(
                results=str(scratch / "results"),
                stop=self._code.recorder,
                frame=_FRAMES.get(os.uname().machine, "rbp"),
                seconds=self._seconds,
                output=shlex.quote(str(scratch / "output")),
                arguments=shlex.join(word.replace("{scratch}", str(scratch)) for word in case.argv[1:]),
                switches=list(switches),
            )
            (scratch / "switches").write_text(json.dumps(wanted), encoding="utf-8")
            settings = [word for setting in _SETTINGS for word in ("-iex", f"set {setting}")]
            arguments = (self._tool, "-nx", "-nh", "-batch", *settings, "-x", str(_SCRIPT), self._module)
            environment = environment_of(case, {VARIABLE: str(scratch / "switches"), "SHELL": "/bin/sh"})
            timeout = _GDB_START_S + (self._seconds + 1) * len(switches)
            program = CommandToRun(arguments, case.folder, environment, Streams.KEPT, timeout, guarded=True)
            ended = run(program, self._token)
            if ended.stopped is Stopped.CANCELLED:
                raise Cancelled
            return self._tests(scratch, len(switches), ended)

    def _tests(self, scratch: Path, count: int, ended: ProgramEnded) -> list[SwitchedTest]:
        results = scratch / "results"
        runs = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
        if len(runs) < count:
            words = (ended.stderr or ended.stdout).decode("utf-8", "replace").strip().splitlines()
            named = [line for line in words if "trace" in line.lower() or "error" in line.lower()]
            why = [*named, *words[-1:], "it stopped"][0]
            cure = "let gdb trace programs; containers need the capability SYS_PTRACE for it"
            raise EvidenceError(Problem("", "", f"{self._case.name} can't be run in gdb: {why}", cure))
        return [self._test(json.loads(line), scratch / f"output{number}") for number, line in enumerate(runs)]

    def _test(self, found: SwitchedRun, output: Path) -> SwitchedTest:
        streams = [_head(output.with_name(f"{output.name}.{end}")) for end in ("out", "err")]
        stopped = Stopped.TIMEOUT if found["timeout"] else None
        ended = ProgramEnded(found["code"], found["signal"], stopped, False, streams[0], streams[1], 0.0)
        return SwitchedTest(judge(self._case, ended)[0], found["switched"])


def _head(file: Path) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read(_MAX_OUTPUT)
    except OSError:
        return b""
