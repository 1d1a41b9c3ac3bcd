"""The control flow of one function: basic blocks, the edges between them, and their elements.

The graphs of a file are in one table, and blocks are found for all functions of a file at once: a million statements
have a hundred thousand functions, and to make an object for each takes longer than to parse the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Ints

ENTRY, EXIT = 0, 1
"""The first and the last block of every graph; neither has elements."""


@dataclass(frozen=True, eq=False)
class FlowGraph:
    """The flow graph of one function, with columns of a spectrum.

    Blocks are numbered from 0. An element may be in several blocks (such as the header of a loop). A block may have no
    elements (such as entry and exit).
    """

    function: int  # index into the elements' functions, -1 for code outside any
    blocks: int  # number of basic blocks
    # blocks at the ends of each edge; shape (k,)
    source: Ints
    target: Ints
    # column of each edge in the spectrum's suspectra.spectrum.Edges, -1 for an edge that is not there; shape (k,)
    edge: Ints
    block_start: Ints  # the first index of each block's elements in `element`, then their number; shape (blocks + 1,)
    element: Ints  # elements, block by block, ascending within a block; shape (members,)

    @classmethod
    def from_edges(
        cls,
        function: int,
        blocks: int,
        edges: Iterable[tuple[int, int, int]],
        elements: Iterable[tuple[int, int]],  # block and element, in any order
    ) -> FlowGraph:
        """Make a graph from (source block, target block, edge column) and (block, element) tuples.

        Its edges are in the given order.
        """
        arcs = np.array(list(edges), np.int32).reshape(-1, 3)
        pairs = np.array(sorted(set(elements)), np.int32).reshape(-1, 2)
        starts = np.searchsorted(pairs[:, 0], np.arange(blocks + 1)).astype(np.int32)
        return cls(function, blocks, arcs[:, 0], arcs[:, 1], arcs[:, 2], starts, pairs[:, 1])

    def elements_of(self, block: int) -> Ints:
        """Return the elements of a block.

        Of shape (k,).
        """
        return self.element[self.block_start[block] : self.block_start[block + 1]]

    @cached_property
    def table(self) -> GraphTable:
        """A table with only this graph."""
        return GraphTable(
            np.array([self.function], np.int32),
            np.array([0, self.blocks]),
            np.array([0, len(self.source)]),
            self.source,
            self.target,
            self.edge,
            self.block_start,
            self.element,
        )

    @cached_property
    def exits(self) -> Ints:
        """Blocks that edges enter but do not leave: the end of the function, and calls that never return."""
        leaving = np.bincount(self.source, minlength=self.blocks)
        entering = np.bincount(self.target, minlength=self.blocks)
        return np.flatnonzero((leaving == 0) & (entering > 0))

    @cached_property
    def own_elements(self) -> Ints:
        """The elements of all blocks, ascending."""
        return np.unique(self.element)


@dataclass(frozen=True, eq=False)
class GraphTable:
    """The flow graphs of several functions in shared arrays, since a program has too many for one object each."""

    function: Ints  # index of each graph's function, -1 for code outside any; shape (graphs,)
    # the first block and edge of each graph, then their total number; shape (graphs + 1,)
    first_block: Ints
    first_edge: Ints
    # blocks at the ends of each edge, numbered within its graph; shape (edges,)
    source: Ints
    target: Ints
    edge: Ints  # column of each edge, -1 for an edge that is not in the spectrum; shape (edges,)
    block_start: Ints  # the first index of each block's elements in `element`, then their number; shape (blocks + 1,)
    element: Ints  # elements, block by block; shape (members,)
    # the table with indices within its file from which this one was made
    made: GraphTable | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.function)

    def graph(self, number: int) -> FlowGraph:
        """Return one of the graphs."""
        edges = slice(*self.first_edge[number : number + 2].tolist())
        first, last = self.first_block[number : number + 2].tolist()
        starts = self.block_start[first : last + 1]
        return FlowGraph(
            int(self.function[number]),
            last - first,
            self.source[edges],
            self.target[edges],
            self.edge[edges],
            starts - starts[0],
            self.element[starts[0] : starts[-1]],
        )

    def placed(self, first_function: int, columns: Ints, first_element: int) -> GraphTable:
        """Convert indices within a file to those of the whole tables."""
        function = np.where(self.function >= 0, self.function + first_function, -1).astype(np.int32)
        edge = np.where(self.edge >= 0, columns[self.edge], -1).astype(np.int32) if len(columns) else self.edge
        element = self.element + np.int32(first_element)
        return replace(self, function=function, edge=edge, element=element, made=self)

    @classmethod
    def from_graphs(cls, graphs: Sequence[FlowGraph]) -> GraphTable:
        """Join several graphs to one table.

        In the given order.
        """
        tables = [graph.table for graph in graphs]
        return cls(
            joined([table.function for table in tables]),
            np.cumsum([0, *(graph.blocks for graph in graphs)]),
            np.cumsum([0, *(len(graph.source) for graph in graphs)]),
            joined([table.source for table in tables]),
            joined([table.target for table in tables]),
            joined([table.edge for table in tables]),
            np.cumsum([0, *(size for graph in graphs for size in np.diff(graph.block_start).tolist())]),
            joined([table.element for table in tables]),
        )


def joined(parts: Sequence[Ints]) -> Ints:
    """Concatenate arrays of integers.

    Of shape (sum of lengths,). In the given order.
    """
    return np.concatenate(parts) if parts else np.zeros(0, np.int32)
