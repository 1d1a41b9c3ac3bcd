"""Tests as judges: each runs candidates, many in one process, and says which it accepts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from suspectra.base.deadline import TimeIsUp
from suspectra.base.errors import EvidenceError
from suspectra.experiments.altered_runs import TRACE
from suspectra.experiments.machine import FreshRuns, Machine, request
from suspectra.experiments.repeated_test import (
    LEAST_STEPS,
    STEPS_FACTOR,
    TIME_FACTOR,
    TRACE_S,
)
from suspectra.experiments.run_answers import outcome_of
from suspectra.experiments.unusable_tests import unusable
from suspectra_recorder.experiments.messages import MachineRunAnswer, Request, RunRequest, ToldApart

_HANG_STEPS, _HANG_S = 300_000, 8.0
"""How long the unaltered test may run: one that takes longer hangs, and is judged, too."""

_ENDLESS_S = 0.4
"""What a run may always take: a loop without a decision is stopped by nothing else."""

_GROWING_S = 0.2
"""The same for the first test, with which most candidates fail: values that grow with each round take any time."""

_HANGING_S, _HANGING_STEPS = 2.0, 1_000_000
"""The same for a test that hangs without: nobody knows how long it takes where it does not, and most still hang."""

_ENDING_STEPS = 5_000_000
"""The decisions of a failing test that does not hang: one that fails early goes on when it is repaired."""

_LEAST_REPAIRED, _REPAIRED_S = 20_000, 2.0
"""How many decisions a failing test may make at least when it is altered, and how much time others may take then."""

_CUT_OFF = ("steps", "timeout")
_LEAST_BATCH, _BATCH, _BATCH_S = 16, 64, 0.4
_FORKS_FROM_S, _WORTH_FORKS = 0.03, 4
"""From which time on a test is forked where it is altered, and for how many alterations."""

_TAKES_LONG_S = 1.0
"""From which time on a test is not run again to know whether its message is the same each time."""

_CONTROLLED, _FEW, _FEW_OF_ALL = 16, 8, 0.25
"""Candidates of a process each of which is followed by the unaltered test, and how many may leave something behind."""

_PLAIN: RunRequest = {"kind": "plain"}


class JudgingTest:
    """One test that runs with candidates.

    Raises EvidenceError when it does not end, unaltered, as it was recorded.
    """

    def __init__(self, name: str, runs: Machine | FreshRuns, *, fails: bool, end: float, forks: bool = True):
        self.name, self.fails, self._runs = name, fails, runs
        self.rejected = 0  # how many candidates it has refused
        self.runs = 0
        self._same_message = False  # whether it fails with the same message each time
        self._shares = True  # whether it runs in the process of others, as in any run of pytest
        answer = self._unaltered_run(runs, end)
        # a test may have a limit of its own
        self.hangs = answer["outcome"] in _CUT_OFF or "Timeout" in answer["exception"]
        outcome = answer["outcome"]
        if (outcome == "passed") is fails or outcome == "skipped":
            raise unusable(name, outcome_of(outcome), seconds=_HANG_S, decisions=_HANG_STEPS, fails=fails)
        self.seconds = whole_s = answer["seconds"]
        decisions = len(answer.get("decisions", ()))
        self._check = answer.get("check") if fails else None
        self._unaltered = outcome, answer["exception"]
        self._message = self._message_of_pytest = answer.get("message", "")
        self._directly = True  # whether runs may leave out what pytest does around them
        self.steps = max(LEAST_STEPS, STEPS_FACTOR * decisions) if "decisions" in answer else _HANG_STEPS
        self._hurried_steps = LEAST_STEPS if self.hangs else max(_LEAST_REPAIRED, self.steps)
        self.limit_s = _HANGING_S if self.hangs else max(_ENDLESS_S, TIME_FACTOR * whole_s)
        if fails:
            self.steps = _HANGING_STEPS if self.hangs else _ENDING_STEPS
            self.limit_s = max(self.limit_s, _REPAIRED_S)
        self._together = runs.together and self.seconds < _TAKES_LONG_S and outcome != "crashed"
        self._each = self.seconds
        self._left_behind = 0  # how many candidates have left something behind
        self._repeatable: bool | None = None  # None as long as it makes no difference
        # functions before which so little is executed that a fork takes longer
        self._soon: set[tuple[str, str, int]] = set()
        self._forks = forks and fails and not self.hangs and outcome != "crashed" and self.seconds >= _FORKS_FROM_S

    def _unaltered_run(self, runs: Machine | FreshRuns, end: float) -> MachineRunAnswer:
        """What the unaltered test does; of one that passes, of which there may be hundreds, only how it ends."""
        seconds = min(_HANG_S, TRACE_S)
        # its process goes on with the candidates, and with other tests
        (answer,) = runs.ask(
            self.name,
            [TRACE if self.fails else _PLAIN],
            steps=_HANG_STEPS,
            seconds=seconds,
            end=end,
            keep=True,
            shared=True,
            directly=not self.fails,
        )
        usual = ("failed", "error", *_CUT_OFF) if self.fails else ("passed",)
        if answer["outcome"] in usual:
            return answer
        self._shares = False
        (answer,) = runs.ask(self.name, [TRACE], steps=_HANG_STEPS, seconds=seconds, end=end)
        return answer

    def hurry(self, end: float) -> None:
        """Be the first judge: runs are stopped soon, as most candidates leave the test failing, and some let it hang.

        Its process is not shared: it runs thousands.
        """
        self._shares = False
        self._compare_messages(end)
        self.steps = self._hurried_steps
        self.limit_s = _GROWING_S if self.hangs else max(_GROWING_S, TIME_FACTOR * self.seconds)

    def _compare_messages(self, end: float) -> None:
        """Find out whether it fails with the same message each time, and how long it takes in a warm process."""
        if self.hangs or self.seconds >= _TAKES_LONG_S:
            return
        with suppress(TimeIsUp):
            again, third = self._runs.ask(
                self.name, [_PLAIN] * 2, steps=_HANG_STEPS, seconds=_HANG_S, end=end, keep=True, directly=True
            )
            # without pytest's explanation the message may be another one
            self._message = again.get("message", "")
            self._same_message = third.get("message", "") == self._message
            self.seconds = min(self.seconds, third["seconds"])

    @property
    def batch(self) -> int:
        """How many candidates it runs at a time."""
        least = _LEAST_BATCH if self._together and self._each < _BATCH_S else 1
        return max(least, min(_BATCH, int(_BATCH_S / max(self._each, 1e-3))))

    def accepts(self, jobs: Sequence[RunRequest], end: float) -> list[MachineRunAnswer | None]:
        """How the test ends with each candidate; None for those that were not run in time."""
        if self._forks and (by_forks := self._accepted_by_forks(jobs, end)) is not None:
            return by_forks
        found: list[MachineRunAnswer | None] = []
        size = self.batch
        for first in range(0, len(jobs), size):
            part = jobs[first : first + size]
            if time.monotonic() >= end:
                break
            began = time.monotonic()
            answers = self._run(part, end)
            if answers:
                self._each = (time.monotonic() - began) / len(answers)
            found += answers
        self.rejected += sum(1 for one in found if one is not None and one["outcome"] != "passed")
        self.runs += len(found)
        return [*found, *[None] * (len(jobs) - len(found))]

    def _accepted_by_forks(self, jobs: Sequence[RunRequest], end: float) -> list[MachineRunAnswer | None] | None:
        """The same by forks of one run, each where it is altered first; None where that is not possible, or slower."""
        if not isinstance(self._runs, Machine):
            return None
        of_function: dict[tuple[str, str, int], list[int]] = {}
        for number, job in enumerate(jobs):
            if "edit" in job:
                key = job["file"], *job["functions"][-1]
                if key not in self._soon:
                    of_function.setdefault(key, []).append(number)
        forked: dict[int, MachineRunAnswer] = {}
        for key, numbers in of_function.items():
            for first in range(0, len(numbers), _BATCH):
                part = numbers[first : first + _BATCH]
                if len(part) < _WORTH_FORKS or time.monotonic() >= end:
                    continue
                began = time.monotonic()
                try:
                    answers = self._runs.forked(
                        self.name, [jobs[number] for number in part], steps=self.steps, seconds=self.limit_s, end=end
                    )
                except (TimeIsUp, EvidenceError):
                    continue
                forked |= {number: one for number, one in zip(part, answers, strict=True) if one is not None}
                if time.monotonic() - began > len(part) * self._each:
                    self._soon.add(key)
                    break
        self.rejected += sum(1 for one in forked.values() if one["outcome"] != "passed")
        self.runs += len(forked)
        self._forks = False
        left = [number for number in range(len(jobs)) if number not in forked]
        others = dict(zip(left, self.accepts([jobs[number] for number in left], end), strict=True))
        self._forks = True
        return [forked.get(number) or others.get(number) for number in range(len(jobs))]

    def _run(self, jobs: Sequence[RunRequest], end: float) -> list[MachineRunAnswer | None]:
        found: list[MachineRunAnswer | None] = []
        try:
            if not self._together:
                found += [self._ask([job], end)[0] for job in jobs]
            elif self.hangs:
                found += self._ask(jobs, end, keep=True)
            else:
                # the unaltered test at the end says whether a candidate has left something behind
                *answers, control = self._ask([*jobs, _PLAIN], end, keep=True)
                found += answers
                if self._is_other(control):
                    found = self._run_apart(jobs, end)
        except TimeIsUp as cut:
            return [*found, *cut.answers[: len(jobs) - len(found)]]
        except EvidenceError:
            return found
        return found

    def _run_apart(self, jobs: Sequence[RunRequest], end: float) -> list[MachineRunAnswer | None]:
        """The same where something was left behind: the next candidate then gets a process of its own."""
        found: list[MachineRunAnswer | None] = []
        while len(found) < len(jobs):
            left = jobs[len(found) : len(found) + _CONTROLLED]
            # the first of them runs in a new process, and each as long as all before it have left nothing behind
            answers = self._ask([one for job in left for one in (job, _PLAIN)], end)
            after = next((number for number, one in enumerate(answers[1::2]) if self._is_other(one)), len(left))
            found += answers[: 2 * after + 1 : 2]
            if after == len(left):
                continue
            self._left_behind += 1
            if not self._is_repeatable(end) or self._left_behind > max(_FEW, _FEW_OF_ALL * (self.runs + len(found))):
                self._together = False
                return [*found, *self._run(jobs[len(found) :], end)]
        return found

    def _is_repeatable(self, end: float) -> bool:
        """Whether the unaltered test ends in the same way when it runs again in its process; looked at once."""
        if self._repeatable is None:
            self._repeatable = not self._is_other(self._ask([_PLAIN] * 2, end)[1])
            if not self._repeatable and self._directly:
                self._directly = False
                self._message = self._message_of_pytest
                self._repeatable = not self._is_other(self._ask([_PLAIN] * 2, end)[1])
        return self._repeatable

    def _ask(self, jobs: Sequence[RunRequest], end: float, *, keep: bool = False) -> list[MachineRunAnswer]:
        """How the test ends with each; in a new process unless the one of the last call is kept, as this one is."""
        return self._runs.ask(
            self.name,
            jobs,
            steps=self.steps,
            seconds=self.limit_s,
            end=end,
            keep=keep,
            shared=self._shares,
            directly=self._directly and self._together,
        )

    def changed(self, answer: MachineRunAnswer) -> bool:
        """Whether the test fails with a candidate in another way than without."""
        return answer["outcome"] in ("failed", "error") and self._is_other(answer)

    def _is_other(self, answer: MachineRunAnswer) -> bool:
        ended = answer["outcome"], answer["exception"]
        return ended != self._unaltered or (self._same_message and answer.get("message", "") != self._message)

    def confirms(self, job: RunRequest, end: float, *, alone: bool) -> bool:
        """Whether the test passes with a candidate, with all of pytest, and comes to the check that failed.

        Unless `alone`, in a process that has run other tests with it.
        """
        if not alone and self._shares:
            with suppress(TimeIsUp, EvidenceError):
                (answer,) = self._runs.ask(
                    self.name,
                    [self._checked(job)],
                    steps=self.steps,
                    seconds=self.limit_s,
                    end=end,
                    keep=True,
                    shared=True,
                )
                self.runs += 1
                if answer["outcome"] == "passed":
                    return True
        found = self.alone(job, end)
        return found is not None and found["outcome"] == "passed"

    def alone(self, job: RunRequest, end: float) -> MachineRunAnswer | None:
        """How the test ends with a candidate in a process of its own; None where that is not known in time.

        It is skipped where it does not come to the check that failed.
        """
        try:
            (answer,) = self._runs.ask(self.name, [self._checked(job)], steps=self.steps, seconds=self.limit_s, end=end)
        except (TimeIsUp, EvidenceError):
            return None
        self.runs += 1
        return answer

    def tried(self, job: RunRequest, end: float) -> MachineRunAnswer | None:
        """The same, where most of what is tried does not pass: only what passes gets a process of its own."""
        (answer,) = self.accepts([self._checked(job)], end)
        return self.alone(job, end) if answer is not None and answer["outcome"] == "passed" else answer

    def request_alone(self) -> Request:
        """How a process of its own is asked for a run of the test with what is altered there."""
        asked = request(self.name, [self._checked(_PLAIN)], steps=self.steps, seconds=self.limit_s)
        if self._directly and not self.fails:
            asked["directly"] = True
        return self._runs.knowing_what_it_touches(asked)

    def _checked(self, job: RunRequest) -> RunRequest:
        """A job that also asks whether the test comes to the check that failed."""
        return {**job, "check": self._check} if self._check and not self.hangs else job

    def tells_apart(self, alterations: Sequence[RunRequest], seconds: float) -> ToldApart | None:
        """An input near those of the test for which two alterations give different results."""
        job: RunRequest = {"kind": "apart", "others": list(alterations), "most_seconds": seconds / 2}
        (answer,) = self._runs.ask(
            self.name, [job], steps=self.steps, seconds=self.limit_s + 2 * seconds, end=time.monotonic() + 3 * seconds
        )
        return answer.get("apart")

    def results(
        self,
        file: str,
        functions: Sequence[tuple[str, int]],
        expressions: Sequence[tuple[int, list[str]]],
        seconds: float,
    ) -> MachineRunAnswer | None:
        """What expressions give where the unaltered test comes to their statements."""
        job: RunRequest = {
            "kind": "results",
            "file": file,
            "functions": list(functions),
            "expressions": expressions,
            "most_seconds": seconds,
        }
        try:
            (answer,) = self._runs.ask(
                self.name,
                [job],
                steps=self.steps,
                seconds=self.limit_s + 2 * seconds,
                end=time.monotonic() + 4 * seconds + 2,
                keep=self._together,
                directly=self._directly,
            )
        except (TimeIsUp, EvidenceError):
            return None
        return answer
