"""Narrowing the causes of a failure: states of its dependence graph are altered, and what that shows (paper 002)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple, Protocol

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.dependences.graph import DependenceGraph

Combination = tuple[int, ...]
"""Nodes that are altered together."""

MAX_COMBINATION = 3
"""Nodes that are altered together at most: with more, one of them is rarely the reason."""

MAX_COMBINED = 8
"""Of a set with more nodes, each is altered alone only: there would be too many combinations."""


class Property(NamedTuple):
    """What makes a run count as repaired, and what makes that likely."""

    # decisions, and how they would come out; if one of the mappings holds as a whole, the failure is probably gone
    alternatives: tuple[Mapping[int, bool], ...]
    or_later: bool = False  # whether it is enough that the test fails later than it did


PASSES = Property(())
"""The test passes."""

GETS_FURTHER = Property((), or_later=True)
"""The test passes, or fails later than it did: another of its assertions fails, for example."""


class Alterations(Protocol):
    """Runs the failing test with altered states."""

    def polluted(self, nodes: Combination, wanted: Property) -> bool:
        """Whether the failure can disappear if these nodes have other values.

        False also where no other value is known.
        """


@dataclass(frozen=True, eq=False)
class FailingRun:
    """The dependences of a failing run, and what can be altered in it."""

    graph: DependenceGraph  # up to the failure
    failure: int  # the node at which the run fails
    is_decision: Bools  # whether a node is a decision; shape (nodes,)
    outcome: Bools  # how each decision came out; shape (nodes,)
    is_right: Bools  # whether a node counts as right, since it belongs to the test; shape (nodes,)
    is_input: Bools  # whether a node of the program holds an input as the test gave it
    is_fixed: Bools  # whether there is nothing in a node that could be altered; shape (nodes,)
    capacity: Ints | None = None  # what it costs to have each node in a cut, from 1 to 999: less for suspicious ones
    is_partial: Bools | None = None  # nodes of which only a part can be altered
    # values that are an input as the test gave it, under another name; nothing but the choice of it can be wrong there
    is_moved: Bools | None = None

    def without_right(self, known: Mapping[int, bool]) -> FailingRun:
        """Leave out what only leads to nodes that somebody knows to be right."""
        right = np.zeros(len(self.graph), bool)
        right[[node for node, is_right in known.items() if is_right]] = True
        graph = self.graph.without(right[self.graph.target])
        return replace(self, graph=graph, is_right=self.is_right | right) if right.any() else self

    def begins_at_right(self, domain: Bools) -> Bools:
        """Find where dependences enter a domain.

        Of shape (nodes,).
        """
        graph = self.graph
        from_outside = np.zeros(len(graph), bool)
        from_outside[graph.target[~domain[graph.source]]] = True
        depends_on_nothing = np.diff(graph.start) == 0
        return np.asarray(domain & (from_outside | depends_on_nothing) & ~self.is_right)


class NarrowingStep(NamedTuple):
    """One step of the search."""

    cut: Combination  # the nodes that were altered: in the search of the paper the minimum debugging frontier set
    # its members, and combinations of them, whose alteration can make the failure disappear
    polluted: tuple[Combination, ...]
    nodes: int  # how many nodes were left before the step

    @property
    def entities(self) -> Combination:
        """The nodes of all polluted combinations, ascending."""
        return tuple(sorted({node for combination in self.polluted for node in combination}))


@dataclass(frozen=True)
class FoundCauses:
    """What the search has found."""

    # the polluted nodes of the last step that has any, and first uses of inputs: the suspected causes
    roots: tuple[int, ...]
    # the polluted nodes of earlier steps, the latest step first: how the fault got to the failure
    transitive: tuple[int, ...]
    steps: tuple[NarrowingStep, ...]  # all steps


class NarrowingSearch(ABC):
    """Narrows the domain in which the causes are, by altering some of its nodes in each step (Algorithm 4)."""

    combines = False
    """Whether combinations of nodes are altered, too."""

    def __init__(
        self,
        run: FailingRun,
        alterations: Alterations,
        *,
        wanted: Property = PASSES,  # when the failure counts as gone at first
        wrong: Combination = (),  # nodes of which somebody knows that they are wrong
    ):
        self._run, self._alterations = run, alterations
        self._begins: tuple[int, ...] = ()
        self._ends: tuple[int, ...] = wrong or (run.failure,)
        self._outside = run.is_right | run.is_input if wrong else run.is_right.copy()  # as after a step that found them
        self._roots = wrong
        self._wanted = wanted
        self._wanted = self._property([(node,) for node in wrong]) or wanted
        self._first_uses: list[int] = []
        self._transitive: list[int] = []
        self._steps: list[NarrowingStep] = []
        self._found: list[Combination] = []

    @property
    def causes(self) -> FoundCauses:
        """What is known so far, also where the search was stopped in the middle of a step."""
        found = sorted({node for combination in self._found for node in combination})
        known = [*self._roots, *self._first_uses]
        roots = found or sorted(set(known))
        later = known if found else []
        transitive = tuple(node for node in (*later, *reversed(self._transitive)) if node not in roots)
        return FoundCauses(tuple(roots), transitive, tuple(self._steps))

    @property
    def between(self) -> tuple[Combination, Combination]:
        """The nodes between which the causes are: those that are right, none for the inputs, and the wrong ones."""
        return self._begins, self._ends

    def steps(self) -> Generator[NarrowingStep]:
        """Search until the domain can't be narrowed any further."""
        while len(chosen := self._choose(domain := self._domain())):
            self._found = []
            for combination in self._polluted(chosen):
                self._found.append(combination)
            step = NarrowingStep(tuple(chosen.tolist()), tuple(self._found), int(domain.sum()))
            self._found = []
            self._steps.append(step)
            self._narrow(step)
            yield step
            if step.polluted and not self._ends:
                return

    def left(self) -> int:
        """Count the nodes in which the causes may still be."""
        return int(self._domain().sum())

    @abstractmethod
    def _choose(self, domain: Bools) -> Ints:
        """The nodes to alter next; none at the end."""

    def _domain(self) -> Bools:
        """What is between the begins and the ends, with both."""
        graph = self._run.graph
        domain = graph.backward(self._ends) & ~self._outside
        if self._begins:
            domain &= graph.forward(self._begins)
        return np.asarray(domain)

    def _polluted(self, chosen: Ints) -> Generator[Combination]:
        """The polluted combinations: single nodes first, and none that holds a polluted one."""
        nodes = [node for node in chosen.tolist() if not self._run.is_fixed[node]]
        most = MAX_COMBINATION if self.combines and len(nodes) <= MAX_COMBINED else 1
        found: list[Combination] = []
        for size in range(1, min(len(nodes), most) + 1):
            if {node for one in found for node in one} == set(nodes):
                break
            for combination in combinations(nodes, size):
                known = any(set(one) <= set(combination) for one in found)
                if not known and self._alterations.polluted(combination, self._wanted):
                    found.append(combination)
                    yield combination
        values = tuple(node for node in nodes if not self._run.is_decision[node])
        if self.combines and not found and len(values) > most and self._alterations.polluted(values, self._wanted):
            yield self._needed(values)

    def _needed(self, together: Combination) -> Combination:
        """Leave out those nodes of a polluted combination without which the rest is polluted, too."""
        for node in together:
            rest = tuple(one for one in together if one != node)
            if len(rest) > 1 and self._alterations.polluted(rest, self._wanted):
                together = rest
        return together

    def _narrow(self, step: NarrowingStep) -> None:
        """Keep the part of the domain in which the causes are (Claims 3.2 and 3.3)."""
        run = self._run
        given = run.is_input if run.is_moved is None else run.is_input | run.is_moved
        roots = tuple(node for node in step.entities if not given[node])
        self._first_uses += [self._first_use(node) for node in step.entities if given[node]]
        if step.polluted:
            self._outside |= run.is_input
        if not roots:
            in_cut = np.zeros(len(run.graph), bool)
            in_cut[list(step.cut)] = True
            unsure = in_cut & ~run.is_fixed & (False if run.is_partial is None else run.is_partial)
            if unsure.any():
                self._run = replace(run, is_fixed=run.is_fixed | unsure)
            else:
                self._begins = step.cut
            return
        self._transitive += [node for node in self._roots if node not in self._transitive]
        self._roots = roots
        self._wanted = self._property(step.polluted) or self._wanted
        self._ends = self._roots

    def _first_use(self, node: int) -> int:
        """The first node of the present domain that reads an input; the node itself where it is such a use."""
        graph = self._run.graph
        if not self._run.is_input[node]:
            return node
        users = graph.target[graph.source == node]
        inside = users[graph.backward(self._ends)[users] & ~self._run.is_right[users]]
        return int(inside.min()) if len(inside) else node

    def _property(self, polluted: Sequence[Combination]) -> Property | None:
        """The decisions that have to come out the other way, if all polluted nodes that are left are decisions."""
        run, left = self._run, set(self._roots)
        usable = [one for one in polluted if set(one) <= left]
        if not usable or not all(run.is_decision[node] for one in usable for node in one):
            return None
        alternatives = tuple({node: not run.outcome[node] for node in one} for one in usable)
        return self._wanted._replace(alternatives=alternatives)
