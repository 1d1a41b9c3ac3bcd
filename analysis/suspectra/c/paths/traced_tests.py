"""Running tests of programs that record their paths."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from suspectra.base.cancellation import Token
from suspectra.base.deadline import seconds_until
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.paths.compared_values import CComparison, compared_values
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_run import MAX_EVENTS, CTracedRun
from suspectra.c.recording.case import CCase, judge
from suspectra.c.recording.case_run import run_case
from suspectra.evidence.evidence import Verdict
from suspectra.processes.events import ProgramEnded, Stopped
from suspectra.processes.runner import memory_folder
from suspectra.processes.scratch import ScratchFolder

MAX_SECONDS = 60.0
"""How long a test may take while its path is recorded."""


class TracedTest(NamedTuple):
    """A run of a test."""

    verdict: Verdict  # how it ended
    run: CTracedRun  # what it executed
    seconds: float  # how long it took


class ComparingTest(NamedTuple):
    """A run of a test."""

    verdict: Verdict  # how it ended
    comparisons: tuple[CComparison, ...]  # what it compared


class TracedTests:
    """Runs tests, and reads what they record."""

    def __init__(self, cases: Sequence[CCase], program: TracedProgram, token: Token):
        self._cases = {case.name: case for case in cases}
        self.program, self._token = program, token

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tests."""
        return tuple(self._cases)

    def case(self, name: str) -> CCase:
        """Find a test.

        Raises EvidenceError when there is no such test, or it needs others to run before.
        """
        case = self._cases.get(name)
        if case is None:
            raise EvidenceError(Problem(name, "", "the build has no such test", "record the tests of this build again"))
        if case.problem or case.disabled:
            raise EvidenceError(Problem(name, "", case.problem or "it is disabled", "enable the test, and build it"))
        if case.required or case.depends:
            cause = "it needs other tests to run before it, so it can't be run alone"
            raise EvidenceError(Problem(name, "", cause, "choose a test without fixtures and dependencies"))
        return replace(case, timeout=min(case.timeout or MAX_SECONDS, MAX_SECONDS))

    def run(self, name: str, end: float = math.inf) -> TracedTest:
        """Run a test, and read its path.

        Raises EvidenceError when it can't be run alone, or executes too much. Raises TimeIsUp when it was not over by
        then. Raises Cancelled when the token was cancelled.
        """
        case = self.case(name)
        with ScratchFolder(memory_folder()) as scratch:
            notes = scratch / "paths"
            notes.mkdir()
            recording = {"SUSPECTRA_PATH": f"{notes}{os.sep}", "SUSPECTRA_PATH_EVENTS": str(MAX_EVENTS)}
            ended = self._run(case, recording, scratch, end)
            found = CTracedRun.read(notes, self.program)
        if not found.complete:
            cause = f"{name} executes more than {MAX_EVENTS:,} basic blocks"
            raise EvidenceError(Problem("", "", cause, "let the test do less, or choose another one"))
        return TracedTest(judge(case, ended)[0], found, ended.seconds)

    def compared(self, name: str) -> ComparingTest:
        """Run a test, and read what it compares.

        Raises EvidenceError when it can't be run alone. Raises Cancelled when the token was cancelled.
        """
        case = self.case(name)
        with ScratchFolder(memory_folder()) as scratch:
            notes = scratch / "values"
            notes.mkdir()
            ended = self._run(case, {"SUSPECTRA_PATH_VALUES": f"{notes}{os.sep}"}, scratch, math.inf)
            return ComparingTest(judge(case, ended)[0], tuple(compared_values(notes, self.program)))

    def run_with(self, name: str, variables: Mapping[str, str], scratch: Path, end: float = math.inf) -> Verdict:
        """Run a test with more variables in its environment.

        Raises EvidenceError when it can't be run alone. Raises TimeIsUp when it was not over by then. Raises Cancelled
        when the token was cancelled.
        """
        case = self.case(name)
        return judge(case, self._run(case, variables, scratch, end))[0]

    def _run(self, case: CCase, recording: Mapping[str, str], scratch: Path, end: float) -> ProgramEnded:
        seconds = seconds_until(end, case.timeout or MAX_SECONDS)
        ended = run_case(case, scratch, self._token, seconds=seconds, more=recording)
        if ended.stopped is Stopped.TIMEOUT:
            seconds_until(end)
        return ended
