"""Looking for what makes the difference between a failing test and a passing one, from the input to the failure.

States of the two runs are compared before corresponding statements. What is different is put into the passing run, all
of it and then less and less, as long as the test then fails like the failing one (Zeller 2002). What is left is the
cause at that point. Bisection finds the statements after which the cause is another one (Cleve & Zeller 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np

from suspectra.base.cancellation import check
from suspectra.base.deadline import TimeIsUp
from suspectra.base.english import many, ordinal
from suspectra.base.errors import EvidenceError, Problem
from suspectra.experiments.altered_runs import Runs
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.paths.report import STATEMENT, PathReport, ReportedPlace
from suspectra.paths.searches.nearest_path import not_passing
from suspectra.paths.searches.recorded_statements import RecordedRun, RecordedStatements
from suspectra.paths.searches.search import PathSearcher, PathSearchLimits, PathSetting
from suspectra.paths.searches.state_pair import Side, StatePair
from suspectra.paths.structure import comparable_points
from suspectra.paths.transition_search import Transition, infection
from suspectra.runs.experiment import ExperimentOutcome

MAX_PASSING = 5
"""Passing tests whose runs are compared with that of the failing one, to choose the one with most in common."""

NOTHING_COMPARABLE = (
    "No passing test executes a statement for the same reason: record one that does nearly what the failing one does."
)
OUT_OF_TIME = "The time was up before all points were compared: give more seconds to see the other transitions."


class CauseTransitions(PathSearcher):
    """Looks for the cause transitions between a failing test and the passing one with most in common."""

    technique = "cause-transitions"

    def __init__(self, setting: PathSetting):
        super().__init__(setting)
        self.statements = RecordedStatements()  # has recorded the runs
        self.notes: list[str] = []  # what is to be said besides
        self._compared = 0
        self._in_vain: dict[tuple[object, ...], list[StatePair]] = {}  # pairs without a chain, by the reason

    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Compare with one passing test after the other, `MAX_PASSING` unless another limit is set, until one shows
        transitions.
        """
        name = self.setting.test.name
        runs = self.setting.tests.machine(name)
        failing = Side.for_test(runs, name, self._failing_states(runs))
        nearest = sorted(self.setting.passing, key=lambda other: _function(other) != _function(name))  # stable
        candidates: list[tuple[int, int, Side]] = []
        for order, other in enumerate(nearest[: limits.candidates or MAX_PASSING]):
            check()
            yield self._report()
            if limits.over:
                return
            try:
                passing = self._passing_side(other, limits.end)
            except TimeIsUp:
                return
            if passing is not None and (points := len(comparable_points(failing.run.path, passing.run.path))):
                candidates.append((-points, order, passing))
        if not candidates:
            self.notes.append(NOTHING_COMPARABLE)
        for _, _, passing in sorted(candidates, key=lambda one: one[:2]):
            is_last = yield from self._compare(failing, passing, limits.end)
            if is_last:
                return
        yield replace(self._report(), complete=True)

    def _compare(self, failing: Side, passing: Side, end: float) -> Generator[PathReport, None, bool]:
        """Look for the transitions between two runs; whether nothing else is to be compared after that."""
        self._compared += 1
        pair = StatePair(self.statements, failing, passing, end)
        report = self._report()
        for report in map(self._report, repeat(pair), pair.search()):
            yield report
        if pair.stopped:
            yield replace(report, notes=(*report.notes, OUT_OF_TIME))
        elif report.transitions:
            report = replace(report, complete=True, notes=(*self._said(), *pair.notes()))
            yield report
            if self.setting.options.ask is not None:
                yield self._infected(report, self.setting.options.ask)
        else:
            self._in_vain.setdefault(pair.reason, []).append(pair)
            return False
        return True

    @staticmethod
    def _infected(report: PathReport, ask: Callable[[str], bool | None]) -> PathReport:
        """Report what was executed between the last state that is right and the first that is wrong."""
        chain = report.transitions
        right, wrong = infection(chain, lambda one: ask(question_about(one)))
        if right < 0 and wrong == len(chain) - 1:
            return report
        between = chain[wrong:right:-1] if right >= 0 else chain[wrong::-1]
        report = replace(report, report=_statements(between))
        if wrong == 0:
            note = "The first cause is wrong already: the fault is in what was executed before."
        else:
            before = f"right {_since(chain[right])}" if right >= 0 else "not known to be right anywhere"
            after = f"wrong {_since(chain[wrong])}" if chain[wrong].places else "the test fails after all"
            note = f"By your answers the state is {before}, and {after}: the fault is probably executed in between."
        return replace(report, notes=(*report.notes, note))

    def _report(self, pair: StatePair | None = None, transitions: tuple[Transition, ...] = ()) -> PathReport:
        summary, notes = "", self._said()
        if pair is not None:
            summary = (
                f"{pair.passing.name} passes, and its states can be compared with those of {pair.failing.name} "
                f"before {len(pair.points):,} of {many(len(pair.failing.run.path), 'executed statement')}."
            )
            notes += pair.notes()
        return PathReport(
            self.technique,
            self.setting.test.name,
            _statements(transitions),
            pair.passing.other if pair is not None else None,
            (),
            self._compared,
            False,
            0.0,
            summary if transitions else "",
            None,
            tuple(notes),
            transitions,
        )

    def _said(self) -> list[str]:
        """What there is to say besides, by now."""
        in_vain = [pairs[0].why_not([one.passing.name for one in pairs]) for pairs in self._in_vain.values()]
        return [*self.notes, *in_vain]

    def _passing_side(self, test: str, end: float) -> Side | None:
        try:
            runs = self.setting.tests.machine(test, end)
            run = self.statements.record(runs, test, TRACE_S, end)
        except EvidenceError as error:
            self.problems.append(error.problem)
            return None
        if run.answer.outcome is ExperimentOutcome.PASSED:
            return Side.for_test(runs, test, run)
        self.problems.append(not_passing(test))
        return None

    def _failing_states(self, runs: Runs) -> RecordedRun:
        """Record the statements of the failing test, the same ones twice."""
        name = self.setting.test.name
        first, again = (self.statements.record(runs, name, TRACE_S) for _ in range(2))
        self.require_failure(first.answer)
        if not len(first.path):
            cause = f"{name} executes no function of the program"
            cure = "choose a test that executes code of the workspace"
        elif (at := _parting(first, again)) is not None:
            where = self.statements.locations[int(first.path.statement[at])].short
            cause = f"two runs of {name} execute different statements, from {where} on"
            cure = "let it not depend on time, chance, threads or what ran before"
        else:
            return first
        raise EvidenceError(Problem("", "", cause, cure))


def question_about(step: Transition) -> str:
    """Ask whether the cause of a transition is right."""
    places = " and ".join(f"`{one.place}` is {one.failing} in {one.function}" for one in step.places)
    time_ = "" if step.instance == 1 else f" the {ordinal(step.instance)} time"
    return f"{places}, {'before' if step.first else 'after'} {step.location.short}{time_}: right?"


def _since(step: Transition) -> str:
    return f"{'before' if step.first else 'after'} {step.location.short}"


def _statements(transitions: Sequence[Transition]) -> tuple[ReportedPlace, ...]:
    """The statements of transitions, then those around them; each once."""
    named = [ReportedPlace(one.location, STATEMENT, one.instance, None, None) for one in transitions]
    named += [ReportedPlace(location, STATEMENT, 1, None, None) for one in transitions for location in one.around]
    by_location = {one.location: one for one in reversed(named)}
    return tuple(sorted(by_location.values(), key=named.index))


def _function(test: str) -> str:
    """The name of a test without the case of a parametrised one."""
    return test.partition("[")[0]


def _parting(one: RecordedRun, other: RecordedRun) -> int | None:
    """The position of the first statement that is different."""
    ours, theirs = one.path.statement, other.path.statement
    shared = min(len(ours), len(theirs))
    differing = np.flatnonzero(ours[:shared] != theirs[:shared])
    if len(differing):
        return int(differing[0])
    return None if len(ours) == len(theirs) else min(shared, len(ours) - 1)
