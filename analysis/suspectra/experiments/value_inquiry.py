"""Observing the values of failing tests, and of the passing tests that are most like them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.logs.observations import OBSERVATIONS
from suspectra.evidence.logs.per_test_log import Logged
from suspectra.experiments.alterations.mutants import nearest_first
from suspectra.experiments.inquiry import Inquiry, InquiryProgress, RerunSetup, SuspicionSource
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.experiments.run_answers import answer_of
from suspectra.experiments.unusable_tests import require_recorded_failure
from suspectra.runs.observation import Observation, PredicateSite
from suspectra_recorder.experiments.decisions.switchboard import MAX_DECISIONS
from suspectra_recorder.experiments.messages import ObservedSites, RunRequest

MAX_PASSING = 20
"""Passing tests that are observed for each failure group."""

_OBSERVE: RunRequest = {"kind": "observe"}


@dataclass(kw_only=True)
class ObservationInquiry(Inquiry[Observation]):
    """Runs failing tests, and the passing tests nearest to them, once each with their values observed.

    Nothing is altered in these runs. Only statements are kept that some failing test executes.
    """

    tests: Sequence[FailingTest]  # in the order in which they are run
    suspects: SuspicionSource  # the failure groups, and what their tests execute
    notify: Callable[[InquiryProgress], object] = lambda progress: None  # called before each run

    @property
    @abstractmethod
    def workspace(self) -> Path:
        """The folder whose tests these are."""

    @abstractmethod
    def observing(self, passing: Sequence[str]) -> AbstractContextManager[Callable[[str], Logged[Observation] | None]]:
        """Make ready what observes a test.

        It returns None for one that does not end as it did when it was recorded.
        """

    def steps(self) -> Generator[Observation]:
        """Observe the tests. The log has what was observed when this ends, in whatever way.

        Raises EvidenceError when nothing can be observed, or the log can't be written.
        """
        self.begin()
        names = self._in_turn()
        failing = {test.name for test in self.tests}
        logged = {one.test: one for one in OBSERVATIONS.read(self.workspace)[0]}
        with self.observing([name for name in names if name not in failing]) as observed:
            try:
                for number, name in enumerate(names, 1):
                    if self.share == 1:
                        break
                    self.notify(InquiryProgress(name, number, len(names), number - 1, self.share))
                    if (one := observed(name)) is not None:
                        logged[name] = one
                        yield one.found
                else:
                    self.complete = not self.problems
            finally:
                OBSERVATIONS.write(self.workspace, logged.values())

    def _in_turn(self) -> list[str]:
        """The first failing test of each group, the passing ones nearest to each, then the other failing tests."""
        wanted = [test.name for test in self.tests]
        groups = [
            (tests, number) for number, group in enumerate(self.suspects.groups) if (tests := _kept(wanted, group))
        ]
        first = [tests[0] for tests, _ in groups]
        nearest = zip_longest(*(self._nearest(number) for _, number in groups))
        passing = [name for turn in nearest for name in turn if name is not None]
        return list(dict.fromkeys([*first, *passing, *wanted]))

    def _nearest(self, group: int) -> list[str]:
        spectrum = self.suspects.spectrum(group)
        return [spectrum.tests[row] for row in nearest_first(spectrum, spectrum.counts.ef > 0)[:MAX_PASSING]]

    def is_suspect(self, path: str, line: int) -> bool:
        """Whether a failing test executes a statement."""
        return any(self.suspects.at(group, path, line) > 0 for group in range(len(self.suspects.groups)))


@dataclass(kw_only=True)
class ValueInquiry(ObservationInquiry):
    """Observes the values of tests of Python."""

    setup: RerunSetup

    @property
    def workspace(self) -> Path:
        """The folder whose tests these are."""
        return self.setup.workspace

    @contextmanager
    def observing(self, passing: Sequence[str]) -> Iterator[Callable[[str], Logged[Observation] | None]]:
        """Start the processes that run the tests when they are first asked for."""
        with (
            self.setup.folder() as folder,
            closing(self.setup.repeated(folder, self.tests, ["observe"], passing)) as tests,
        ):
            try:
                yield partial(self._observed, tests)
            finally:
                self.note(tests.notices)

    def _observed(self, tests: RepeatedTests, name: str) -> Logged[Observation] | None:
        """Run a test; None if it does not end as it did when it was recorded."""
        recorded = {test.name: test.exception for test in self.tests}
        try:
            answer = tests.machine(name).ask(name, [_OBSERVE], steps=MAX_DECISIONS, seconds=TRACE_S)[0]
            require_recorded_failure(name, recorded.get(name, ""), answer_of(answer))
        except EvidenceError as error:
            self.note([error.problem])
            return None
        failed, ended = name in recorded, answer_of(answer).outcome.value
        expected = "failed" if failed else "passed"
        if ended != expected:
            cause = f"{name} {expected} when it was recorded, and now it ended as: {ended}"
            self.note([Problem("", "", cause, "record the tests again")])
            return None
        observation = Observation(name, failed, dict(self._sites(answer.get("observed", ()))))
        return Logged(name, observation, answer.get("sources", {}))

    def _sites(self, places: Iterable[ObservedSites]) -> Iterator[tuple[PredicateSite, Mapping[str, int]]]:
        """The sites of suspects; each place has several."""
        for path, line, end_line, sites in places:
            if self.is_suspect(path, line):
                for kind, left, right, outcomes in sites:
                    yield PredicateSite(path, line, end_line, kind, left, right), outcomes


def _kept(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    chosen = set(wanted)
    return [name for name in names if name in chosen]
