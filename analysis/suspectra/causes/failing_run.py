"""From the trace of a failing test to what the search needs: which nodes are right, inputs, or can't be altered."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.causes.states import StatePoint
from suspectra.dependences.carried import carried_contents
from suspectra.dependences.graph import DependenceGraph, DependenceKind
from suspectra.dependences.narrowing import FailingRun
from suspectra.dependences.trace import DependenceTrace
from suspectra_recorder.instrumentation.source import parse

ALTERABLE = ("decision", "value")
"""The kinds of sites that altered runs know by number."""

MAX_CAPACITY = 9
"""What it costs to cut a node that is not suspicious at all; the most suspicious ones cost 1."""

At = Callable[[str, int], float]
Read = Callable[[str], "bytes | None"]


def points_of(trace: DependenceTrace) -> dict[int, StatePoint]:
    """Find out where each node is altered."""
    known = np.array([site.kind in ALTERABLE and site.number >= 0 for site in trace.sites], bool)
    site, instance = trace.graph.site, trace.graph.instance
    nodes = np.flatnonzero(known[site] & (instance > 0) & ~trace.is_test) if len(known) else np.zeros(0, np.int64)
    found = {}
    for node in nodes.tolist():
        place = trace.sites[site[node]]
        found[node] = StatePoint(place.file, place.number, int(instance[node]))
    return found


def failing_run(trace: DependenceTrace, read: Read, *, left_out: Bools | None = None) -> FailingRun:
    """Say what can be altered in a failing run.

    Test code is right where it depends on nothing of the program; elsewhere it is passed through.
    """
    graph = _within_run(trace)
    trace = replace(trace, graph=graph)
    can_alter = np.zeros(len(graph), bool)
    can_alter[list(points_of(trace))] = True
    if left_out is not None:
        can_alter &= ~left_out
    from_program = graph.forward(np.flatnonzero(~trace.is_test).tolist())
    is_right = trace.is_test & ~from_program
    is_input = _inputs(trace, is_right, read)
    is_new = np.array([site.kind == "native" for site in trace.sites], bool)[graph.site]
    led_to_it = graph.backward([trace.failure] if trace.failure >= 0 else [])
    graph = carried_contents(graph, trace.value, is_new, can_alter, led_to_it)
    return FailingRun(
        graph,
        trace.failure,
        trace.outcome >= 0,
        trace.outcome == 1,
        is_right,
        is_input,
        ~can_alter & ~is_right,
        is_moved=_moved(trace, is_right | is_input, read),
    )


def _within_run(trace: DependenceTrace) -> DependenceGraph:
    """The graph of the paper, without dependences on what was imported, which no alteration reaches.

    Left out are also control dependences on calls that the test makes in any case: they are where the run enters. And
    what another function may have changed with another decision (`DependenceKind.CHANGE`): almost every decision has
    such a dependence on the failure itself, so each would be in each cut. The paper leaves those between functions out,
    too (Section 3.1).
    """
    graph = trace.graph
    is_entry = np.array([site.kind == "entry" for site in trace.sites], bool)[graph.site]
    decided = np.zeros(len(graph), bool)
    decided[graph.target[(graph.kind == DependenceKind.CONTROL) & ~trace.is_test[graph.source]]] = True
    kept = ~((is_entry & ~decided)[graph.source] & (graph.kind == DependenceKind.CONTROL))
    kept &= (graph.instance[graph.source] > 0) & (graph.kind != DependenceKind.CHANGE)
    return graph.without(~kept)


def _inputs(trace: DependenceTrace, is_right: Bools, read: Read) -> Bools:
    """Nodes that hold what the test gave, unchanged: parameters, and what a call without arguments reads from it."""
    graph = trace.graph
    flow = graph.kind == DependenceKind.FLOW
    source, target = graph.source[flow], graph.target[flow]
    kind_of = np.array([site.kind for site in trace.sites], object)[graph.site]
    given = (kind_of == "parameter") & ~trace.is_test
    reading = np.zeros(len(graph), bool)
    calls: dict[str, frozenset[tuple[int, int]]] = {}
    for node in np.flatnonzero((kind_of == "native") & ~trace.is_test).tolist():  # ascending: earlier reads are known
        site = trace.sites[graph.site[node]]
        if site.file not in calls:
            calls[site.file] = _calls_without_arguments(read(site.file))
        sources = graph.sources_of(node)[flow[graph.start[node] : graph.start[node + 1]]]
        from_right = len(sources) > 0 and bool((is_right[sources] | reading[sources]).all())
        reading[node] = from_right and (site.line, site.column) in calls[site.file]
    stored = (kind_of == "value") & _all_sources(source, target, reading) & ~trace.is_test
    return np.asarray(given | reading | stored)


def _moved(trace: DependenceTrace, is_given: Bools, read: Read) -> Bools:
    """Values that are an input as the test gave it, since their statement only moves what it uses to another name."""
    graph = trace.graph
    kind_of = np.array([site.kind for site in trace.sites], object)[graph.site]
    unchanged = is_given.copy()
    moves: dict[str, frozenset[tuple[int, int]]] = {}
    for node in np.flatnonzero(np.isin(kind_of, ("value", "decision")) & ~is_given).tolist():  # earlier ones are known
        site = trace.sites[graph.site[node]]
        if site.file not in moves:
            moves[site.file] = _expressions_that_move(read(site.file))
        here = slice(graph.start[node], graph.start[node + 1])
        sources = graph.sources_of(node)[graph.kind[here] == DependenceKind.FLOW]
        from_inputs = len(sources) > 0 and bool(unchanged[sources].all())
        unchanged[node] = from_inputs and (site.line, site.column) in moves[site.file]
    return np.asarray(unchanged & (kind_of == "value") & ~is_given)


def _expressions_that_move(source: bytes | None) -> frozenset[tuple[int, int]]:
    """Where statements, and decisions in them, begin that compute nothing: `last = last or first`."""
    found: set[tuple[int, int]] = set()
    for node in _nodes(source):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return) and node.value is not None and _moves(node.value):
            found.add((node.lineno, node.col_offset))
            found.update((one.lineno, one.col_offset) for one in ast.walk(node.value) if isinstance(one, ast.expr))
    return frozenset(found)


def _moves(expression: ast.expr) -> bool:
    match expression:
        case ast.Name():
            return True
        case ast.BoolOp(values=values):
            return all(map(_moves, values))
        case ast.IfExp(body=one, orelse=other):
            return _moves(one) and _moves(other)
    return False


def _all_sources(source: Ints, target: Ints, among: Bools) -> Bools:
    """Nodes that depend on some nodes, and on no others."""
    found = np.zeros(len(among), bool)
    found[target] = True
    found[target[~among[source]]] = False
    return found


def _calls_without_arguments(source: bytes | None) -> frozenset[tuple[int, int]]:
    return frozenset(
        (node.lineno, node.col_offset)
        for node in _nodes(source)
        if isinstance(node, ast.Call) and not node.args and not node.keywords
    )


def _nodes(source: bytes | None) -> Iterator[ast.AST]:
    """The nodes of a source; none of one that can't be parsed."""
    with suppress(SyntaxError, ValueError, RecursionError):
        yield from ast.walk(parse(source or b""))


def capacities(trace: DependenceTrace, at: At) -> Ints:
    """What it costs to have each node in a cut: less, the more suspicious its statement is.

    Of shape (nodes,).
    """
    suspicion = np.array([at(site.file, site.line) for site in trace.sites], np.float64)
    most = float(suspicion[np.unique(trace.graph.site)].max(initial=0.0))
    share = np.clip(suspicion / most, 0, 1) if most > 0 else np.zeros(len(suspicion))
    return np.round(1 + (MAX_CAPACITY - 1) * (1 - share)).astype(np.int64)[trace.graph.site]


def constants(trace: DependenceTrace, passes: Callable[[str, int], bool]) -> Bools:
    """Find values that depend on nothing, in statements that passing tests execute too: they are probably right.

    Of shape (nodes,).
    """
    graph = trace.graph
    flow = (graph.kind == DependenceKind.FLOW) & (graph.instance[graph.source] > 0)
    alone = graph.instance > 0
    alone[graph.target[flow]] = False
    nodes = np.flatnonzero(alone & (trace.outcome < 0) & ~trace.is_test)
    found = np.zeros(len(graph), bool)
    for node in nodes.tolist():
        site = trace.sites[graph.site[node]]
        found[node] = passes(site.file, site.line)
    return found
