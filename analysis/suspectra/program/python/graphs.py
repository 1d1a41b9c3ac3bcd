"""Flow graphs of Python code from the arcs that tests took, with or without the sources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from suspectra.base.cancellation import check, checked
from suspectra.base.errors import Problem
from suspectra.base.newer_syntax import newer_syntax
from suspectra.program.file_cache import Remembered
from suspectra.program.file_parts import FilePart, file_parts
from suspectra.program.flow_graph import FlowGraph, GraphTable
from suspectra.program.flow_readers import FlowReading, read_flow
from suspectra.program.python.basic_blocks import join_blocks, scope_graphs
from suspectra.program.python.flow import PythonFlow, inside_expression
from suspectra.program.python.scope_flow import Arc
from suspectra.program.sources_as_run import SourceOf
from suspectra.spectrum import Edges, Elements
from suspectra_recorder.instrumentation.source import without_collecting

UNDECIDED = "decide things no arc shows"
"""Part of the note on lines with conditions inside expressions; irrelevant if the evidence has their outcomes."""

_Arcs = Mapping[Arc, int]  # index among the arcs of the file, -1 for an arc that no test took


def python_graphs(
    elements: Elements, edges: Edges, source_of: SourceOf
) -> tuple[tuple[GraphTable, ...], tuple[Problem, ...]]:
    """Build the flow graphs of all files with edges: a table for each file, a graph for each scope that a test
    entered.

    The graphs of a file are cached as long as its source and its arcs are the same.

    In the order of the files.

    What the arcs do not show.
    """
    graphs: list[GraphTable] = []
    notes = _Notes()
    flows = python_flows(elements, edges, source_of)
    _graphs_of.begin()
    _unclear.begin()
    for part in file_parts(elements, edges):
        check()
        flow = flows[part.file]
        path = elements.files[part.file]
        if flow is None and source_of(path) is not None:
            notes.unparsed.append(path)
        else:
            notes.add(path, flow, part)
        table = _graphs_of(flow, part)
        graphs.append(table.placed(part.first_function, part.columns, part.first_element))
    return tuple(graphs), notes.problems()


@Remembered
def _graphs_of(flow: PythonFlow | None, part: FilePart) -> GraphTable:
    """The graphs of one file, with indices within the file."""
    if flow is None:
        return GraphTable.from_graphs([_taken_graph(group, part) for group in _connected(part.arcs)])
    return scope_graphs(flow, part)


def python_flows(elements: Elements, edges: Edges, source_of: SourceOf) -> dict[int, PythonFlow | None]:
    """Read the flow of every file with edges; None where its source is not available or not Python."""
    files = np.unique(edges.file).tolist()
    return dict(zip(files, _flows(tuple(elements.files[file] for file in files), source_of), strict=True))


def keep_flows(reading: FlowReading) -> None:
    """Keep the flows that helper processes have read, and read the rest.

    Raises Cancelled when the present work was cancelled.
    """
    with without_collecting():
        for data, flow in reading.flows():
            _read_flow.keep(flow, data)


@lru_cache(maxsize=4)
def _flows(paths: tuple[str, ...], source_of: SourceOf) -> tuple[PythonFlow | None, ...]:
    _read_flow.begin()
    with without_collecting():
        sources = [source_of(path) for path in checked(paths)]
        unknown = [data for data in dict.fromkeys(sources) if data is not None and not _read_flow.knows(data)]
        keep_flows(FlowReading(unknown))
        return tuple([None if data is None else _read_flow(data) for data in sources])


_read_flow = Remembered(read_flow)


def _taken_graph(arcs: _Arcs, part: FilePart) -> FlowGraph:
    element = part.element_of_line
    lines = [end for arc in arcs for end in arc if end in element]
    function = max((part.function_of(element[line]) for line in lines), default=-1)
    ends = np.array(list(arcs), np.int32).reshape(-1, 2)
    number = np.fromiter(arcs.values(), np.int32, len(arcs))
    scope = np.zeros(len(arcs), np.int64)
    return join_blocks(np.array([function], np.int32), np.zeros(1, np.int32), scope, ends, number, part).graph(0)


def _connected(taken: _Arcs) -> list[dict[Arc, int]]:
    """Group the arcs that share lines. For most code there is one group for each function."""
    root: dict[tuple[str, int], tuple[str, int]] = {}

    def find(node: tuple[str, int]) -> tuple[str, int]:
        while (up := root.setdefault(node, node)) != node:
            root[node] = root[up]
            node = up
        return node

    known = {arc: at for arc, at in taken.items() if not inside_expression(arc)}
    for source, target in known:
        root[find(_node(source, "entry"))] = find(_node(target, "exit"))
    groups: dict[tuple[str, int], dict[Arc, int]] = defaultdict(dict)
    for arc, at in known.items():
        groups[find(_node(arc[0], "entry"))][arc] = at
    return list(groups.values())


def _node(end: int, otherwise: str) -> tuple[str, int]:
    return ("line" if end > 0 else otherwise, end)


class _Notes:
    """What the arcs do not show, collected over the files."""

    def __init__(self) -> None:
        self.without_source: list[str] = []
        self.unparsed: list[str] = []  # though they ran
        self.unexplained: list[tuple[str, int, Arc]] = []
        self.undecided: list[tuple[str, int, str]] = []

    def add(self, path: str, flow: PythonFlow | None, part: FilePart) -> None:
        """Collect what the arcs of one file do not show."""
        if flow is None:
            self.without_source.append(path)
            return
        strange, undecided = _unclear(flow, part)
        if strange:
            self.unexplained.append((path, len(strange), strange[0]))
        self.undecided += [(path, line, why) for line, why in undecided]

    def problems(self) -> tuple[Problem, ...]:
        found = []
        if self.unexplained:
            path, _, (source, target) = self.unexplained[0]
            count = sum(count for _, count, _ in self.unexplained)
            found.append(
                Problem(
                    "",
                    f"{path}:{abs(source)}",
                    f"{count} arcs can't happen in these sources, such as {source} → {target}; they are left out",
                    "run the tests again on the present sources",
                )
            )
        if self.without_source:
            found.append(
                Problem(
                    "",
                    self.without_source[0],
                    f"the source of {len(self.without_source)} files is not available as it was run, so their flow"
                    " graphs contain only the ways tests took",
                    "run the tests again on the present sources",
                )
            )
        newer = (newer_syntax(path, "its flow graphs contain only the ways tests took") for path in self.unparsed)
        found += [replace(problem, file="", place=problem.file) for problem in newer]
        if self.undecided:
            path, line, why = self.undecided[0]
            places = len({(path, line) for path, line, _ in self.undecided})
            cause = f"{places} lines {UNDECIDED}, the first because of {why}; those outcomes count as one"
            found.append(Problem("", f"{path}:{line}", cause, "give a decision that matters a line of its own"))
        return tuple(found)


@Remembered
def _unclear(flow: PythonFlow, part: FilePart) -> tuple[list[Arc], list[tuple[int, str]]]:
    """The arcs that are impossible, and the decisions that leave no arc."""
    ends = part.ends
    strange = sorted(map(tuple, ends[~flow.can_go(ends)].tolist()))
    lines = set(ends.ravel().tolist()) if flow.undecided else ()
    return strange, [(line, why) for line, why in flow.undecided if line in lines]
