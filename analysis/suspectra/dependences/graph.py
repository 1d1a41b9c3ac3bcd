"""The dynamic dependence graph of one run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, dijkstra

from suspectra.base.arrays import Bools, Ints


class DependenceKind(IntEnum):
    """Why a node depends on another one (paper 002, Section 3.1)."""

    FLOW = 0
    """It reads what the other one wrote."""
    CONTROL = 1
    """The decision of the other one is the reason that it is executed."""
    SUMMARY = 2
    """With another decision something that it reads would have been written."""
    CHANGE = 3
    """The decision of the other one led to what may have changed something that it reads."""


@dataclass(frozen=True, eq=False)
class DependenceGraph:
    """Instances of statements, and what each of them depends on.

    Nodes are numbered in the order in which they end, so that each depends on lower numbers only.
    """

    site: Ints  # the statement of each node, as an index into a table of the run; shape (nodes,)
    # which time it was executed in the run, from 1; 0 if it was executed before, while its module was imported; shape
    # (nodes,)
    instance: Ints
    start: Ints  # the first index of each node's dependences in `source`, then their number; shape (nodes + 1,)
    source: Ints  # the nodes that it depends on; shape (dependences,)
    kind: Ints  # the `DependenceKind` of each dependence; shape (dependences,)

    @classmethod
    def from_edges(cls, nodes: int, edges: Iterable[tuple[int, int, int]]) -> DependenceGraph:
        """Make a graph, each node of which is the only instance of its statement.

        With the edges sorted by the node that depends.

        Raises ValueError when a node depends on itself or on a later one.
        """
        table = np.array(list(edges), np.int32).reshape(-1, 3)
        if np.any(table[:, 0] >= table[:, 1]):
            raise ValueError("a node depends on earlier ones only")
        table = table[np.lexsort((table[:, 0], table[:, 1]))]
        start = np.searchsorted(table[:, 1], np.arange(nodes + 1))
        every = np.arange(nodes, dtype=np.int32)
        return cls(every, np.ones(nodes, np.int32), start, table[:, 0], table[:, 2].astype(np.int8))

    def __len__(self) -> int:
        return len(self.site)

    @cached_property
    def target(self) -> Ints:
        """The node that has each dependence; int32, shape (dependences,)."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.start))

    def sources_of(self, node: int) -> Ints:
        """Return the nodes that a node depends on.

        Of shape (k,). In the order of the table.
        """
        return self.source[self.start[node] : self.start[node + 1]]

    def users_of(self, node: int) -> Ints:
        """Return the nodes that depend on a node.

        Of shape (k,).
        """
        target, start = self._turned
        return target[start[node] : start[node + 1]]

    def backward(self, ends: Iterable[int]) -> Bools:
        """Compute the backward slice: what some nodes depend on, directly or not.

        Of shape (nodes,). True also for the ends themselves.
        """
        return _reached(self.source, self.start, len(self), ends)

    def forward(self, begins: Iterable[int]) -> Bools:
        """Compute the forward slice: what depends on some nodes, directly or not.

        Of shape (nodes,). True also for the begins themselves.
        """
        target, start = self._turned
        return _reached(target, start, len(self), begins)

    def chop(self, begins: Iterable[int], ends: Iterable[int]) -> Bools:
        """Compute what lies on paths from some nodes to others: DDG⟨begins, ends⟩ of paper 002.

        Of shape (nodes,). True also for the begins and ends that a path joins.
        """
        return np.asarray(self.forward(begins) & self.backward(ends))

    def distance(self, ends: Iterable[int]) -> Ints:
        """Count the dependences between nodes and what depends on them.

        Of shape (nodes,). The length of the shortest chain from each node to an end; -1 where there is none.
        """
        edges = _with_begin(self.source, self.start, ends)
        steps = dijkstra(edges, indices=np.array([len(self)]), unweighted=True)[0, :-1]
        return np.where(np.isfinite(steps), steps - 1, -1).astype(np.int64)

    def hops(self, begins: Iterable[int]) -> Ints:
        """Count the dependences between nodes in any direction.

        Of shape (nodes,). For each node that of the nearest begin; -1 where nothing joins them.
        """
        target, start = self._turned
        both = _with_begin(self.source, self.start, begins)
        both = both + _with_begin(target, start, begins)
        steps = dijkstra(both, indices=np.array([len(self)]), unweighted=True)[0, :-1]
        return np.where(np.isfinite(steps), steps - 1, -1).astype(np.int64)

    def without(self, dependences: Bools) -> DependenceGraph:
        """Leave dependences out; of shape (dependences,)."""
        kept = ~dependences
        start = np.concatenate([[0], np.cumsum(kept)])[self.start]
        return DependenceGraph(self.site, self.instance, start, self.source[kept], self.kind[kept])

    def restricted_to(self, nodes: Bools) -> DependenceGraph:
        """Leave nodes out."""
        number = np.cumsum(nodes, dtype=np.int32) - 1
        kept = nodes[self.source] & nodes[self.target]
        start = np.searchsorted(number[self.target[kept]], np.arange(np.count_nonzero(nodes) + 1))
        return DependenceGraph(
            self.site[nodes], self.instance[nodes], start, number[self.source[kept]], self.kind[kept]
        )

    @cached_property
    def by_source(self) -> tuple[Ints, Ints]:
        """The dependences in the order of what they depend on, and where those on each node begin."""
        order = np.argsort(self.source, kind="stable")
        return order, np.searchsorted(self.source[order], np.arange(len(self) + 1))

    @cached_property
    def _turned(self) -> tuple[Ints, Ints]:
        """The nodes that depend on each node, and where each one's begin."""
        order, start = self.by_source
        return self.target[order], start


def _reached(neighbour: Ints, start: Ints, nodes: int, begins: Iterable[int]) -> Bools:
    found = np.zeros(nodes + 1, bool)
    found[breadth_first_order(_with_begin(neighbour, start, begins), nodes, return_predecessors=False)] = True
    return found[:-1]


def _with_begin(neighbour: Ints, start: Ints, begins: Iterable[int]) -> csr_array[np.int8, tuple[int, int]]:
    """The edges from each node to its neighbours, and those from one more node to where paths begin."""
    indices = np.concatenate([neighbour, np.unique(np.fromiter(begins, np.int64))]).astype(np.int32)
    pointers = np.append(start, len(indices)).astype(np.int32)
    size = len(start)
    return csr_array((np.ones(len(indices), np.int8), indices, pointers), shape=(size, size))
