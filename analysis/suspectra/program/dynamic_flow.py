"""The control flow that tests traversed, as pairs of elements that ran one directly after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from suspectra.base.arrays import Bools, Ints, distinct
from suspectra.base.cancellation import check, checked
from suspectra.program.flow_graph import FlowGraph
from suspectra.spectrum import EdgeKind, Edges, Elements, Spectrum


@dataclass(frozen=True, eq=False)
class DynamicFlow:
    """Nodes with elements, and the traversed arcs between them. They define adjacency for paper 003, Definition 26.

    A node is a basic block where the evidence has blocks, else a single statement.
    """

    node_start: Ints  # the first index of each node's elements in `element`, then their number; shape (nodes + 1,)
    element: Ints  # elements, node by node, in the order of execution; shape (members,)
    # the nodes at the ends of each arc; shape (arcs,)
    source: Ints
    target: Ints
    edge: Ints  # column of each arc in the spectrum's edges; shape (arcs,)
    _terms: _Terms | None = None

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.node_start) - 1

    def elements_of(self, node: int) -> Ints:
        """Return the elements of a node.

        Of shape (k,). In the order of execution.
        """
        return self.element[self.node_start[node] : self.node_start[node + 1]]

    @cached_property
    def pairs(self) -> Ints:
        """Elements x, y where x runs just before y, shape (k, 2): inside nodes, and over arcs between them."""
        inside = np.stack([self.element[:-1], self.element[1:]], axis=1)
        same_node = np.ones(max(len(self.element) - 1, 0), bool)
        border = self.node_start[1:-1]
        same_node[border[(border > 0) & (border < len(self.element))] - 1] = False
        has_elements = np.diff(self.node_start) > 0
        joined = has_elements[self.source] & has_elements[self.target]
        last = self.element[self.node_start[self.source[joined] + 1] - 1]
        first = self.element[self.node_start[self.target[joined]]]
        pairs = np.concatenate([inside[same_node], np.stack([last, first], axis=1)]).astype(np.int64)
        check()
        # one number for each pair sorts many times faster than rows of two
        both = distinct(pairs[pairs[:, 0] != pairs[:, 1]] @ np.array([1 << 32, 1]))
        return np.stack([both >> 32, both & 0xFFFFFFFF], axis=1)

    @classmethod
    def from_spectrum(
        cls,
        spectrum: Spectrum,
        graphs: Sequence[FlowGraph] = (),
        previous: DynamicFlow | None = None,
        *,
        failing: bool = False,  # of failing tests alone
    ) -> DynamicFlow:
        """Build the flow of a spectrum: by blocks where a graph has the edges, by lines elsewhere."""
        if spectrum.edges is None or spectrum.edge_rows is None:
            return cls.from_lines(spectrum.elements, _no_edges())
        edges, counts = spectrum.edges, spectrum.edge_hit_counts
        traversed = counts.ef + (0 if failing else counts.ep) > 0
        terms = _Terms(spectrum.elements, edges, tuple(graphs), traversed)
        if previous is not None and previous._terms is not None and previous._terms.same(terms):
            return previous
        known = _known(graphs, len(edges))
        by_lines = traversed & ~np.isin(edges.file, np.unique(edges.file[known]))
        by_lines &= edges.kind is EdgeKind.ARC
        of_graphs = (_from_graph(graph, traversed) for graph in checked(graphs))
        parts = [cls.from_lines(spectrum.elements, edges, by_lines), *of_graphs]
        return replace(_joined(parts), _terms=terms)

    @classmethod
    def from_lines(cls, elements: Elements, edges: Edges, chosen: Bools | None = None) -> DynamicFlow:
        """Build the flow of edges that join lines. Each element is a node.

        Without arcs that begin or end where no statement is, such as entries and exits.
        """
        columns = np.flatnonzero(~edges.is_outcome if chosen is None else chosen & ~edges.is_outcome)
        source, target = (ends[columns] for ends in _ends(elements, edges))
        joined = (source >= 0) & (target >= 0)
        every = np.arange(len(elements))
        return cls(np.arange(len(elements) + 1), every, source[joined], target[joined], columns[joined])


@dataclass(frozen=True, eq=False)
class _Terms:
    """What a flow is computed from."""

    elements: Elements
    edges: Edges
    graphs: tuple[FlowGraph, ...]
    traversed: Bools

    def same(self, other: _Terms) -> bool:
        return (
            self.elements is other.elements
            and self.edges is other.edges
            and self.graphs == other.graphs
            and np.array_equal(self.traversed, other.traversed)
        )


@lru_cache(maxsize=4)
def _ends(elements: Elements, edges: Edges) -> tuple[Ints, Ints]:
    """The elements at both ends of each edge, -1 for none."""
    return _elements_at(elements, edges.file, edges.source), _elements_at(elements, edges.file, edges.target)


def _from_graph(graph: FlowGraph, traversed: Bools) -> DynamicFlow:
    taken = graph.edge >= 0
    taken[taken] = traversed[graph.edge[taken]]
    return DynamicFlow(
        graph.block_start.astype(np.int64),
        graph.element,
        graph.source[taken].astype(np.int64),
        graph.target[taken].astype(np.int64),
        graph.edge[taken].astype(np.int64),
    )


def _joined(parts: Sequence[DynamicFlow]) -> DynamicFlow:
    start: list[Ints] = [np.zeros(1, np.int64)]
    source: list[Ints] = []
    target: list[Ints] = []
    nodes = members = 0
    for part in parts:
        start.append(part.node_start[1:] + members)
        source.append(part.source + nodes)
        target.append(part.target + nodes)
        nodes, members = nodes + part.nodes, members + len(part.element)
    return DynamicFlow(
        np.concatenate(start),
        np.concatenate([part.element for part in parts]),
        np.concatenate(source),
        np.concatenate(target),
        np.concatenate([part.edge for part in parts]),
    )


def _known(graphs: Iterable[FlowGraph], edges: int) -> Bools:
    known = np.zeros(edges, bool)
    for graph in graphs:
        known[graph.edge[graph.edge >= 0]] = True
    return known


def _no_edges() -> Edges:
    nothing = np.zeros(0, np.int32)
    return Edges(nothing, nothing, nothing, nothing)


def _elements_at(elements: Elements, file: Ints, line: Ints) -> Ints:
    """The element at each line, -1 for none; most statements start on the line that names them."""
    if not len(elements) or not len(line):
        return np.full(len(line), -1, np.int64)
    width = int(max(elements.line.max(), line.max(initial=0))) + 1
    key = elements.file.astype(np.int64) * width + elements.line
    check()
    order = np.argsort(key, kind="stable")
    wanted = file.astype(np.int64) * width + np.maximum(line, 0)
    check()
    position = np.searchsorted(key[order], wanted)
    check()
    found_there = position < len(order)
    found_there[found_there] = key[order][position[found_there]] == wanted[found_there]
    found_there &= line > 0
    found = np.full(len(line), -1, np.int64)
    found[found_there] = order[position[found_there]]
    for i in checked(np.flatnonzero(~found_there & (line > 0)).tolist()):
        element = elements.at(elements.files[file[i]], int(line[i]))
        found[i] = -1 if element is None else element
    return found
