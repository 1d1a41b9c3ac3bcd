"""The control flow of one function, for the question which statements a way through it is sure to lead through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from suspectra.program import Program
from suspectra.program.dominance import DominatorTree
from suspectra.program.flow_graph import EXIT, FlowGraph
from suspectra.program.python.flow import PythonFlow, inside_expression
from suspectra.program.sources_as_run import SourcesAsRun
from suspectra.spectrum import EdgeKind, Spectrum

_Arc = tuple[int, int]


@dataclass(frozen=True)
class Way:
    """One way on from a node."""

    # nodes
    source: int
    target: int
    column: int  # of the edge in the spectrum; -1 where it has none
    recorded: bool  # whether a test that goes this way would be known to
    line: int | None  # where it leads; None out of the function


@dataclass(frozen=True, eq=False)
class FunctionFlow:
    """The flow graph of one function."""

    elements: tuple[tuple[int, ...], ...]  # the elements of each node, in the order in which they are executed
    ways: tuple[Way, ...]  # between the nodes
    rare: tuple[Way, ...] = ()  # ways that only exceptions take and that no test took

    def certain(self, way: Way) -> frozenset[int]:
        """The elements that a run which goes a way is sure to execute, if it ends without an exception."""
        nodes = {*self._dominators.dominators(way.source), *self._post_dominators.dominators(way.target)}
        return frozenset(element for node in nodes for element in self.elements[node])

    @cached_property
    def _dominators(self) -> DominatorTree:
        return _tree(len(self.elements), [(way.source, way.target) for way in self.ways])

    @cached_property
    def _post_dominators(self) -> DominatorTree:
        return _tree(len(self.elements), [(way.target, way.source) for way in self.ways])

    def before(self, element: int) -> list[Way]:
        """The ways that lead to an element, those next to it first, rare ones at each node last.

        Empty where it is in no node.
        """
        into: dict[int, list[Way]] = {}
        for way in (*self.ways, *self.rare):
            into.setdefault(way.target, []).append(way)
        queue = [node for node, own in enumerate(self.elements) if element in own]
        seen, found = set(queue), []
        for node in queue:  # it grows meanwhile
            for way in into.get(node, ()):
                found.append(way)
                if way.source not in seen:
                    seen.add(way.source)
                    queue.append(way.source)
        return found


class FunctionFlows:
    """The flow of the functions that some questions are about, read as they are asked for."""

    def __init__(self, spectrum: Spectrum, program: Program | None):
        self._spectrum = spectrum
        self._program = program
        self._source_of = SourcesAsRun.for_program(program)
        self._known: list[tuple[frozenset[int], FunctionFlow]] = []

    def for_element(self, element: int) -> FunctionFlow | None:
        """The flow of the function that an element is in.

        None if the evidence does not contain it.
        """
        for elements, flow in self._known:
            if element in elements:
                return flow
        made = self._make(element)
        if made is not None:
            self._known.append((frozenset(e for own in made.elements for e in own), made))
        return made

    def _make(self, element: int) -> FunctionFlow | None:
        spectrum = self._spectrum
        edges, elements = spectrum.edges, spectrum.elements
        if edges is None or edges.kind is EdgeKind.OUTCOME:
            return None
        if edges.kind is EdgeKind.BLOCK:
            graph = _graph_of(self._program, int(elements.function[element])) if self._program else None
            return _from_graph(graph, spectrum) if graph is not None else None
        file = int(elements.file[element])
        own = np.flatnonzero((edges.file == file) & ~edges.is_outcome)
        ends = zip(edges.source[own].tolist(), edges.target[own].tolist(), strict=True)
        column = dict(zip(ends, own.tolist(), strict=True))
        line = int(elements.line[element])
        source = self._source_of(elements.files[file])
        read = _read(source) if source is not None else None
        if read is None:
            return _from_arcs(_connected(column, line), (), column, dict.fromkeys(column, True), spectrum, file)
        arcs = _scope_with(read, line)
        if arcs is None:
            return None
        usual = [arc for arc, (rare, _) in arcs.items() if not rare or arc in column]
        others = [arc for arc, (rare, _) in arcs.items() if rare and arc not in column]
        recorded = {arc: edges.complete or arc in column or decides for arc, (_, decides) in arcs.items()}
        return _from_arcs(usual, others, column, recorded, spectrum, file)


@lru_cache(maxsize=16)
def _read(source: bytes) -> PythonFlow | None:
    try:
        return PythonFlow.parse(source)
    except SyntaxError:
        return None


def _scope_with(flow: PythonFlow, line: int) -> dict[_Arc, tuple[bool, bool]] | None:
    """The ways in the scope that executes a line: whether each is rare, and whether it leaves a decision."""
    at = np.flatnonzero(flow.ends[:, 0] == line)
    if not len(at):
        return None
    own = flow.scope_of_arc == flow.scope_of_arc[at[0]]
    marks = zip(flow.rare[own].tolist(), flow.decides[own].tolist(), strict=True)
    return dict(zip(map(tuple, flow.ends[own].tolist()), marks, strict=True))


def _connected(arcs: Iterable[_Arc], line: int) -> set[_Arc]:
    """The arcs that are connected to a line, which are those of its function, for a source that is not available."""
    beside: dict[tuple[str, int], list[_Arc]] = {}
    for arc in arcs:
        if not inside_expression(arc):
            for end in (_node(arc[0], "entry"), _node(arc[1], "exit")):
                beside.setdefault(end, []).append(arc)
    found: set[_Arc] = set()
    queue = [_node(line, "entry")]
    seen = set(queue)
    for node in queue:
        for arc in beside.get(node, ()):
            found.add(arc)
            for end in (_node(arc[0], "entry"), _node(arc[1], "exit")):
                if end not in seen:
                    seen.add(end)
                    queue.append(end)
    return found


def _node(end: int, otherwise: str) -> tuple[str, int]:
    return ("line" if end > 0 else otherwise, end)


def _from_arcs(
    usual: Iterable[_Arc],
    rare: Iterable[_Arc],
    column: dict[_Arc, int],
    recorded: dict[_Arc, bool],
    spectrum: Spectrum,
    file: int,
) -> FunctionFlow:
    """A node for each line; the entry is the first, the exit the last."""
    usual, rare = sorted(usual), sorted(rare)
    lines = sorted({end for arc in (*usual, *rare) for end in arc if end > 0})
    number = {line: node for node, line in enumerate(lines, 1)}
    last = len(lines) + 1
    found = spectrum.elements.starting(np.full(len(lines), file), np.array(lines, np.int64)).tolist()
    nodes = ((), *((element,) if element >= 0 else () for element in found), ())

    def ways(arcs: list[_Arc]) -> tuple[Way, ...]:
        return tuple(
            Way(number.get(a, 0), number.get(b, last), column.get((a, b), -1), recorded[a, b], b if b > 0 else None)
            for a, b in arcs
        )

    return FunctionFlow(nodes, ways(usual), ways(rare))


@lru_cache(maxsize=4)
def _graphs_by_function(program: Program) -> dict[int, FlowGraph]:
    return {graph.function: graph for graph in program.graphs}


def _graph_of(program: Program, function: int) -> FlowGraph | None:
    return _graphs_by_function(program).get(function)


def _from_graph(graph: FlowGraph, spectrum: Spectrum) -> FunctionFlow:
    own = tuple(tuple(graph.elements_of(block).tolist()) for block in range(graph.blocks))
    line = spectrum.elements.line
    onwards: dict[int, list[int]] = {}
    for source, target in zip(graph.source.tolist(), graph.target.tolist(), strict=True):
        onwards.setdefault(source, []).append(target)

    def first_line(block: int) -> int | None:
        for _ in range(graph.blocks):
            if block == EXIT or own[block]:
                break
            block = onwards.get(block, [EXIT])[0]
        return int(line[own[block][0]]) if own[block] else None

    ends = zip(graph.source.tolist(), graph.target.tolist(), graph.edge.tolist(), strict=True)
    ways = (Way(source, target, edge, edge >= 0, first_line(target)) for source, target, edge in ends)
    return FunctionFlow(own, tuple(ways))


def _tree(nodes: int, edges: Sequence[tuple[int, int]]) -> DominatorTree:
    """The dominators, if ways begin where no edge leads to."""
    entered = {target for _, target in edges}
    return DominatorTree.from_edges(nodes, edges, [node for node in range(nodes) if node not in entered])
