"""A program some files of which have other texts: its tests run in processes that load these instead.

What is exchanged in a process that has loaded the program is quicker, but it can't reach what runs while a module is
imported. The texts are never written. What they do is contained from the first import on; what the program does then
without them stays allowed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from suspectra.base.cancellation import check
from suspectra.base.deadline import seconds_until
from suspectra.base.errors import EvidenceError, Problem
from suspectra.experiments.machine import cut_off, run_once
from suspectra.processes.events import ProgramEnded
from suspectra.processes.scratch import ScratchFolder
from suspectra_recorder.experiments.messages import Greeting, MachineRunAnswer, Request
from suspectra_recorder.experiments.start_request import StartRequest

_START_S, _START_FACTOR = 10.0, 5.0
"""For collecting the tests: seconds, or so many times what the program as it is takes."""

_SHARE_OF_LIMITS = 0.1
"""How much of what they may take tests take together: a limit is many times what its test takes."""

_MAX_STARTS = 3
"""Processes for the tests of a module, the first ones of which were stopped by a test."""


class AlteredPrograms:
    """What runs the tests of a module with other texts, of one text after the other."""

    def __init__(
        self, command: Sequence[str], workspace: Path, excluded: Sequence[str] = (), original: Path | None = None
    ):
        self._command, self._workspace = tuple(command), workspace
        self._excluded, self._original = tuple(excluded), str(original or workspace)
        # by module of tests: what the program as it is does before the first test
        self._touched: dict[str, tuple[tuple[str, ...], ...]] = {}

    def run(
        self, texts: Mapping[str, str], file: str, requests: Sequence[Request], start_s: float, end: float
    ) -> list[MachineRunAnswer | None]:
        """Run tests of a module, each as one request says; None for those that were not run in time.

        `start_s` is how long it takes to collect them without the texts.

        Raises EvidenceError when a text is not what runs, TimeIsUp when there is no time left.
        """
        found: list[MachineRunAnswer] = []
        for _ in range(_MAX_STARTS):
            if len(found) == len(requests):
                break
            found += self._run(texts, file, requests[len(found) :], start_s, end)
        return [*found, *[None] * (len(requests) - len(found))]

    def _run(
        self, texts: Mapping[str, str], file: str, requests: Sequence[Request], start_s: float, end: float
    ) -> list[MachineRunAnswer]:
        """The answers of one process, the last one of which may be that it was stopped."""
        limits = [one["seconds"] for one in requests]
        most_s = max(_START_S, _START_FACTOR * start_s) + max(limits) + _SHARE_OF_LIMITS * sum(limits)
        seconds = seconds_until(end, most_s)
        ended, greeting, answers = self._ended(file, requests, seconds, texts)
        if ended.stopped is not None and seconds < most_s:
            seconds_until(end)
            return answers  # the time was up
        if greeting is None:
            return [cut_off(ended) for _ in requests]
        if why := _not_loaded(greeting, texts):
            raise EvidenceError(Problem("", "", why, "change the file itself"))
        forbidden = greeting.get("forbidden")
        if forbidden and ended.stopped is None:  # else it is what pytest did when it was stopped
            if file not in self._touched:
                self._learn(file, requests, end)
                return self._run(texts, file, requests, start_s, end)
            return [{**cut_off(ended), "outcome": "refused", "forbidden": forbidden} for _ in requests]
        if not (answers or greeting["tests"]):  # it was stopped, or has ended, while it was imported
            return [cut_off(ended) for _ in requests]
        return answers if len(answers) == len(requests) else [*answers, cut_off(ended)]

    def _learn(self, file: str, requests: Sequence[Request], end: float) -> None:
        """Find out what the program as it is does before the first test, such as starting a program."""
        _, greeting, _ = self._ended(file, requests[:1], seconds_until(end), {})
        self._touched[file] = tuple(tuple(call) for call in (greeting.get("touched", ()) if greeting else ()))

    def _ended(
        self, file: str, requests: Sequence[Request], seconds: float, texts: Mapping[str, str]
    ) -> tuple[ProgramEnded, Greeting | None, list[MachineRunAnswer]]:
        """How a process ended, what it said at first, and its answers."""
        check()
        with ScratchFolder() as scratch:
            order = StartRequest(
                str(self._workspace),
                tuple(one["test"] for one in requests),
                ("plain",),
                str(scratch),
                self._excluded,
                self._original,
                requests=json.dumps(requests),
                altered=dict(texts),
                watched=True,
                touched=self._touched.get(file, ()),
            )
            return run_once(self._command, order, file, seconds)


def _not_loaded(greeting: Greeting, texts: Mapping[str, str]) -> str:
    """Why a text is not what runs; empty if it is."""
    return next((f"{name} {why}" for name, why in greeting.get("left_out", {}).items() if name in texts), "")
