"""Switching decisions of failing tests of C and C++: which of them make a test pass when they come out differently."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from suspectra.base.cancellation import current_token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.location import Location
from suspectra.c.paths.conditions import CONDITION
from suspectra.c.paths.decisions import CDecision, Turn, decisions_of, turns_by_suspicion
from suspectra.c.paths.failing_run import CFailingRun
from suspectra.c.paths.traced_project import TracedProject
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.c.paths.turned_tests import TurnedTests, refuse_if_started_by_another
from suspectra.evidence.logs.experiments import read_experiments
from suspectra.evidence.logs.path_reports import executed_sources
from suspectra.experiments.experiment_inquiry import MOMENT_S
from suspectra.experiments.inquiry import Inquiry, InquiryProgress, SuspicionSource
from suspectra.experiments.log import ExperimentLog
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.paths.searches.recorded_paths import truth
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome


@dataclass(kw_only=True)
class CSwitchInquiry(Inquiry[Experiment]):
    """Runs failing tests of CTest, each time with one decision turned; what is found goes into the log at once.

    The time counts once the programs are built.
    """

    project: TracedProject  # what is built, and run
    tests: Sequence[FailingTest]  # in the order in which they are investigated
    suspects: SuspicionSource  # where experiments are worth most
    notify: Callable[[InquiryProgress], object] = lambda progress: None  # called before each experiment
    at: Location | None = None  # the statement whose decisions are turned; by default all

    def steps(self) -> Generator[Experiment]:
        """Make the experiments that are not in the log yet.

        Each test has its turn for a moment.

        Raises EvidenceError when the programs do not build, or the log can't be written.
        """
        workspace = self.project.workspace
        known: dict[tuple[object, ...], Experiment] = {one.key: one for one in read_experiments(workspace)[0]}
        self.begin()
        with self.project.tests(current_token()) as tests, ExperimentLog(workspace) as log:
            end, runs, failed = self.begin(), 0, False
            waiting = deque(
                (number, test.name, self._experiments(test.name, tests, known))
                for number, test in enumerate(self.tests, 1)
            )
            while waiting and time.monotonic() < end:
                number, name, experiments = waiting.popleft()
                sources = self._sources(name)
                pause = time.monotonic() + MOMENT_S
                try:
                    for experiment in experiments:
                        log.add(experiment, sources)
                        runs += 1
                        self.notify(InquiryProgress(name, number, len(self.tests), runs, self.share))
                        yield experiment
                        if time.monotonic() >= min(pause, end):
                            waiting.append((number, name, experiments))
                            break
                except EvidenceError as error:
                    failed = True
                    self.note([error.problem])
            self.complete = not (waiting or failed)

    def _sources(self, test: str) -> dict[str, str]:
        return executed_sources(self.project.workspace, self.suspects.spectrum(self.suspects.group_of(test)), test)

    def _experiments(
        self, name: str, tests: TracedTests, known: Mapping[tuple[object, ...], Experiment]
    ) -> Iterator[Experiment]:
        """The experiments with a test: none at a decision that is known to make it pass."""
        refuse_if_started_by_another(tests.case(name))
        failing = CFailingRun.from_test(name, tests)
        decisions = decisions_of(failing, tests, name, self.suspects.spectrum(self.suspects.group_of(name)))
        if self.at is not None:
            decisions = [one for one in decisions if _is_within(one.location, self.at)]
            if not decisions:
                raise EvidenceError(Problem(str(self.at), "", _DECIDES_NOTHING, _ELSEWHERE))
        turned = TurnedTests(tests, name, failing, current_token())
        switching = _Switching(name, tests, decisions)
        repaired: set[int] = set()
        for turn in turns_by_suspicion(decisions):
            experiment = switching.experiment(turn)
            if turn.decision.node in repaired or experiment is None:
                continue
            if (made := known.get(experiment.key)) is None:
                outcome, seconds = turned.run(turn)
                if outcome.repairs and not turned.run(turn).outcome.repairs:
                    outcome = ExperimentOutcome.FAILED  # it did so by chance
                yield (made := replace(experiment, outcome=outcome, seconds=seconds))
            if made.outcome.repairs:
                repaired.add(turn.decision.node)


_DECIDES_NOTHING = "it decides nothing, and in tests of C and C++ only decisions can be altered"
_ELSEWHERE = "find out what would make the test pass, which turns decisions anywhere"


def _is_within(place: Location, statement: Location) -> bool:
    return place.file == statement.file and statement.line <= place.line <= statement.end_line


class _Switching:
    """Says what it is to turn decisions of a test."""

    def __init__(self, test: str, tests: TracedTests, decisions: Sequence[CDecision]):
        self._test, self._program = test, tests.program
        self._blocks = tests.program.module(tests.case(test).program).blocks
        on_line: dict[Location, list[CDecision]] = {}
        for decision in sorted(decisions, key=lambda one: one.block.address):
            on_line.setdefault(decision.location, []).append(decision)
        self._number = {one.node: number for several in on_line.values() for number, one in enumerate(several, 1)}

    def experiment(self, turn: Turn) -> Experiment | None:
        """The experiment before it is made; None for one that words can't tell from another one."""
        decision, comes = turn.decision, self._blocks[turn.comes]
        outcome = truth(self._program.outcomes(decision.node).get(turn.comes, -1))
        action = "other"
        if len(decision.block.arms) > 2:
            action = f"line {comes.place.line}"
        elif turn.to and outcome is not None:
            action = str(outcome).lower()
        elif turn.to and not turn.time:
            return None
        number = self._number[decision.node]
        words = [decision.kind, *(["condition"] if decision.kind != CONDITION else []), *([str(number)] * (number > 1))]
        at, instance = decision.location, turn.instance if turn.time and len(decision.times) > 1 else EVERY
        place, guard = " ".join(words), self._blocks[turn.went].ends
        return Experiment(self._test, "switch", at.file, at.line, at.end_line, 0, place, instance, action, guard=guard)
