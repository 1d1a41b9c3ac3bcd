"""What still holds of numbers that were found function by function: those of functions whose edges count the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from suspectra.arrays import Ints
from suspectra.program.control_flow import ControlFlow
from suspectra.spectrum import Counts, ranges

ScalarT = TypeVar("ScalarT", bound=np.generic)


class Solution(Protocol):
    """Numbers for the edges and blocks of a control flow, found from the counts of the edges.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> Found = make_dataclass("Found", ["flow", "counts"])
    >>> previous: Solution = Found(ControlFlow(()), Counts(np.zeros(0), np.zeros(0), 1, 1))
    >>> Reuse(previous.flow, previous.counts, previous).graphs.tolist()
    []
    """

    @property
    def flow(self) -> ControlFlow:
        """The blocks and edges that the numbers are of."""

    @property
    def counts(self) -> Counts:
        """Of the spectrum's edges, from which the numbers follow."""


@dataclass(frozen=True, eq=False)
class Reuse:
    """A solution before a change, and what of it holds after.

    What a function's blocks and edges are given follows from its flow graph, from the counts of its edges, and from
    how many tests failed and passed. Where all of this is as it was, so is what was found.

    Parameters
    ----------
    flow : ControlFlow
        The flow graphs, now.
    counts : Counts
        Of the spectrum's edges, now.
    previous : Solution or None
        With None nothing is reused.

    Examples
    --------
    >>> from suspectra.program.flow_graph import FlowGraph
    >>> from suspectra.techniques.flow_report import EdgeScores
    >>> graph = FlowGraph.from_edges(0, 3, [(0, 1, 0), (1, 2, 1)], [(1, 0)])
    >>> flow, counts = ControlFlow((graph.table,)), Counts(np.array([1, 1]), np.array([0, 1]), 1, 1)
    >>> found = EdgeScores(flow, counts, np.array([1.0, 1.0, 0.7]), np.array([1.0, 0.7]))
    >>> reuse = Reuse(flow, counts, found)
    >>> reuse.graphs.tolist(), reuse.edges(found.edge_score, np.float64).tolist()
    ([], [1.0, 0.7])
    >>> Reuse(flow, Counts(np.array([1, 0]), counts.ep, 1, 1), found).graphs.tolist()
    [0]
    """

    flow: ControlFlow
    counts: Counts
    previous: Solution | None

    @cached_property
    def graphs(self) -> Ints:
        """The graphs to be solved anew, ascending."""
        stays = np.zeros(len(self.flow), bool)
        pairs = self._pairs
        if pairs is not None:
            previous, now, _ = pairs
            stays[now] = True
            edges, old = self._edges
            column, old_column = self.flow.edge[edges], previous.flow.edge[old]
            differs = (self.counts.ef[column] != previous.counts.ef[old_column]) | (
                self.counts.ep[column] != previous.counts.ep[old_column]
            )
            differs &= column >= 0
            stays[self.flow.graph_of_edge[edges[differs]]] = False
        return np.flatnonzero(~stays)

    def edges(self, old: NDArray[ScalarT] | None, kind: type[ScalarT]) -> NDArray[ScalarT]:
        """A number of each edge, to be filled in where the graph is to be solved.

        Parameters
        ----------
        old : ndarray, shape (edges of the flow before,), optional
            What the solution before has for its edges.
        kind : type
            Of the numbers.

        Returns
        -------
        ndarray, shape (edges of the flow,)
            What still holds; 0 where the graph is to be solved.
        """
        return self._moved(old, len(self.flow.edge), self._edges, kind)

    def blocks(self, old: NDArray[ScalarT] | None, kind: type[ScalarT]) -> NDArray[ScalarT]:
        """A number of each block, to be filled in where the graph is to be solved; see :meth:`edges`.

        Parameters
        ----------
        old : ndarray, shape (blocks before,), optional
            What the solution before has for its blocks.
        kind : type
            Of the numbers.

        Returns
        -------
        ndarray, shape (blocks,)
            What still holds; 0 where the graph is to be solved.
        """
        return self._moved(old, self.flow.blocks, self._blocks, kind)

    def _moved(
        self, old: NDArray[ScalarT] | None, size: int, places: tuple[Ints, Ints], kind: type[ScalarT]
    ) -> NDArray[ScalarT]:
        if old is not None and self._same_flow:
            return old.copy()
        values, (now, then) = np.zeros(size, kind), places
        if old is not None and len(now):
            values[now] = old[then]
        return values

    @property
    def _same_flow(self) -> bool:
        return self.previous is not None and self.previous.flow is self.flow

    @cached_property
    def _pairs(self) -> tuple[Solution, Ints, Ints] | None:
        """The solution before, graphs now, and the same graphs before; None where no graph is the same."""
        previous = self.previous
        if previous is None or (previous.counts.failed, previous.counts.passed) != (
            self.counts.failed,
            self.counts.passed,
        ):
            return None
        if self._same_flow:
            every = np.arange(len(self.flow))
            return previous, every, every
        place = {id(table.made or table): number for number, table in enumerate(previous.flow.tables)}
        found = np.array([place.get(id(table.made or table), -1) for table in self.flow.tables], np.int64)
        now = np.flatnonzero(found >= 0)
        first, old = self.flow.first_graph, previous.flow.first_graph
        then = found[now]
        graphs = ranges(first[now], first[now + 1])
        return (previous, graphs, ranges(old[then], old[then + 1])) if len(graphs) else None

    @cached_property
    def _edges(self) -> tuple[Ints, Ints]:
        return self._spans(lambda flow: flow.first_edge)

    @cached_property
    def _blocks(self) -> tuple[Ints, Ints]:
        return self._spans(lambda flow: flow.first_block)

    def _spans(self, first: Callable[[ControlFlow], Ints]) -> tuple[Ints, Ints]:
        if self._pairs is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        previous, now, then = self._pairs
        starts, old = first(self.flow), first(previous.flow)
        return ranges(starts[now], starts[now + 1]), ranges(old[then], old[then + 1])
