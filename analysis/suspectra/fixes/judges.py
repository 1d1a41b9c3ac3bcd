"""Tests that judge, each started when there is something to judge for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from suspectra.base.errors import EvidenceError, Problem
from suspectra.experiments.repeated_tests import RepeatedTests
from suspectra.fixes.judge import JudgingTest
from suspectra.fixes.search_time import SearchTime


class Judges:
    """The tests of one search or trial."""

    def __init__(
        self,
        tests: RepeatedTests,
        time_: SearchTime,
        note: Callable[[Sequence[Problem]], object],
        *,
        forks: bool = True,
    ):
        self._tests, self._time, self._note, self._forks = tests, time_, note, forks
        self._known: dict[str, JudgingTest | None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._known

    @property
    def started(self) -> list[JudgingTest]:
        """Those that can judge, in the order in which they were asked for."""
        return [judge for judge in self._known.values() if judge is not None]

    def started_of(self, names: Sequence[str]) -> list[JudgingTest]:
        """Those of some tests."""
        return [judge for name in names if (judge := self._known.get(name)) is not None]

    def get(self, name: str, *, fails: bool) -> JudgingTest | None:
        """A test, which is started now if it was not yet; None for one that does not end as it was recorded.

        Of one that fails, without which nothing may be judged, it is noted why.
        """
        if name not in self._known:
            end = self._time.end
            try:
                machine = self._tests.machine(name, end)
                self._known[name] = JudgingTest(name, machine, fails=fails, end=end, forks=self._forks)
            except EvidenceError as error:
                self._known[name] = None
                if fails:
                    self._note([error.problem])
        return self._known[name]
