"""Static properties of statements: their kinds, their functions, and the branches that leave them.

Kinds are read from the source if it has not changed since the run, else from the edges. A statement begins on a line of
its own, so the first word of that line tells its kind, and no syntax tree is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache

import numpy as np

from suspectra.base.arrays import Bools, Ints, ranges
from suspectra.base.cancellation import check, checked
from suspectra.program.file_cache import Remembered
from suspectra.program.flow_graph import EXIT, FlowGraph
from suspectra.program.languages import is_c
from suspectra.program.sources_as_run import SourcesAsRun
from suspectra.spectrum import EdgeKind, Edges, Elements

_DECIDES = re.compile(rb"(?:if|elif|while|for|assert|async[ \t]+for)\b|match\b(?![ \t]*[=.,:)])[^#]*:[ \t]*(?:#|$)")
_RETURNS = re.compile(rb"return\b")
_MARK = b"\xef\xbb\xbf"  # byte order mark before the first line


class StatementKind(IntEnum):
    """What a statement does to control. Kinds where faults are more likely have larger values.

    A `DEFINITION` is a statement outside of functions of which only the value matters that it has given a name.
    """

    DEFINITION = -1
    OTHER = 0
    DECISION = 1
    RETURN = 2


@dataclass(frozen=True, eq=False)
class Branches:
    """The edges that leave statements."""

    element: Ints  # a statement, and the column of an edge that leaves it or its block
    edge: Ints  # a statement, and the column of an edge that leaves it or its block. Both may be repeated; shape (k,)

    def leaving(self, element: int) -> Ints:
        """The edges that leave one statement.

        Of shape (k,). Their columns, ascending.
        """
        start, end = np.searchsorted(self.element, [element, element + 1], sorter=self._by_element)
        return np.unique(self.edge[self._by_element[start:end]])

    @cached_property
    def _by_element(self) -> Ints:
        return np.argsort(self.element, kind="stable")


@dataclass(frozen=True, eq=False)
class StatementProperties:
    """Static properties of the elements of a spectrum."""

    elements: Elements  # the statements
    edges: Edges | None  # the edges of the spectrum
    graphs: tuple[FlowGraph, ...]  # the flow graphs, which say what blocks the edges join, where the evidence has them
    source_of: Callable[[str], bytes | None]  # given a path, returns the bytes of the file as it was run, or None
    kinds: Ints | None = None  # those that the evidence has instead of sources

    @cached_property
    def kind(self) -> Ints:
        """A :class:`StatementKind` for each statement; int8, shape (elements,)."""
        if self.kinds is not None:
            return self.kinds
        kind = self._kinds_of_edges()
        for place, found in self._from_sources:
            kind[place] = found
        return kind

    @property
    def kinds_known(self) -> bool:
        """Whether the kinds of any statements are known from sources or edges."""
        return self.kinds is not None or self.edges is not None or bool(self._from_sources)

    @cached_property
    def _from_sources(self) -> list[tuple[slice, Ints]]:
        """The elements and their kinds, for each file whose source is available."""
        _kinds_in.begin()
        found = []
        for path in checked(self.elements.files):
            if is_c(path):
                continue
            place = self.elements.in_file(path)
            source = self.source_of(path) if place.stop > place.start else None
            if source is not None:
                found.append((place, _kinds_in(source, self.elements.line[place].tobytes())))
        return found

    def _kinds_of_edges(self) -> Ints:
        kind = np.zeros(len(self.elements), np.int8)
        edges = self.edges
        if edges is None:
            return kind
        if edges.kind is EdgeKind.BLOCK:
            for graph in checked(self.graphs):
                deciding, returning = _ends_of_blocks(graph)
                kind[deciding] = np.maximum(kind[deciding], StatementKind.DECISION)
                kind[returning] = StatementKind.RETURN
            return kind
        branches = self.branches
        # a condition inside an expression does not make the statement a decision
        of_statement = ~edges.is_outcome[branches.edge]
        leaving = branches.element[of_statement]
        ways = np.bincount(leaving, minlength=len(kind))
        kind[ways > 1] = StatementKind.DECISION
        if edges.kind is EdgeKind.ARC:
            target = edges.target[branches.edge[of_statement]]
            kind[leaving[(target < 0) & (ways[leaving] == 1)]] = StatementKind.RETURN
        return kind

    @cached_property
    def function(self) -> Ints:
        """The function of each statement; a file's code outside functions counts as one; shape (elements,)."""
        elements = self.elements
        if elements.functions or self.edges is None or self.edges.kind is not EdgeKind.ARC:
            return np.where(elements.function >= 0, elements.function, len(elements.functions) + elements.file)
        return _connected(elements, self.edges)

    @property
    def functions_known(self) -> bool:
        """Whether the functions of statements are known from the evidence or the edges."""
        return bool(self.elements.functions) or (self.edges is not None and self.edges.kind is EdgeKind.ARC)

    @cached_property
    def is_signature(self) -> Bools:
        """Whether a statement is the first or the last line of a function of several lines in C or C++; shape
        (elements,).
        """
        elements = self.elements
        signature = np.zeros(len(elements), bool)
        compiled = np.array([is_c(path) for path in elements.files], bool)
        spans = [(f.file, f.line, f.end_line) for f in elements.functions if compiled[f.file] and f.line < f.end_line]
        file, first, last = np.array(spans, np.int64).reshape(-1, 3).T
        for line in (first, last):
            found = _elements_at(elements, file, line)
            signature[found[found >= 0]] = True
        return signature

    def first_line_of_target(self, edge: int) -> int:
        """The line on which the block that an edge enters begins."""
        assert self.edges is not None
        within = self.graphs[self._graph[edge]].elements_of(int(self.edges.target[edge]))
        return int(self.elements.line[within[0]]) if len(within) else 0

    @cached_property
    def _graph(self) -> Ints:
        """The number of each edge's graph; shape (edges,)."""
        graph = np.full(len(self.edges) if self.edges is not None else 0, -1, np.int32)
        for number, own in enumerate(checked(self.graphs)):
            graph[own.edge[own.edge >= 0]] = number
        return graph

    @cached_property
    def branches(self) -> Branches:
        """The edges that leave each statement or its blocks."""
        nothing = np.zeros(0, np.int64)
        edges = self.edges
        if edges is None:
            return Branches(nothing, nothing)
        if edges.kind is EdgeKind.BLOCK:
            pairs = [_leaving(graph) for graph in checked(self.graphs)]
            return Branches(
                np.concatenate([nothing, *(element for element, _ in pairs)]),
                np.concatenate([nothing, *(edge for _, edge in pairs)]),
            )
        source = _elements_at(self.elements, edges.file, edges.source)
        known = np.flatnonzero(source >= 0)
        return Branches(source[known], known)


@lru_cache(maxsize=4)
def statements(
    elements: Elements, edges: Edges | None, graphs: tuple[FlowGraph, ...], source_of: SourcesAsRun
) -> StatementProperties:
    """Return the static properties of statements: the same object as long as the tables and files are the same."""
    kinds = source_of.facts.kinds if source_of.facts is not None else None
    return StatementProperties(elements, edges, graphs, source_of, kinds)


@Remembered
def _kinds_in(source: bytes, lines: bytes) -> Ints:
    """The kinds of the statements that begin on some lines (int32) of a Python source."""
    text = source.removeprefix(_MARK).splitlines()
    return np.fromiter((_kind(text, line) for line in np.frombuffer(lines, np.int32).tolist()), np.int8)


def _kind(text: list[bytes], line: int) -> StatementKind:
    if line > len(text):
        return StatementKind.OTHER
    start = text[line - 1].lstrip()
    if _RETURNS.match(start):
        return StatementKind.RETURN
    return StatementKind.DECISION if _DECIDES.match(start) else StatementKind.OTHER


def _ends_of_blocks(graph: FlowGraph) -> tuple[Ints, Ints]:
    """The last elements of blocks that several edges leave, and the elements of blocks that lead directly to the
    exit.
    """
    occupied = np.diff(graph.block_start) > 0
    several = (np.bincount(graph.source, minlength=graph.blocks) > 1) & occupied
    leaves = np.zeros(graph.blocks, bool)
    leaves[graph.source[graph.target == EXIT]] = True
    leaves &= occupied
    starts, ends = graph.block_start[:-1], graph.block_start[1:]
    return graph.element[ends[several] - 1], graph.element[ranges(starts[leaves], ends[leaves])]


def _leaving(graph: FlowGraph) -> tuple[Ints, Ints]:
    """Pairs of an element and an edge that leaves one of its blocks."""
    recorded = np.flatnonzero(graph.edge >= 0)
    source = graph.source[recorded]
    sizes = np.diff(graph.block_start)[source]
    starts = graph.block_start[source]
    return graph.element[ranges(starts, starts + sizes)], np.repeat(graph.edge[recorded], sizes)


def _elements_at(elements: Elements, file: Ints, line: Ints) -> Ints:
    """The element that begins on each of some lines, -1 where none does."""
    return _positions(_keys(elements.file, elements.line), _keys(file, line))


def _keys(file: Ints, line: Ints) -> Ints:
    """A number for each line, in the order of files and lines; arcs enter and leave functions at negative lines."""
    return file.astype(np.int64) << 33 | (line.astype(np.int64) + (1 << 32))


def _positions(keys: Ints, wanted: Ints) -> Ints:
    """The position of each wanted key among keys in ascending order, -1 for one that is not there."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    check()
    position = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[position] == wanted, position, -1)


def _connected(elements: Elements, edges: Edges) -> Ints:
    """The connected component of each statement's arcs: the code of a function, or of a module."""
    from scipy import sparse
    from scipy.sparse import csgraph

    chosen = ~edges.is_outcome
    file = np.tile(edges.file[chosen], 2)
    ends = _keys(file, np.concatenate([edges.source[chosen], edges.target[chosen]]))
    keys, number = np.unique(ends, return_inverse=True)
    source, target = number.reshape(2, -1)
    links = sparse.coo_array((np.ones(len(source), np.int8), (source, target)), shape=(len(keys), len(keys)))
    count, part = csgraph.connected_components(links, directed=False)
    position = _positions(keys, _keys(elements.file, elements.line))
    known = position >= 0
    function = count + elements.file.astype(np.int64)
    function[known] = part[position[known]]
    return function
