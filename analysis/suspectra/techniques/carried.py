"""What still holds of numbers that were found function by function: those of functions whose edges count the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from suspectra.program.control_flow import ControlFlow
from suspectra.spectrum import Counts, ranges


class Solution(Protocol):
    """Numbers for the edges and blocks of a control flow, found from the counts of the edges."""

    flow: ControlFlow
    counts: Counts


@dataclass(frozen=True, eq=False)
class Carried:
    """A solution before a change, and what of it holds after.

    What a function's blocks and edges are given follows from its flow graph, from the counts of its edges, and from
    how many tests failed and passed. Where all of this is as it was, so is what was found.

    Parameters
    ----------
    flow : ControlFlow
    counts : Counts
        Of the spectrum's edges, now.
    before : Solution or None
        None carries nothing.
    """

    flow: ControlFlow
    counts: Counts
    before: Solution | None

    @cached_property
    def graphs(self) -> np.ndarray:
        """The graphs to be solved anew, ascending."""
        stays = np.zeros(len(self.flow), bool)
        now, _ = self._pairs
        stays[now] = True
        if len(now):
            before = self.before
            edges, old = self._edges
            column, old_column = self.flow.edge[edges], before.flow.edge[old]
            differs = (self.counts.ef[column] != before.counts.ef[old_column]) | (
                self.counts.ep[column] != before.counts.ep[old_column]
            )
            differs &= column >= 0
            stays[self.flow.graph_of_edge[edges[differs]]] = False
        return np.flatnonzero(~stays)

    def of_edges(self, name: str, dtype: type = float) -> np.ndarray:
        """A number of each edge, to be filled in where the graph is to be solved."""
        return self._moved(name, len(self.flow.edge), self._edges, dtype)

    def of_blocks(self, name: str, dtype: type = float) -> np.ndarray:
        """A number of each block, to be filled in where the graph is to be solved."""
        return self._moved(name, self.flow.blocks, self._blocks, dtype)

    def _moved(self, name: str, size: int, places: tuple[np.ndarray, np.ndarray], dtype: type) -> np.ndarray:
        if self._same_flow:
            return getattr(self.before, name).copy()
        values, (now, then) = np.zeros(size, dtype), places
        if len(now):
            values[now] = getattr(self.before, name)[then]
        return values

    @property
    def _same_flow(self) -> bool:
        return self.before is not None and self.before.flow is self.flow

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Graphs now, and the same graphs before."""
        before, nothing = self.before, np.zeros(0, np.int64)
        if before is None or (before.counts.failed, before.counts.passed) != (self.counts.failed, self.counts.passed):
            return nothing, nothing
        if self._same_flow:
            return (np.arange(len(self.flow)),) * 2
        place = {id(table.made or table): number for number, table in enumerate(before.flow.tables)}
        found = np.array([place.get(id(table.made or table), -1) for table in self.flow.tables], np.int64)
        now = np.flatnonzero(found >= 0)
        first, old = self.flow.first_graph, before.flow.first_graph
        then = found[now]
        return ranges(first[now], first[now + 1]), ranges(old[then], old[then + 1])

    @cached_property
    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        return self._spans("first_edge")

    @cached_property
    def _blocks(self) -> tuple[np.ndarray, np.ndarray]:
        return self._spans("first_block")

    def _spans(self, first: str) -> tuple[np.ndarray, np.ndarray]:
        now, then = self._pairs
        if not len(now):
            return now, then
        starts, old = getattr(self.flow, first), getattr(self.before.flow, first)
        return ranges(starts[now], starts[now + 1]), ranges(old[then], old[then + 1])
