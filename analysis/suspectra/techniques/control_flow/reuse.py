"""Reuse of results that are computed function by function, where the counts of a function's edges did not change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from suspectra.base.arrays import Ints, ranges
from suspectra.program.control_flow import ControlFlow
from suspectra.spectrum import Counts

ScalarT = TypeVar("ScalarT", bound=np.generic)


class Solution(Protocol):
    """Results for the edges and blocks of a control flow, computed from the counts of the edges."""

    @property
    def flow(self) -> ControlFlow:
        """The flow graphs of the results."""

    @property
    def counts(self) -> Counts:
        """The counts of the spectrum's edges from which the results were computed."""


@dataclass(frozen=True, eq=False)
class Reuse:
    """The part of a solution that is still valid after a change.

    The results of a function depend on its flow graph, on the counts of its edges, and on the numbers of failed and
    passed tests. Where none of these changed, the results are reused.
    """

    flow: ControlFlow  # the current flow graphs
    counts: Counts  # the current counts of the spectrum's edges
    previous: Solution | None  # the solution before the change; with None nothing is reused

    @cached_property
    def graphs(self) -> Ints:
        """The graphs that must be solved again, ascending."""
        stays = np.zeros(len(self.flow), bool)
        pairs = self._pairs
        if pairs is not None:
            previous, current, _ = pairs
            stays[current] = True
            edges, old = self._edges
            column, old_column = self.flow.edge[edges], previous.flow.edge[old]
            differs = (self.counts.ef[column] != previous.counts.ef[old_column]) | (
                self.counts.ep[column] != previous.counts.ep[old_column]
            )
            differs &= column >= 0
            stays[self.flow.graph_of_edge[edges[differs]]] = False
        return np.flatnonzero(~stays)

    def edges(self, old: NDArray[ScalarT] | None, kind: type[ScalarT]) -> NDArray[ScalarT]:
        """Return a number for each edge, to be filled in where the graph must be solved again.

        Of shape (edges of the flow,). The values that are still valid; 0 where the graph must be solved again.
        """
        return self._moved(old, len(self.flow.edge), self._edges, kind)

    def blocks(self, old: NDArray[ScalarT] | None, kind: type[ScalarT]) -> NDArray[ScalarT]:
        """Return a number for each block, to be filled in where the graph must be solved again; see :meth:`edges`.

        Of shape (blocks,). The values that are still valid; 0 where the graph must be solved again.
        """
        return self._moved(old, self.flow.blocks, self._blocks, kind)

    def _moved(
        self, old: NDArray[ScalarT] | None, size: int, places: tuple[Ints, Ints], kind: type[ScalarT]
    ) -> NDArray[ScalarT]:
        if old is not None and self._same_flow:
            return old.copy()
        values, (new_places, old_places) = np.zeros(size, kind), places
        if old is not None and len(new_places):
            values[new_places] = old[old_places]
        return values

    @property
    def _same_flow(self) -> bool:
        return self.previous is not None and self.previous.flow is self.flow

    @cached_property
    def _pairs(self) -> tuple[Solution, Ints, Ints] | None:
        """The previous solution, current graphs, and the same graphs in the previous flow; None where no graph is the
        same.
        """
        previous = self.previous
        if previous is None or (previous.counts.failed, previous.counts.passed) != (
            self.counts.failed,
            self.counts.passed,
        ):
            return None
        if self._same_flow:
            all_graphs = np.arange(len(self.flow))
            return previous, all_graphs, all_graphs
        old_number = {id(table.made or table): number for number, table in enumerate(previous.flow.tables)}
        found = np.array([old_number.get(id(table.made or table), -1) for table in self.flow.tables], np.int64)
        current = np.flatnonzero(found >= 0)
        first, old = self.flow.first_graph, previous.flow.first_graph
        old_tables = found[current]
        graphs = ranges(first[current], first[current + 1])
        return (previous, graphs, ranges(old[old_tables], old[old_tables + 1])) if len(graphs) else None

    @cached_property
    def _edges(self) -> tuple[Ints, Ints]:
        return self._spans(lambda flow: flow.first_edge)

    @cached_property
    def _blocks(self) -> tuple[Ints, Ints]:
        return self._spans(lambda flow: flow.first_block)

    def _spans(self, first: Callable[[ControlFlow], Ints]) -> tuple[Ints, Ints]:
        if self._pairs is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        previous, current, old_graphs = self._pairs
        starts, old = first(self.flow), first(previous.flow)
        return ranges(starts[current], starts[current + 1]), ranges(old[old_graphs], old[old_graphs + 1])
