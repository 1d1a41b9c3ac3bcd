"""Two other ways to choose the nodes that are altered next, for comparison (paper 002, Section 6.3)."""

from __future__ import annotations

import numpy as np

from suspectra.arrays import Bools, Ints
from suspectra.dependences.narrowing import NarrowingSearch, Step


class SingleStepSearch(NarrowingSearch):
    """Alters what is one dependence further from the failure in each step, until nothing is polluted any more.

    Examples
    --------
    >>> from suspectra.dependences.graph import DependenceGraph
    >>> from suspectra.dependences.narrowing import FailingRun
    >>> class From:
    ...     def __init__(self, cause):
    ...         self.cause = cause
    ...     def polluted(self, nodes, wanted):
    ...         return nodes[0] >= self.cause
    >>> graph = DependenceGraph.from_edges(6, [(n, n + 1, 0) for n in range(5)])
    >>> no = np.zeros(6, bool)
    >>> run = FailingRun(graph, 5, no, no, np.arange(6) == 0, no, no)
    >>> search = SingleStepSearch(run, From(2))
    >>> [step.cut for step in search.steps()], search.causes.roots
    ([(4,), (3,), (2,), (1,)], (2,))
    """

    def _choose(self, domain: Bools) -> Ints:
        """The nodes that the ends depend on."""
        graph = self._run.graph
        chosen = np.zeros(len(graph), bool)
        for end in self._ends:
            chosen[graph.sources_of(end)] = True
        chosen[[*self._ends, *self._begins]] = False
        return np.flatnonzero(chosen & domain)

    def _narrow(self, step: Step) -> None:
        """As by the claims, but before anything was found polluted, the search goes on one step further."""
        if step.polluted or self._roots:
            super()._narrow(step)
        else:
            self._ends = step.cut


class BisectionSearch(NarrowingSearch):
    """Alters what is halfway between the begin and the end of the domain in each step.

    Examples
    --------
    >>> from suspectra.dependences.graph import DependenceGraph
    >>> from suspectra.dependences.narrowing import FailingRun
    >>> class From:
    ...     def __init__(self, cause):
    ...         self.cause = cause
    ...     def polluted(self, nodes, wanted):
    ...         return nodes[0] >= self.cause
    >>> graph = DependenceGraph.from_edges(9, [(n, n + 1, 0) for n in range(8)])
    >>> no = np.zeros(9, bool)
    >>> run = FailingRun(graph, 8, no, no, np.arange(9) == 0, no, no)
    >>> search = BisectionSearch(run, From(2))
    >>> [step.cut for step in search.steps()], search.causes.roots
    ([(4,), (2,), (1,)], (2,))
    """

    def _choose(self, domain: Bools) -> Ints:
        """The nodes whose distance from the ends is half of the longest one."""
        between = domain & ~self._run.is_fixed
        between[[*self._ends, *self._begins]] = False
        distance = self._run.graph.distance(self._ends)
        levels = np.unique(distance[between])
        if not len(levels):
            return np.zeros(0, np.int64)
        return np.flatnonzero(between & (distance == levels[len(levels) // 2]))
