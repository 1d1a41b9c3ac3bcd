"""Running a failing test with a decision that comes out differently.

The recorder in the program turns it: it is called where the next block begins, and returns to another one. So it takes
no debugger, and a run as long as any other.
"""

from __future__ import annotations

from typing import NamedTuple

from suspectra.base.cancellation import Cancelled, Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.paths.decisions import Turn
from suspectra.c.paths.failing_run import CFailingRun
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.c.recording.case import CCase, judge
from suspectra.c.recording.environment import environment_of
from suspectra.evidence.evidence import Verdict
from suspectra.processes.events import Stopped
from suspectra.processes.runner import CommandToRun, memory_folder, run
from suspectra.processes.scratch import ScratchFolder
from suspectra.runs.experiment import ExperimentOutcome

_VARIABLE = "SUSPECTRA_PATH_TURN"  # names the file in which the recorder says what it has done
_TURNED, _LOOPS = b"t", b"l"  # what is in it

# how many times as long a run may take, and as much as it may execute, as unaltered; and how much more
_TIME_FACTOR, _START_S = 5.0, 2.0
_EVENTS_FACTOR, _EVENTS = 10, 100_000


class TurnedRun(NamedTuple):
    """A run of a test in which a decision was to come out differently."""

    outcome: ExperimentOutcome  # how the test ended
    seconds: float  # how long it took


def refuse_if_started_by_another(case: CCase) -> None:
    """Refuse a test that starts its program by another one, before it takes any time to run it.

    Raises EvidenceError when its command is not linked with the recorder.
    """
    try:
        with open(case.program, "rb") as file:
            linked = _VARIABLE.encode() in file.read()
    except OSError:
        linked = False
    if not linked:  # which process is meant could not be told where a shell starts several
        cause = f"{case.name} starts its program by another one, such as a shell"
        raise EvidenceError(Problem("", "", cause, "choose a test whose command is the program"))


class TurnedTests:
    """Runs a failing test with one decision turned."""

    def __init__(self, tests: TracedTests, name: str, failing: CFailingRun, token: Token):
        self._case, self._token = tests.case(name), token
        self._recorder = tests.program.module(self._case.program).recorder
        self._seconds = _TIME_FACTOR * failing.seconds + _START_S
        self._events = _EVENTS_FACTOR * len(failing.run) + _EVENTS

    def run(self, turn: Turn) -> TurnedRun:
        """Run the test once.

        Raises Cancelled when the token was cancelled.
        """
        case, block = self._case, turn.decision.block
        with ScratchFolder(memory_folder()) as scratch:
            said = scratch / "turned"
            pairs = (f"{one - self._recorder}:{block.arms[to] - self._recorder}" for one, to in turn.instead)
            variables = {
                _VARIABLE: str(said),
                "SUSPECTRA_PATH_AT": f"{block.address - self._recorder}:{turn.time}",
                "SUSPECTRA_PATH_ARMS": ",".join(pairs),
                "SUSPECTRA_PATH_EVENTS": str(self._events),
            }
            argv = tuple(word.replace("{scratch}", str(scratch)) for word in case.argv)
            command = CommandToRun(argv, case.folder, environment_of(case, variables), timeout=self._seconds)
            ended = run(command, self._token)
            if ended.stopped is Stopped.CANCELLED:
                raise Cancelled
            done = said.read_bytes() if said.exists() else b""
        if _LOOPS in done:
            outcome = ExperimentOutcome.STEPS
        elif ended.stopped is Stopped.TIMEOUT:
            outcome = ExperimentOutcome.TIMEOUT
        elif _TURNED not in done:
            outcome = ExperimentOutcome.NOT_REACHED
        elif ended.signal:
            outcome = ExperimentOutcome.CRASHED
        else:
            outcome = _OUTCOMES[judge(case, ended)[0]]
        return TurnedRun(outcome, ended.seconds)


_OUTCOMES = {
    Verdict.PASSED: ExperimentOutcome.PASSED,
    Verdict.FAILED: ExperimentOutcome.FAILED,
    Verdict.SKIPPED: ExperimentOutcome.SKIPPED,
}
