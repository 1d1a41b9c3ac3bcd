"""The control flow of a whole program, for techniques that rank by edges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from suspectra.base.arrays import Bools, Floats, Ints, ranges
from suspectra.base.cancellation import check
from suspectra.base.errors import NothingToRank, Problem
from suspectra.program import Program
from suspectra.program.flow_graph import ENTRY, EXIT, FlowGraph, GraphTable, joined
from suspectra.program.python.arcs import Completion
from suspectra.program.python.graphs import keep_flows, python_flows, python_graphs
from suspectra.program.sources_as_run import SourcesAsRun
from suspectra.spectrum import EdgeKind, Edges, Elements, Spectrum


@dataclass(frozen=True, eq=False)
class ControlFlow:
    """The flow graphs of a program. Blocks and edges are numbered over all graphs."""

    tables: tuple[GraphTable, ...]  # one for each file, or one for all
    problems: tuple[Problem, ...] = ()  # gaps in what is known of the flow

    def __len__(self) -> int:
        return int(self.first_graph[-1])

    @cached_property
    def first_graph(self) -> Ints:
        """The first graph of each table, then the number of graphs; shape (tables + 1,)."""
        return np.cumsum([0, *map(len, self.tables)])

    @cached_property
    def function(self) -> Ints:
        """The function of each graph, -1 for code outside any; shape (graphs,)."""
        return _joined(table.function for table in self.tables)

    @cached_property
    def first_block(self) -> Ints:
        """The first block of each graph, then the number of blocks; shape (graphs + 1,)."""
        return _starts(table.first_block for table in self.tables)

    def graph(self, number: int) -> FlowGraph:
        """Return one of the graphs, with edges and elements of the spectrum."""
        table = int(np.searchsorted(self.first_graph, number, "right")) - 1
        return self.tables[table].graph(number - int(self.first_graph[table]))

    def elements_of(self, block: int) -> Ints:
        """Return the elements of a block.

        Of shape (k,). Ascending; empty for entry and exit.
        """
        return self.member_element[slice(*np.searchsorted(self.member_block, [block, block + 1]))]

    @property
    def blocks(self) -> int:
        """Number of blocks of all graphs."""
        return int(self.first_block[-1])

    @cached_property
    def graph_of_block(self) -> Ints:
        """The graph of each block; shape (blocks,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.first_block))

    @cached_property
    def source(self) -> Ints:
        """The block that each edge leaves; shape (edges,)."""
        return _joined(table.source for table in self.tables) + self._shift

    @cached_property
    def target(self) -> Ints:
        """The block that each edge enters; shape (edges,)."""
        return _joined(table.target for table in self.tables) + self._shift

    @cached_property
    def edge(self) -> Ints:
        """Column of each edge in the spectrum, -1 for an edge that is not in it; shape (edges,)."""
        return _joined(table.edge for table in self.tables)

    @cached_property
    def leaves(self) -> Bools:
        """Whether an edge leaves its function; shape (edges,)."""
        return np.equal(self.target, self._shift + EXIT)

    @cached_property
    def enters(self) -> Bools:
        """Whether an edge enters its function; shape (edges,)."""
        return np.equal(self.source, self._shift + ENTRY)

    @cached_property
    def member_block(self) -> Ints:
        """Block of each (block, element) pair, ascending; shape (pairs,)."""
        return np.repeat(np.arange(self.blocks), joined([np.diff(table.block_start) for table in self.tables]))

    @cached_property
    def member_element(self) -> Ints:
        """Element of each (block, element) pair; shape (pairs,)."""
        return _joined(table.element for table in self.tables)

    @cached_property
    def is_decision(self) -> Bools:
        """Whether control can leave a block in more than one way; shape (blocks,)."""
        return np.bincount(self.source, minlength=self.blocks) > 1

    @cached_property
    def last_element(self) -> Ints:
        """The last element of each block, -1 for a block without elements; shape (blocks,)."""
        last = np.full(self.blocks, -1)
        last[self.member_block] = self.member_element  # ascending within a block, so the last one remains
        return last

    @cached_property
    def first_edge(self) -> Ints:
        """The first edge of each graph, then the number of edges; shape (graphs + 1,)."""
        return _starts(table.first_edge for table in self.tables)

    @cached_property
    def graph_of_edge(self) -> Ints:
        """The graph of each edge; shape (edges,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.first_edge))

    def part(self, graphs: Ints) -> FlowPart:
        """Select some of the graphs."""
        check()
        blocks = ranges(self.first_block[graphs], self.first_block[graphs + 1])
        edges = ranges(self.first_edge[graphs], self.first_edge[graphs + 1])
        sizes = np.diff(self.first_block)[graphs]
        shift = np.zeros(len(self), np.int64)
        shift[graphs] = np.cumsum(sizes) - sizes - self.first_block[graphs]
        of_edge = shift[self.graph_of_edge[edges]]
        return FlowPart(blocks, edges, self.source[edges] + of_edge, self.target[edges] + of_edge)

    def over_elements(self, scores: Floats, elements: int) -> Floats:
        """Give each element the highest score of its blocks; NaN scores do not count.

        Of shape (elements,).
        """
        check()
        best = np.full(elements, -np.inf)
        known = ~np.isnan(scores[self.member_block])
        member = self.member_element[known]
        np.maximum.at(best, member, scores[self.member_block[known]])
        scored = np.zeros(elements, bool)
        scored[member] = True
        return np.where(scored, best, np.nan)

    @cached_property
    def _shift(self) -> Ints:
        return np.repeat(self.first_block[:-1], np.diff(self.first_edge))


def _starts(of_tables: Iterable[Ints]) -> Ints:
    """Join the first indices within each table to first indices over all tables."""
    return np.cumsum([0, *joined([np.diff(starts) for starts in of_tables])])


def _joined(of_tables: Iterable[Ints]) -> NDArray[np.int64]:
    check()  # in a large program even this takes a while
    return joined(list(of_tables)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class FlowPart:
    """Some graphs of a control flow, whose blocks get new numbers."""

    blocks: Ints  # their indices in the whole flow; shape (blocks,)
    edges: Ints  # their indices in the whole flow; shape (edges,)
    # the blocks at the ends of each edge, numbered within this part; shape (edges,)
    source: Ints
    target: Ints


def control_flow(technique: str, spectrum: Spectrum, program: Program | None) -> tuple[Spectrum, ControlFlow]:
    r"""Return the control flow, and the spectrum with all traversed edges of it.

    The graphs come from the evidence where it has them (for compiled objects). For Python they are built from the
    sources and the arcs, without sources from the arcs alone. Arcs that a recorder leaves out because they follow from
    the statements are added.

    Parameters
    ----------
    technique : str
        Its title, for messages.
    spectrum : Spectrum
        A spectrum with edges.
    program : Program or None
        Graphs and sources, as far as the evidence has them.

    Returns
    -------
    spectrum : Spectrum
        The given one, or one with more edges.
    flow : ControlFlow
        The control flow; its `edge` has columns of that spectrum.

    Raises
    ------
    NothingToRank
        When the evidence has no edges, or does not say which blocks they join.

    Examples
    --------
    >>> from suspectra.runs.measured_file import MeasuredFile
    >>> from suspectra.spectrum import Function
    >>> none, lines = np.zeros(3, np.int32), np.arange(1, 5, dtype=np.int32)
    >>> file = MeasuredFile("f.py", None, lines, lines, np.array([-1, 0, 0, 0]), (("f", 1, 4),))
    >>> elements = Elements(("f.py",), lines * 0, lines, lines, file.function, file.functions_at(0))
    >>> edges = Edges(none, np.array([-1, 2, 4]), np.array([2, 4, -1]), none)
    >>> spectrum = Spectrum(("t1",), np.array([True]), elements, (np.array([1, 3]),), np.ones(4, bool), edges,
    ...     (np.array([0, 1, 2]),))
    >>> program = Program((file,), (), lambda path: b"def f(a):\n    if a:\n        a = 0\n    return a\n")
    >>> spectrum, flow = control_flow("CP", spectrum, program)
    >>> len(flow), flow.blocks, len(spectrum.edges)
    (1, 5, 3)
    """
    if spectrum.edges is None or not len(spectrum.edges):
        raise _nothing(technique, "the evidence contains lines but no control-flow edges")
    if program is not None and program.graphs:
        return spectrum, _from_graphs(program.graphs)
    if spectrum.edges.kind is not EdgeKind.ARC:
        raise _nothing(technique, "the evidence does not say which blocks its edges join")
    source_of = SourcesAsRun.for_program(program)
    if program is not None and program.reading is not None:
        keep_flows(program.reading)
    if not spectrum.edges.complete:
        spectrum = _completion(spectrum.elements, spectrum.edges, source_of).complete(spectrum)
    return spectrum, _from_arcs(spectrum.elements, spectrum.edges, source_of)


@lru_cache(maxsize=2)
def _completion(elements: Elements, edges: Edges, source_of: SourcesAsRun) -> Completion:
    return Completion(elements, edges, python_flows(elements, edges, source_of))


@lru_cache(maxsize=4)
def _from_graphs(graphs: tuple[FlowGraph, ...]) -> ControlFlow:
    return ControlFlow(tuple(graph.table for graph in graphs))


@lru_cache(maxsize=4)
def _from_arcs(elements: Elements, edges: Edges, source_of: SourcesAsRun) -> ControlFlow:
    return ControlFlow(*python_graphs(elements, edges, source_of))


def _nothing(technique: str, cause: str) -> NothingToRank:
    cure = (
        "for Python record with `suspectra record`, or with coverage.py's `--cov-branch`; for C and C++ with"
        " `suspectra record-c`"
    )
    return NothingToRank(Problem("", "", f"{technique} works on control flow, but {cause}", cure))
