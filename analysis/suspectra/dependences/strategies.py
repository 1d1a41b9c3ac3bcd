"""Two other ways to choose the nodes that are altered next, for comparison (paper 002, Section 6.3)."""

from __future__ import annotations

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.dependences.narrowing import NarrowingSearch, NarrowingStep


class SingleStepSearch(NarrowingSearch):
    """Alters what is one dependence further from the failure in each step, to where paths begin."""

    def _choose(self, domain: Bools) -> Ints:
        """The nodes that the ends depend on."""
        graph = self._run.graph
        chosen = np.zeros(len(graph), bool)
        for end in self._ends:
            chosen[graph.sources_of(end)] = True
        chosen[[*self._ends, *self._begins]] = False
        return np.flatnonzero(chosen & domain)

    def _narrow(self, step: NarrowingStep) -> None:
        """As by the claims, but where nothing is polluted the search goes on one step further."""
        if step.polluted:
            super()._narrow(step)
        else:
            self._ends = step.cut


class BisectionSearch(NarrowingSearch):
    """Alters what is halfway between the begin and the end of the domain in each step."""

    def _choose(self, domain: Bools) -> Ints:
        """The nodes whose distance from the ends is half of the longest one."""
        between = domain & ~self._run.is_fixed
        between[[*self._ends, *self._begins]] = False
        distance = self._run.graph.distance(self._ends)
        levels = np.unique(distance[between])
        if not len(levels):
            return np.zeros(0, np.int64)
        return np.flatnonzero(between & (distance == levels[len(levels) // 2]))
