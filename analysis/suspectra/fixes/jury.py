"""The tests of a failure group that judge changes: the failing ones, which have to pass, and those that pass now."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence

from suspectra.base.deadline import TimeIsUp
from suspectra.base.errors import Problem
from suspectra.experiments.repeated_tests import RepeatedTests
from suspectra.fixes.candidate import Candidate, together
from suspectra.fixes.executing_tests import ExecutingTests
from suspectra.fixes.halves import Halves
from suspectra.fixes.judge import JudgingTest
from suspectra.fixes.judges import Judges
from suspectra.fixes.search_time import SearchTime

_COMPARED, _COMPARING_SHARE = 12, 0.03
"""Failing tests of which the quickest is the first judge, and the share of the time for looking at them."""

_MAX_HANGING = 2
"""Tests that hang, after which no other one is looked for: each takes seconds to be known as such."""

_WIDELY_S = 2.0
"""For letting the other tests of a function judge, too, which its change hardly reaches."""

_CONFIRMING_S, _CONFIRMING_TIMES = 1.0, 3.0
"""For confirming what was found when the time was nearly up: at least, and how many times as long as the test takes."""

Change = tuple[Candidate, ...]
"""One edit, or two that are made together."""

_Executing = Callable[[Candidate], Collection[str]]
"""The passing tests that execute what a candidate changes."""


class Jury:
    """They start when there is something to judge for them."""

    def __init__(
        self,
        tests: RepeatedTests,
        failing: Sequence[str],
        executing: ExecutingTests,
        halves: Halves,
        time_: SearchTime,
        *,
        seconds: Callable[[str], float],
        forks: bool,
        note: Callable[[Sequence[Problem]], object],
    ):
        self._tests, self._names, self._executing, self._halves, self._time = tests, failing, executing, halves, time_
        self._seconds, self._note = seconds, note
        self._judges = Judges(tests, time_, note, forks=forks)
        self._accepting: dict[str, set[Change]] = defaultdict(set)  # by the name of the test

    def close(self) -> None:
        """End all processes."""
        self._note(self._tests.notices)
        self._tests.close()

    @property
    def failing(self) -> list[JudgingTest]:
        """The failing tests that have started."""
        return [judge for judge in self._judges.started if judge.fails]

    @property
    def passing(self) -> list[JudgingTest]:
        """The passing tests that have started."""
        return [judge for judge in self._judges.started if not judge.fails]

    def quickest(self) -> JudgingTest | None:
        """The failing test that most candidates can be run with: one that hangs only if all do."""
        known: list[JudgingTest] = []
        until = math.inf
        for name in self._names:
            # those of other modules need a process of their own
            enough = len(known) >= _COMPARED or (known and not self._tests.runs(name)) or time.monotonic() > until
            hanging = sum(judge.hangs for judge in known)
            if (enough and hanging < len(known)) or hanging == len(known) == _MAX_HANGING:
                break
            if (judge := self._judges.get(name, fails=True)) is not None:
                known.append(judge)
                until = min(until, time.monotonic() + _COMPARING_SHARE * self._time.left)
        return min(known, key=lambda one: (one.hangs, one.seconds), default=None)

    def repairing(self, left: list[Change], first: JudgingTest) -> list[Change]:
        """Those with which all failing tests pass, of those with which the first one does."""
        for judge in self._others(left, first):
            left = self._accepted(left, judge)
            if not left:
                break  # the next one need not start
        return left

    def keeping(self, left: list[Change], until: float) -> tuple[list[Change], list[Change]]:
        """Those that all passing tests accept, and those that none refused by then if there was no time for all."""
        try:
            for judge in self._passing(left, self._executing.for_change):
                left = self._accepted(left, judge, self._executing.for_change)
                if time.monotonic() >= until or not left:
                    return [], left
        except TimeIsUp:
            return [], left
        return left, []

    def keeping_widely(self, left: list[Change]) -> list[Change]:
        """Those that no other test of the changed functions refuses, as far as there is time for these tests."""
        until = min(time.monotonic() + _WIDELY_S, self._time.end)
        try:
            for judge in self._passing(left, self._executing.for_function):
                if time.monotonic() >= until or not left:
                    break
                left = self._accepted(left, judge, self._executing.for_function, unanswered=True)
        except TimeIsUp:  # what is left has been accepted by all that have to
            pass
        return left

    def confirms(self, one: Change) -> bool:
        """Whether the failing tests pass with a change in new processes, too: the first one alone, others together."""
        job = together(one)
        return all(
            judge.confirms(
                job, self._time.end + max(_CONFIRMING_S, _CONFIRMING_TIMES * judge.seconds), alone=number == 0
            )
            for number, judge in enumerate(self.failing)
        )

    def keepers(self, one: Change) -> tuple[str, ...]:
        """The passing tests that were run with a change and accept it."""
        return tuple(judge.name for judge in self.passing if one in self._accepting[judge.name])

    def are_checked(self, one: Change) -> bool:
        """Whether what decides to raise still raises, in a test that has accepted the change."""
        kept = {*self.keepers(one)}
        return all(
            part.raises_at > 0 and not kept.isdisjoint(self._executing.for_line(part.file, part.raises_at))
            for part in one
            if part.hides
        )

    def executing(self, one: Change) -> set[str]:
        """The passing tests that execute what a change changes."""
        return {name for part in one for name in self._executing.for_change(part)}

    def _others(self, left: Sequence[Change], first: JudgingTest) -> Iterator[JudgingTest]:
        """The other failing tests, those first that refused most candidates; they start when there is one for them."""
        if not left:
            return
        known = self._judges.started_of(self._names)
        others = sorted((judge for judge in known if judge is not first), key=lambda one: -one.rejected)
        hanging = [judge for judge in others if judge.hangs]  # each of their runs may take seconds
        yield from (judge for judge in others if not judge.hangs)
        for name in self._names:
            if name not in self._judges and (judge := self._judges.get(name, fails=True)) is not None:
                if judge.hangs:
                    hanging.append(judge)
                else:
                    yield judge
        yield from hanging

    def _passing(self, left: Sequence[Change], executing: _Executing) -> Iterator[JudgingTest]:
        """The passing tests that have to accept changes.

        Those first that refused most of them, then those whose process has started, and of them the quickest.
        """
        names = list(dict.fromkeys(name for several in left for one in several for name in executing(one)))
        names = [name for name in names if not self._accepting[name].issuperset(left)]
        known = self._judges.started_of(names)
        yield from sorted(known, key=lambda judge: (-judge.rejected, judge.seconds))
        for name in sorted(names, key=lambda name: (not self._tests.runs(name), self._seconds(name))):
            if name not in self._judges and (judge := self._judges.get(name, fails=False)) is not None:
                yield judge

    def _accepted(
        self,
        left: Sequence[Change],
        judge: JudgingTest,
        executing: _Executing | None = None,  # None for a failing test, which has to repair all
        *,
        unanswered: bool = False,  # whether those that it was not run with are kept
    ) -> list[Change]:
        """Those that a test accepts. A refused call is no verdict, so a passing test then says nothing."""
        if not left:
            return []
        accepted = self._accepting[judge.name]
        judged = [
            one
            for one in left
            if one not in accepted and (executing is None or any(judge.name in executing(part) for part in one))
        ]
        jobs = [together(one) for one in judged]
        answers = dict(zip(map(id, judged), judge.accepts(jobs, self._time.end), strict=True))
        kept = []
        for one in left:
            if id(one) not in answers:
                kept.append(one)
                continue
            answer = answers[id(one)]
            if answer is not None and answer["outcome"] == "passed":
                kept.append(one)
                accepted.add(one)
            elif answer is None and unanswered:
                kept.append(one)
            elif executing is None and len(one) == 1:
                self._halves.refused_by(judge, one[0])
        return kept
