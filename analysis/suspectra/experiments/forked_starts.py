"""Machines that start as forks: pytest and what the program uses are loaded once, the program in each."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.operating_system import FORK
from suspectra.experiments.collection_problems import first_line
from suspectra.experiments.machine import START_S, answers_in, arguments_for
from suspectra.processes.runner import CommandToRun, Streams
from suspectra.processes.scratch import ScratchFolder
from suspectra.processes.waiting import WaitingProcess
from suspectra_recorder.experiments.messages import (
    FORKED_STARTS,
    ForkingGreeting,
    ForkRequest,
    Greeting,
    MachineRunAnswer,
    StartAnswer,
)
from suspectra_recorder.experiments.start_request import StartRequest

_FORK_ANSWER_S = 10.0
"""How much longer than a fork its answer may take on a busy machine."""


class ForkedStarts:
    """A process that starts machines for some modules of tests."""

    most_s = START_S
    """How long the first one may take, of which nothing is known."""

    def __init__(
        self,
        command: Sequence[str],
        workspace: Path,
        modules: Mapping[str, str],  # of tests by their names
        excluded: Sequence[str],
        original: str,
        end: float,
    ):
        self.modules: list[str] = []  # what is loaded before each fork
        self._workspace, self._files = workspace, modules
        self._scratch = ScratchFolder()
        scratch = str(self._scratch.path)
        self._order = StartRequest(str(workspace), (), (FORKED_STARTS,), scratch, tuple(excluded), original)

        def program_for(channel: int) -> CommandToRun:
            environment = dict(os.environ)
            replace(self._order, channel=channel).put_into(environment)
            arguments = arguments_for(dict.fromkeys(modules.values()), modules, command, workspace)
            return CommandToRun(arguments, str(workspace), environment, Streams.EVENTS)

        self._process = WaitingProcess(program_for)
        try:
            late = Problem("", "", "pytest did not start in time", "look at what its plugins do")
            file = next(iter(modules.values()))
            line = first_line(self._process, tuple(command), file, seconds=START_S, end=end, late=late)
            greeting: ForkingGreeting = json.loads(line)
        except BaseException:
            self.close()
            raise
        self.forks = greeting["forks"]

    @classmethod
    def started(
        cls,
        command: Sequence[str],
        workspace: Path,
        modules: Mapping[str, str],
        excluded: Sequence[str],
        original: str,
        end: float,
    ) -> ForkedStarts | None:
        """Start it; None where that is not possible, or a plugin of pytest has loaded a part of the program."""
        if not FORK.exists:
            return None
        try:
            made = cls(command, workspace, modules, excluded, original, end)
        except EvidenceError:
            return None
        if made.forks:
            return made
        made.close()
        return None

    def run(
        self, order: StartRequest, names: Sequence[str], seconds: float
    ) -> tuple[bool, float, Greeting | None, list[MachineRunAnswer]]:
        """Run what is ordered: whether it was stopped, after how many seconds, its greeting, and its answers."""
        answers = Path(order.scratch) / "answers"
        answers.touch()
        files = dict.fromkeys(str(self._workspace / self._files[name]) for name in names)
        request: ForkRequest = {
            "order": replace(order, answers=str(answers), files=tuple(files)).write(),
            "modules": self.modules,
            "seconds": seconds,
        }
        try:
            self._process.send(request)
            ended: StartAnswer = json.loads(next(self._process.lines(3 * seconds + _FORK_ANSWER_S)))
        except (OSError, EOFError, TimeoutError):  # a module that it loads before has ended it
            raise EvidenceError(
                Problem("", "", "the process that loads the program has ended", "try it again")
            ) from None
        return ended["stopped"], ended["seconds"], *answers_in(answers)

    def close(self) -> None:
        """End it, and what it has left running."""
        self._process.close()
        self._scratch.remove()
