"""The search for the causes of one failure, over a trace and altered runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace

import numpy as np

from suspectra.arrays import Bools
from suspectra.cancellation import check
from suspectra.causes.alterations import StateAlterations
from suspectra.causes.failing_run import At, Read, capacities, constants, failing_run
from suspectra.causes.report import CauseReport, Narrowing, State, States
from suspectra.causes.techniques import DEFAULT, TECHNIQUES
from suspectra.dependences.narrowing import GETS_FURTHER, MAX_COMBINATION, PASSES, FailingRun, NarrowingSearch
from suspectra.dependences.trace import DependenceTrace
from suspectra.errors import EvidenceError, Problem
from suspectra.experiments.deadline import TimeIsUp
from suspectra.experiments.unusable import CURE_OF_A_PASS

MAX_INSTANCES = 10
"""Times of a statement that are altered to find out whether it explains another failure, the last ones."""


class CauseSearch:
    """Searches for the causes of one failure.

    Parameters
    ----------
    trace : DependenceTrace
        Of the failing test.
    alterations : StateAlterations
        Runs it with other states.
    technique : str
        A name of `suspectra.causes.techniques.TECHNIQUES`.
    read : callable
        Gives the source of a file, None if it can't be read.
    at : callable
        How suspicious the statement in a file at a line is; for weighted techniques.
    passes : callable
        Whether a passing test executes the statement in a file at a line; for weighted techniques.
    harmful : callable
        Whether no other values may be put into the states of a file.

    Attributes
    ----------
    fails_later : bool
        Whether the test is not made to pass, but to fail later.
    left_alone : frozenset of str
        Files that led to the failure, and in which no other values may be put.

    Raises
    ------
    EvidenceError
        When there is nothing that could be altered.

    Examples
    --------
    The test passes with another value of line 5:

    >>> from suspectra.causes.alterations import KnownValues
    >>> from suspectra.causes.states import Point
    >>> from suspectra.dependences.graph import DependenceGraph
    >>> from suspectra.dependences.trace import Site
    >>> from suspectra.experiment import Outcome
    >>> from suspectra.experiments.replacing import NotedValues, ValuePlace
    >>> from suspectra.experiments.answers import Answer
    >>> def run(job, *, end=0.0):
    ...     repaired = any(value["number"] == 1 and value["text"] == "i4" for value in job["replaced"])
    ...     return Answer(Outcome.PASSED if repaired else Outcome.FAILED, 0.1, "" if repaired else "AssertionError")
    >>> graph = DependenceGraph.from_edges(4, [(0, 1, 0), (1, 2, 0), (2, 3, 0)])
    >>> sites = tuple(Site("cart.py", line, line, 4, "value", n) for n, line in enumerate((2, 5, 9)))
    >>> sites += (Site("test_cart.py", 3, 3, 4, "assert", -1),)
    >>> call, no = np.zeros(4, np.int32), np.full(4, -1, np.int8)
    >>> trace = DependenceTrace("test_cart", sites, graph, call, no, ["7", "8", "9", ""], 3, np.arange(4) == 3, ())
    >>> places = [ValuePlace("cart.py", n, "assignment", "x", line, 4, line) for n, line in enumerate((2, 5, 9))]
    >>> noted = NotedValues({place: [f"i{7 + n}"] for n, place in enumerate(places)}, {}, ("i9", "i4"))
    >>> points = {n: Point("cart.py", n, 1) for n in range(3)}
    >>> search = CauseSearch(trace, StateAlterations(run, points, frozenset(), KnownValues(noted)), "single-step")
    >>> for step in search.steps():
    ...     print(step)
    the search goes on before cart.py:9
    the search goes on before cart.py:5
    the search goes on between cart.py:2 and cart.py:5
    >>> [str(state) for state in search.report.roots], search.report.complete
    (['cart.py:5: 8'], True)
    >>> str(search.explained_by([State("cart.py", 2, 2, 1, "7"), State("cart.py", 5, 5, 1, "8")]))
    'cart.py:5: 8'
    """

    def __init__(
        self,
        trace: DependenceTrace,
        alterations: StateAlterations,
        technique: str = DEFAULT,
        *,
        read: Read = lambda file: None,
        at: At = lambda file, line: 1.0,
        passes: Callable[[str, int], bool] = lambda file, line: False,
        harmful: Callable[[str], bool] = lambda file: False,
    ):
        self._began = time.monotonic()
        self._half = self._began + (alterations.end - self._began) / 2
        self._trace, self._alterations = trace, alterations
        self._states = States(trace)
        self._steps: list[Narrowing] = []
        self._complete = False
        chosen = TECHNIQUES[technique]
        harm = _harmful(trace, harmful)
        unknown, partial = _unknown_values(alterations, len(trace.graph))
        left_out = harm | unknown
        if chosen.weighted:
            left_out |= constants(trace, passes)
        check()
        run = replace(failing_run(trace, read, left_out=left_out), is_partial=partial)
        check()
        self.left_alone = _files(trace, run, harm)
        _require_something_to_alter(trace, run, harm)
        if chosen.weighted:
            run = replace(run, capacity=capacities(trace, at))
        self._can_alter = ~run.is_fixed & ~run.is_right & ~trace.is_test
        self._search: NarrowingSearch = chosen.load()(run, alterations)
        self._search_later: NarrowingSearch = chosen.load()(run, alterations, wanted=GETS_FURTHER)
        self.fails_later = False

    def explained_by(self, known: Iterable[State]) -> State | None:
        """Find out whether what caused another failure causes this one, too.

        That is so if this failure can disappear as well when the same statement does something else: once, at one of
        the last times that matter, or at several of them.

        Parameters
        ----------
        known : iterable of State
            Root causes of other failures.

        Returns
        -------
        State or None
            The first one that explains this failure.
        """
        for state in known:
            nodes = self._instances(state)
            together = [tuple(nodes)] if 1 < len(nodes) <= MAX_COMBINATION else []
            try:
                if any(self._alterations.polluted(one, PASSES) for one in [*((node,) for node in nodes), *together]):
                    return state
            except TimeIsUp:
                return None
        return None

    def _instances(self, state: State) -> list[int]:
        """The last times that a statement did something on which the failure depends."""
        trace = self._trace
        here = [site.place == state.place for site in trace.sites]
        matters = trace.graph.backward([trace.failure]) & self._can_alter & np.array(here, bool)[trace.graph.site]
        nodes = [node for node in np.flatnonzero(matters).tolist() if node in self._alterations.points]
        return nodes[: -MAX_INSTANCES - 1 : -1]

    def steps(self) -> Generator[Narrowing]:
        """Search until the causes can't be narrowed down any further, or the time is up.

        Where nothing makes the test pass, but something makes it fail later, there is a second search for what does
        that: a fault often breaks several assertions of a test, and one state repairs one of them. The first search
        gets half of the time then.

        Yields
        ------
        Narrowing
            As each is known; `report` is then up to date. Close the generator to stop early.
        """
        alterations = self._alterations
        alterations.end_if_later = self._half
        self._complete = yield from self._narrowed()
        if not self._search.causes.roots and alterations.further:
            self._search, self.fails_later = self._search_later, True
            self._complete &= yield from self._narrowed()

    def _narrowed(self) -> Generator[Narrowing, None, bool]:
        """Narrow down as far as it goes; whether that was to the end."""
        search, states = self._search, self._states
        try:
            for step in search.steps():
                after, before = search.between
                left = search.left() if before else 0
                cut = states.members(step.cut, step.entities)
                made = Narrowing(
                    cut, states.all(after), states.all(before), step.nodes, left, fails_later=self.fails_later
                )
                self._steps.append(made)
                yield made
        except TimeIsUp:
            return False
        return True

    @property
    def report(self) -> CauseReport:
        """What is known so far."""
        causes, states = self._search.causes, self._states
        return CauseReport(
            self._trace.test,
            states.all(causes.roots),
            states.all(causes.transitive),
            states.around(causes.roots),
            states.chain(causes),
            tuple(self._steps),
            self._alterations.count,
            self._complete,
            time.monotonic() - self._began,
            self.fails_later,
        )


def _harmful(trace: DependenceTrace, harmful: Callable[[str], bool]) -> Bools:
    """Assigned values of files in which wrong ones may do harm; decisions have no other values than their own."""
    files = {site.file: harmful(site.file) for site in trace.sites if site.kind == "value"}
    of_site = np.array([site.kind == "value" and files[site.file] for site in trace.sites], bool)
    return of_site[trace.graph.site]


def _files(trace: DependenceTrace, run: FailingRun, nodes: Bools) -> frozenset[str]:
    """The files of those nodes that led to the failure."""
    led_to_it = run.graph.backward([run.failure] if run.failure >= 0 else [])
    sites = np.unique(trace.graph.site[led_to_it & nodes & ~trace.is_test])
    return frozenset(trace.sites[site].file for site in sites.tolist())


def _unknown_values(alterations: StateAlterations, nodes: int) -> tuple[Bools, Bools]:
    """Assigned values of which nothing could be written down, and those of which only numbers inside could."""
    unknown, partial = np.zeros(nodes, bool), np.zeros(nodes, bool)
    for node, point in alterations.points.items():
        if node not in alterations.decisions:
            parts = alterations.values.at(point)
            unknown[node] = not parts
            partial[node] = bool(parts) and () not in parts
    return unknown, partial


def _require_something_to_alter(trace: DependenceTrace, run: FailingRun, harm: Bools) -> None:
    led_to_it = run.graph.backward([run.failure] if run.failure >= 0 else [])
    if run.failure < 0:
        cause, cure = f"{trace.test} passes when it runs alone", CURE_OF_A_PASS
    elif not (led_to_it & ~trace.is_test).any():
        cause = f"the failure of {trace.test} depends on nothing that the program does"
        cure = "look at the test itself, at its fixtures, and at what runs in other processes"
    elif not (led_to_it & ~run.is_fixed & ~run.is_right).any():
        cause = f"the failure of {trace.test} depends on no decision and no assigned value that can be altered"
        other = "run `suspectra investigate`, which also alters what the trace does not connect with the failure"
        harmful = bool((led_to_it & harm).any())
        cure = f"allow more with --all-modules, best with --copy, or {other}" if harmful else other
    else:
        return
    raise EvidenceError(Problem("", "", cause, cure))
