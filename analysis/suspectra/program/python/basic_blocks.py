"""Basic blocks of Python code: lines that always follow one another are joined. All scopes of a file are done at
once.
"""

from __future__ import annotations

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.program.file_parts import FilePart
from suspectra.program.flow_graph import ENTRY, EXIT, GraphTable
from suspectra.program.python.flow import PythonFlow

_FIRST = 2  # the number of the first block with lines


def scope_graphs(flow: PythonFlow, part: FilePart) -> GraphTable:
    """Build the flow graphs of the scopes of a file that tests entered, with indices within the file.

    Rare arcs are included only where a test took them.
    """
    column = part.numbers_of(flow.ends)
    entered = np.zeros(len(flow.scopes), bool)
    entered[flow.scope_of_arc[column >= 0]] = True
    kept = (~flow.rare | (column >= 0)) & entered[flow.scope_of_arc]
    scopes = np.flatnonzero(entered)
    graph = np.cumsum(entered) - 1
    known = part.function_of_line
    chosen = [flow.scopes[scope] for scope in scopes.tolist()]
    function = np.array([known.get(s.line, -1) if s.is_function else -1 for s in chosen], np.int32)
    header = np.array([s.header for s in chosen], np.int32)
    return join_blocks(function, header, graph[flow.scope_of_arc[kept]], flow.ends[kept], column[kept], part)


def join_blocks(function: Ints, header: Ints, graph: Ints, ends: Ints, number: Ints, part: FilePart) -> GraphTable:
    """Join lines that always follow one another into blocks."""
    graphs = len(function)
    # a place is a line of a graph, numbered over all graphs; negative lines are entries and exits
    inner = ends > 0
    keys = graph[:, None].astype(np.int64) << 32 | np.where(inner, ends, 0)
    places, at = np.unique(keys[inner], return_inverse=True)
    place = np.full(ends.shape, -1, np.int64)
    place[inner] = at.reshape(-1)
    count = len(places)
    of_graph, line = places >> 32, places & 0xFFFFFFFF
    source, target = place.T
    ways_out = np.bincount(source[source >= 0], minlength=count)
    ways_in = np.bincount(target[target >= 0], minlength=count)
    follows = (source >= 0) & (target >= 0)
    follows[follows] = (ways_out[source[follows]] == 1) & (ways_in[target[follows]] == 1)
    head = _heads(source[follows], target[follows], count)
    is_head = head == np.arange(count)
    is_cycle = np.zeros(count, bool)
    is_cycle[target[follows]] = True
    is_cycle &= is_head
    # heads sorted by line, followed by the cycles that nothing enters
    order = np.lexsort((line, is_cycle, of_graph))
    order = order[is_head[order]]
    sizes = np.bincount(of_graph[is_head], minlength=graphs)
    block = np.empty(count, np.int64)
    block[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + _FIRST
    block = block[head]
    blocks = sizes + _FIRST
    first_block = np.concatenate([[0], np.cumsum(blocks)])
    remains = ~follows
    graph_of_edge = graph[remains]
    element = part.elements_at(line)
    is_member = (element >= 0) & (line > header[of_graph])
    owner = (first_block[of_graph] + block)[is_member]
    element = element[is_member]
    members = np.lexsort((element, owner))
    return GraphTable(
        function,
        first_block,
        np.searchsorted(graph_of_edge, np.arange(graphs + 1)),
        np.where(source >= 0, block[source] if count else 0, ENTRY)[remains].astype(np.int32),
        np.where(target >= 0, block[target] if count else 0, EXIT)[remains].astype(np.int32),
        number[remains].astype(np.int32),
        np.searchsorted(owner[members], np.arange(first_block[-1] + 1)).astype(np.int32),
        element[members],
    )


def _heads(source: Ints, target: Ints, count: int) -> Ints:
    """The first place of the chain of each place; for a cycle its place with the lowest number."""
    head = np.arange(count)
    head[target] = source
    follows = np.zeros(count, bool)
    follows[target] = True
    reach = 1
    while reach < count and follows[head].any():  # each round doubles the number of steps back
        head = head[head]
        reach *= 2
    in_cycle = follows[head]
    if in_cycle.any():
        after = dict(zip(source.tolist(), target.tolist(), strict=True))
        for first in np.flatnonzero(in_cycle).tolist():
            current = first
            while in_cycle[current]:
                head[current], in_cycle[current] = first, False
                current = after[current]
    return head
