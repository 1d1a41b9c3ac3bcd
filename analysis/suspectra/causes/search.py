"""The search for the causes of one failure, over a trace and altered runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace

import numpy as np

from suspectra.base.arrays import Bools
from suspectra.base.cancellation import check
from suspectra.base.deadline import TimeIsUp
from suspectra.base.errors import EvidenceError, Problem
from suspectra.causes.alterations import StateAlterations
from suspectra.causes.failing_run import At, Read, capacities, constants, failing_run
from suspectra.causes.judgements import Ask, JudgedAlterations, Judgement, judged
from suspectra.causes.report import CauseReport, CauseState, CauseStates, ConfirmingChange, Narrowing
from suspectra.causes.techniques import DEFAULT, TECHNIQUES
from suspectra.dependences.narrowing import (
    GETS_FURTHER,
    MAX_COMBINATION,
    PASSES,
    FailingRun,
    FoundCauses,
    NarrowingSearch,
)
from suspectra.dependences.trace import DependenceTrace
from suspectra.experiments.unusable_tests import CURE_OF_A_PASS
from suspectra.runs.experiment import EVERY, THIS, Experiment, ExperimentOutcome

MAX_INSTANCES = 10
"""Times of a statement that are altered to find out whether it explains another failure, the last ones."""


class CauseNarrowing:
    """Searches for the causes of one failure.

    Raises EvidenceError when there is nothing that could be altered.
    """

    def __init__(
        self,
        trace: DependenceTrace,
        alterations: StateAlterations,
        technique: str = DEFAULT,
        *,
        read: Read = lambda file: None,  # gives the source of a file, None if it can't be read
        at: At = lambda file, line: 1.0,
        passes: Callable[[str, int], bool] = lambda file, line: False,
        values_shown: bool = True,
        judgements: Iterable[Judgement] = (),
        ask: Ask | None = None,
    ):
        self._began = time.monotonic()
        self._half = self._began + (alterations.end - self._began) / 2
        self._trace, self.alterations, self._at = trace, alterations, at
        self._values_shown = values_shown
        self._states = CauseStates(trace if values_shown else trace.without_values())
        self._steps: list[Narrowing] = []
        self._examined: set[int] = set()
        self._complete = False
        chosen = TECHNIQUES[technique]
        left_out, partial = _unknown_values(alterations, len(trace.graph))
        if chosen.weighted:
            left_out |= constants(trace, passes)
        check()
        run = replace(failing_run(trace, read, left_out=left_out), is_partial=partial)
        check()
        _require_something_to_alter(trace, run)
        if chosen.weighted:
            run = replace(run, capacity=capacities(trace, at))
        self._can_alter = ~run.is_fixed & ~run.is_right & ~trace.is_test
        led_to_it = np.flatnonzero(run.graph.backward([run.failure]) & self._can_alter).tolist()
        known = judged(judgements, {node: self._states.for_node(node) for node in led_to_it}, run.graph.site)
        run, wrong = run.without_right(known), tuple(node for node, right in known.items() if not right)
        self.judged = JudgedAlterations(alterations, known, self._states.for_node, ask)
        self.search: NarrowingSearch = chosen.load()(run, self.judged, wrong=wrong)
        self._search_later: NarrowingSearch = chosen.load()(run, self.judged, wanted=GETS_FURTHER, wrong=wrong)
        self.change: ConfirmingChange | None = None  # what confirms one of the causes
        self.fails_later = False  # whether the test is not made to pass, but to fail later

    def explained_by(self, known: Iterable[CauseState]) -> CauseState | None:
        """Find out whether what caused another failure causes this one, too.

        That is so if this failure can disappear as well when the same statement does something else: once, at one of
        the last times that matter, or at several of them.

        The first one that explains this failure.
        """
        for state in known:
            nodes = self._instances(state)
            together = [tuple(nodes)] if 1 < len(nodes) <= MAX_COMBINATION else []
            try:
                if any(self.alterations.polluted(one, PASSES) for one in [*((node,) for node in nodes), *together]):
                    return state
            except TimeIsUp:
                return None
        return None

    def _instances(self, state: CauseState) -> list[int]:
        """The last times that a statement did something on which the failure depends."""
        trace = self._trace
        here = [site.place == state.place for site in trace.sites]
        matters = trace.graph.backward([trace.failure]) & self._can_alter & np.array(here, bool)[trace.graph.site]
        nodes = [node for node in np.flatnonzero(matters).tolist() if node in self.alterations.points]
        return nodes[: -MAX_INSTANCES - 1 : -1]

    def steps(self) -> Generator[Narrowing]:
        """Search until the causes can't be narrowed down any further, or the time is up.

        Where nothing makes the test pass, but something makes it fail later, there is a second search for what does
        that: a fault often breaks several assertions of a test, and one state repairs one of them. The first search
        gets half of the time then.
        """
        alterations = self.alterations
        alterations.end_if_later = self._half
        self._complete = yield from self._narrowed()
        if not self.search.causes.roots and alterations.further:
            self.search, self.fails_later = self._search_later, True
            self._complete &= yield from self._narrowed()

    def _narrowed(self) -> Generator[Narrowing, None, bool]:
        """Narrow down as far as it goes; whether that was to the end."""
        search, states = self.search, self._states
        try:
            for step in search.steps():
                after, before = search.between
                left = search.left() if before else 0
                cut = states.members(step.cut, step.entities)
                self._examined.update(node for node in step.cut if self._can_alter[node])
                made = Narrowing(
                    cut, states.all(after), states.all(before), step.nodes, left, fails_later=self.fails_later
                )
                self._steps.append(made)
                yield made
        except TimeIsUp:
            return False
        return True

    def experiments(self) -> Iterator[Experiment]:
        """What was altered alone, and whether the test passed then, as evidence for rankings."""
        site = self._trace.graph.site
        for node, value in self.alterations.alone.items():
            state = self._states.for_node(node)
            decides = node in self.alterations.decisions
            known = value if value and self._values_shown else ""
            once = np.count_nonzero(site == site[node]) == 1
            yield Experiment(
                self._trace.test,
                "switch" if decides else "value",
                state.file,
                state.line,
                state.end_line,
                state.column,
                "if" if decides else THIS if known else "another value here",
                EVERY if once else state.instance,
                "other" if decides else "state",
                ExperimentOutcome.FAILED if value is None else ExperimentOutcome.PASSED,
                detail=state.operand if decides else known,
            )

    def _by_suspicion(self, nodes: Iterable[int]) -> tuple[int, ...]:
        """Put what all tests have to be set up last: the first root is the one whose way to the failure is shown.

        Other states that make up for the fault are often executed by passing tests, too, and the fault by few.
        """
        sites, site = self._trace.sites, self._trace.graph.site

        def suspicion(node: int) -> float:
            at = sites[site[node]]
            return self._at(at.file, at.line)

        return tuple(sorted(nodes, key=suspicion, reverse=True))

    @property
    def report(self) -> CauseReport:
        """What is known so far."""
        causes, states = self.search.causes, self._states
        causes = self._confirmed(replace(causes, roots=self._by_suspicion(causes.roots)))
        return CauseReport(
            self._trace.test,
            states.all(causes.roots),
            states.all(self._by_suspicion(causes.transitive)),
            states.around(causes.roots),
            states.chain(causes),
            tuple(self._steps),
            self.alterations.count,
            self._complete,
            time.monotonic() - self._began,
            self.fails_later,
            len(self._examined),
            states.all(self._guessed()),
            self.change,
        )

    def _confirmed(self, causes: FoundCauses) -> FoundCauses:
        """Put the state first whose statement a change confirms: the search may have gone past it."""
        if self.change is None:
            return causes
        known = (*causes.roots, *causes.transitive)
        first = next((node for node in known if self.change.is_of(self._states.for_node(node))), None)
        if first is None:
            return causes
        roots = (first, *(node for node in causes.roots if node != first))
        return replace(causes, roots=roots, transitive=tuple(one for one in causes.transitive if one != first))

    @property
    def polluted(self) -> tuple[CauseState, ...]:
        """All states with which the test would pass if they were others."""
        causes = self.search.causes
        return self._states.all((*causes.roots, *causes.transitive))

    def _guessed(self) -> list[int]:
        """What counts as right at last, and has no value that the failed comparison suggests in its place."""
        altered, (right, _) = self.alterations, self.search.between
        values = [node for node in right if node in altered.points and node not in altered.decisions]
        unknown = [node for node in values if node not in self.judged.known]
        return [node for node in unknown if not altered.values.counterparts(altered.points[node])]


def _unknown_values(alterations: StateAlterations, nodes: int) -> tuple[Bools, Bools]:
    """Assigned values of which nothing could be written down, and those of which only numbers inside could."""
    unknown, partial = np.zeros(nodes, bool), np.zeros(nodes, bool)
    for node, point in alterations.points.items():
        if node not in alterations.decisions:
            parts = alterations.values.at(point)
            unknown[node] = not parts
            partial[node] = bool(parts) and () not in parts
    return unknown, partial


def _require_something_to_alter(trace: DependenceTrace, run: FailingRun) -> None:
    led_to_it = run.graph.backward([run.failure] if run.failure >= 0 else [])
    if run.failure < 0:
        cause, cure = f"{trace.test} passes when it runs alone", CURE_OF_A_PASS
    elif not (led_to_it & ~trace.is_test).any():
        cause = f"the failure of {trace.test} depends on nothing that the program does"
        cure = "look at the test itself, at its fixtures, and at what runs in other processes"
    elif not (led_to_it & ~run.is_fixed & ~run.is_right).any():
        cause = f"the failure of {trace.test} depends on no decision and no assigned value that can be altered"
        cure = "run `suspectra investigate`, which also alters what the trace does not connect with the failure"
    else:
        return
    raise EvidenceError(Problem("", "", cause, cure))
