"""A program some files of which have other texts: its tests run in processes that load these instead.

What is exchanged in a process that has loaded the program is quicker, but it can't reach what runs while a module is
imported. The texts are never written. What they do is contained from the first import on; what the program does then
without them stays allowed. A process is a fork of one that has loaded pytest and what the program uses, if that has
loaded nothing of the program; else pytest is started anew for each module of tests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from suspectra.base.cancellation import check
from suspectra.base.deadline import seconds_until
from suspectra.base.errors import EvidenceError, Problem
from suspectra.experiments.forked_starts import ForkedStarts
from suspectra.experiments.machine import cut_off, run_once
from suspectra.processes.scratch import ScratchFolder
from suspectra_recorder.experiments.messages import Greeting, MachineRunAnswer, Request
from suspectra_recorder.experiments.start_request import StartRequest

_START_S, _START_FACTOR = 10.0, 5.0
"""For collecting the tests: seconds, or so many times what the program as it is takes."""

_SHARE_OF_LIMITS = 0.1
"""How much of what they may take tests take together: a limit is many times what its test takes."""

_MAX_STARTS = 3
"""Processes for some tests, the first ones of which were stopped by a test."""


class _Ended(NamedTuple):
    """How a process ended."""

    stopped: bool  # whether it took too long
    seconds: float
    greeting: Greeting | None
    answers: list[MachineRunAnswer]

    @property
    def cut_off(self) -> MachineRunAnswer:
        return cut_off(stopped=self.stopped, seconds=self.seconds)


class AlteredPrograms:
    """What runs tests with other texts, of one text after the other.

    `modules` are the modules of all tests by the names of these.
    """

    def __init__(
        self,
        command: Sequence[str],
        workspace: Path,
        modules: Mapping[str, str],
        excluded: Sequence[str] = (),
        original: Path | None = None,
    ):
        self._command, self._workspace, self._modules = tuple(command), workspace, modules
        self._excluded, self._original = tuple(excluded), str(original or workspace)
        self._forked: ForkedStarts | None = None
        self._known = False  # whether it is known which tests can be run in forks
        self._collected: frozenset[str] = frozenset()  # these
        self._start_s = 0.0
        # by module of tests, and for forks by nothing: what the program as it is does before the first test
        self._touched: dict[str, tuple[tuple[str, ...], ...]] = {}

    def run(
        self, texts: Mapping[str, str], requests: Sequence[Request], start_s: Mapping[str, float], end: float
    ) -> dict[str, MachineRunAnswer]:
        """Run tests, each as one request says; the answers by test, without those that were not run in time.

        `start_s` is how long it takes to collect the tests of a module without the texts.

        Raises EvidenceError when a text is not what runs, TimeIsUp when there is no time left.
        """
        self._get_ready(requests, end)
        forked = {self._modules[name] for name in self._collected}
        waiting: dict[str, list[Request]] = {}
        for one in requests:
            module = self._modules[one["test"]]
            if one["test"] in self._collected:
                waiting.setdefault("", []).append(one)
            elif module not in forked:  # else its name is another one in each process
                waiting.setdefault(module, []).append(one)
        found: dict[str, MachineRunAnswer] = {}
        for module, several in waiting.items():
            left = several
            for _ in range(_MAX_STARTS):
                answers = self._run(texts, module, left, start_s.get(module, self._start_s), end)
                found |= {one["test"]: answer for one, answer in zip(left, answers, strict=False)}
                left = left[len(answers) :]
                if not left:
                    break
        return found

    def close(self) -> None:
        """End what has started."""
        if self._forked is not None:
            self._forked.close()

    def _get_ready(self, requests: Sequence[Request], end: float) -> None:
        """Find out once which tests are collected together, and what the program then loads and does."""
        if self._known or not requests:
            return
        self._known = True
        seconds_until(end)
        self._forked = ForkedStarts.started(
            self._command, self._workspace, self._modules, self._excluded, self._original, end
        )
        if self._forked is None:
            return
        every: list[Request] = [{**requests[0], "test": name} for name in self._modules]
        ended = self._ended("", every, seconds_until(end, self._forked.most_s), {}, only_start=True)
        if ended.greeting is None:
            return
        self._start_s = ended.seconds
        self._collected = frozenset(ended.greeting["tests"])
        self._touched[""] = _calls(ended.greeting)
        self._forked.modules = ended.greeting.get("modules", [])

    def _run(
        self, texts: Mapping[str, str], module: str, requests: Sequence[Request], start_s: float, end: float
    ) -> list[MachineRunAnswer]:
        """The answers of one process, the last one of which may be that it was stopped."""
        limits = [one["seconds"] for one in requests]
        most_s = max(_START_S, _START_FACTOR * start_s) + max(limits) + _SHARE_OF_LIMITS * sum(limits)
        seconds = seconds_until(end, most_s)
        ended = self._ended(module, requests, seconds, texts)
        greeting, answers = ended.greeting, ended.answers
        if ended.stopped and seconds < most_s:
            seconds_until(end)
            return answers  # the time was up
        if greeting is None:
            return [ended.cut_off for _ in requests]
        if why := _not_loaded(greeting, texts):
            raise EvidenceError(Problem("", "", why, "change the file itself"))
        forbidden = greeting.get("forbidden")
        if forbidden and not ended.stopped:  # else it is what pytest did when it was stopped
            if module not in self._touched:
                self._learn(module, requests, end)
                return self._run(texts, module, requests, start_s, end)
            return [{**ended.cut_off, "outcome": "refused", "forbidden": forbidden} for _ in requests]
        if not (answers or greeting["tests"]):  # it was stopped, or has ended, while it was imported
            return [ended.cut_off for _ in requests]
        return answers if len(answers) == len(requests) else [*answers, ended.cut_off]

    def _learn(self, module: str, requests: Sequence[Request], end: float) -> None:
        """Find out what the program as it is does before the first test, such as starting a program."""
        ended = self._ended(module, requests[:1], seconds_until(end), {})
        self._touched[module] = _calls(ended.greeting) if ended.greeting else ()

    def _ended(
        self,
        module: str,
        requests: Sequence[Request],
        seconds: float,
        texts: Mapping[str, str],
        *,
        only_start: bool = False,
    ) -> _Ended:
        """How a process ended, what it said at first, and its answers."""
        check()
        names = [one["test"] for one in requests]
        with ScratchFolder() as scratch:
            order = StartRequest(
                str(self._workspace),
                tuple(names),
                ("plain",),
                str(scratch),
                self._excluded,
                self._original,
                requests=json.dumps([] if only_start else requests),
                altered=dict(texts),
                watched=True,
                touched=self._touched.get(module, ()),
            )
            if not module:
                assert self._forked is not None
                try:
                    return _Ended(*self._forked.run(order, names, seconds))
                except EvidenceError:  # it is gone
                    self._collected = frozenset()
                    raise
            ended, greeting, answers = run_once(self._command, order, module, seconds)
            return _Ended(ended.stopped is not None, ended.seconds, greeting, answers)


def _calls(greeting: Greeting) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(call) for call in greeting.get("touched", ()))


def _not_loaded(greeting: Greeting, texts: Mapping[str, str]) -> str:
    """Why a text is not what runs; empty if it is."""
    return next((f"{name} {why}" for name, why in greeting.get("left_out", {}).items() if name in texts), "")
