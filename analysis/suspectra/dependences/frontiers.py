"""Minimum debugging frontier sets: narrowing the causes of a failure by cuts of its dependence graph (paper 002).

Three things differ from the paper. There each statement that depends on inputs alone counts as right, since only
`read` statements do; in Python a function computes with what the test gave it in its first statement, and the fault
may be there. So only nodes count that contain an input unchanged. And the paper's solver alters any state, but nobody
can alter an object whose content can't be written down: such a node is in no cut, since it would be altered in vain,
and all that it was made from would then count as right. Where all polluted states are decisions, it is not enough that
a run turns these: the paper ends the run there, but it may fail all the same, and here it goes on to its end. Of
several minimum cuts the one nearest to the failure is taken, as the text says; in the paper's Figure 4 it is another
one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.dependences.cuts import minimum_cut
from suspectra.dependences.narrowing import NarrowingSearch


class FrontierSearch(NarrowingSearch):
    """Alters a minimum cut of the domain in each step."""

    combines = True

    def _choose(self, domain: Bools) -> Ints:
        """The minimum debugging frontier set of the present domain (Definition 3.2).

        Paths without any node that can be altered say nothing, so they need no cut. To leave them out, nodes that can't
        be altered are there twice: as they are reached without an altered node before them, and behind one.
        """
        run, graph, nodes = self._run, self._run.graph, len(self._run.graph)
        can_alter = ~run.is_fixed
        is_end, is_begin = (_among(some, nodes) for some in (self._ends, self._begins))
        inner = domain[graph.source] & domain[graph.target] & ~is_begin[graph.target] & ~is_end[graph.source]
        source, target = graph.source[inner].astype(np.int64), graph.target[inner].astype(np.int64)
        behind = ~is_begin[source]  # edges behind an altered node
        before = (is_begin | run.is_fixed)[source] & ~is_end[target]
        first = np.where(can_alter, np.arange(nodes), nodes + np.arange(nodes))  # where a node is reached at first
        sources = np.concatenate([source[behind], nodes + source[before]])
        targets = np.concatenate([target[behind], first[target[before]]])
        if self._begins:
            begins = [nodes + begin for begin in self._begins]
        else:
            begins = [2 * nodes]
            entered = np.flatnonzero(run.begins_at_right(domain) & ~is_end)
            sources = np.concatenate([sources, np.full(len(entered), 2 * nodes)])
            targets = np.concatenate([targets, first[entered]])
        capacity = np.zeros(2 * nodes + 1, np.int64)
        capacity[:nodes] = 1 if run.capacity is None else run.capacity
        capacity[:nodes][run.is_fixed] = 0
        cut = minimum_cut(sources, targets, capacity, begins, self._ends)
        return np.zeros(0, np.int64) if cut is None else cut


def _among(nodes: Iterable[int], count: int) -> Bools:
    found = np.zeros(count, bool)
    found[list(nodes)] = True
    return found
