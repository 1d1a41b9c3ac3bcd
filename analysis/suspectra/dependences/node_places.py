"""Where in the evaluation of its source each node of a trace is, and the control dependences that follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.base.cancellation import check
from suspectra.dependences.across_functions import DecisionsElsewhere
from suspectra.dependences.control import MAX_SUMMARY, ControlDependences, NodeCalls
from suspectra.dependences.graph import DependenceGraph, DependenceKind
from suspectra.dependences.instances import InstanceEdges
from suspectra.dependences.trace import DependenceTrace, TraceSite
from suspectra.program.python.decision_texts import DecisionTexts
from suspectra.program.python.point_dependences import PointDependences, joined, scopes_in
from suspectra.program.python.points import Span
from suspectra.program.python.prevented_changes import ChangesElsewhere
from suspectra.program.python.scope_effects import ScopeEffects
from suspectra_recorder.experiments.decisions.rewriting import InstrumentedDecision, instrument
from suspectra_recorder.instrumentation.source import parse

SourceOf = Callable[[str], bytes | None]
"""Given a path, the source as it was run, or None."""

_PLAIN = frozenset(
    {"None", "True", "False", "str", "int", "bytes", "tuple", "frozenset", "function", "type", "Decimal"}
)
_DECISIONS = ("decision", "end")  # the kinds of sites that are where a decision is made


def with_control(trace: DependenceTrace, source_of: SourceOf, caller: Ints, calling: Ints) -> DependenceTrace:
    """Add control and summary control dependences to the flow dependences of a trace."""
    decided = _decided(trace.sites, source_of)
    table, points, effects = _read(trace.sites, source_of, decided)
    graph = trace.graph
    is_entry = np.array([site.kind == "entry" for site in trace.sites], bool)[graph.site]
    entry = np.full(len(caller), -1, np.int32)
    entered = np.flatnonzero(is_entry)[::-1]
    entry[trace.call[entered]] = entered  # the first one of each call
    at = np.where(calling >= 0, points[np.maximum(calling, 0)], _next_point(points[graph.site], trace, entry, caller))
    check()
    calls = NodeCalls(points[graph.site], trace.call, entry, caller, at)
    dependences = ControlDependences(table, calls)
    flow = InstanceEdges(graph.source, graph.target)
    control = [dependences.direct(), dependences.inside()]
    check()
    changes = ChangesElsewhere.from_sources(effects, table, _observed(calls))
    elsewhere = DecisionsElsewhere(changes, calls, dependences, _can_change(trace)).edges(
        flow, MAX_SUMMARY * len(graph)
    )
    summary = dependences.summary(flow, elsewhere=elsewhere)
    check()
    kind = np.where(dependences.changed(summary), DependenceKind.CHANGE, DependenceKind.SUMMARY)
    return replace(
        trace, sites=_with_texts(trace.sites, source_of, decided), graph=_joined(graph, control, summary, kind)
    )


def _with_texts(
    sites: Sequence[TraceSite], source_of: SourceOf, decided: Mapping[int, InstrumentedDecision]
) -> tuple[TraceSite, ...]:
    """The same sites; decisions that their lines do not name have their own texts."""
    found, texts = list(sites), DecisionTexts(source_of)
    for number, decision in decided.items():
        own = texts.own(sites[number].file, decision.kind, Span(*decision[1:5]))
        found[number] = sites[number]._replace(own=own)
    return tuple(found)


def _next_point(point: Ints, trace: DependenceTrace, entry: Ints, caller: Ints) -> Ints:
    """The point of the first node that a caller makes after a call began: it was evaluating that when it called."""
    size = max(len(trace.graph), 1)
    order = np.lexsort((np.arange(len(trace.graph)), trace.call))
    keys = trace.call[order].astype(np.int64) * size + order
    place = np.searchsorted(keys, caller.astype(np.int64) * size + entry)
    node = np.append(order, -1)[place]
    known = (entry >= 0) & (caller >= 0) & (node >= 0)
    known &= np.append(trace.call, -1)[node] == caller
    return np.where(known, np.append(point, -1)[node], -1)


def _can_change(trace: DependenceTrace) -> Bools:
    """Whether the value of each node may contain something else later."""
    known: dict[str, bool] = {}
    for text in trace.value:
        if text not in known:
            head = text.partition("(")[0]  # of an object with something in it
            known[text] = text[:1] in ("[", "{") or (head.isidentifier() and head not in _PLAIN)
    return np.fromiter((known[text] for text in trace.value), bool, len(trace.graph))


def _observed(calls: NodeCalls) -> list[tuple[int, int]]:
    """The points that called functions, each with a point of what it called."""
    node = np.flatnonzero((calls.point >= 0) & ~calls.is_entry)
    called = calls.call[node]
    pairs = np.stack([calls.calling[called], calls.point[node]], axis=1)
    return [(int(one), int(other)) for one, other in np.unique(pairs[pairs[:, 0] >= 0], axis=0)]


def points_of(
    sites: Sequence[TraceSite], source_of: SourceOf, decided: Mapping[int, InstrumentedDecision] | None = None
) -> tuple[PointDependences, Ints]:
    """Find the point of each site.

    Of shape (sites,).
    """
    return _read(sites, source_of, _decided(sites, source_of) if decided is None else decided)[:2]


def _read(
    sites: Sequence[TraceSite], source_of: SourceOf, decided: Mapping[int, InstrumentedDecision]
) -> tuple[PointDependences, Ints, list[ScopeEffects]]:
    """The points of all sources and of each site, and what the functions of each source change."""
    points = np.full(len(sites), -1, np.int32)
    tables: list[PointDependences] = []
    effects: list[ScopeEffects] = []
    first = 0
    for path, numbers in _by_file(sites).items():
        source = source_of(path)
        if source is None:
            continue
        scopes = scopes_in(source)
        table = PointDependences.from_scopes(scopes)
        for number in numbers:
            point = _point_of(sites[number], decided.get(number), table)
            points[number] = first + point if point >= 0 else -1
        tables.append(table)
        effects.append(ScopeEffects.from_scopes(scopes))
        first += len(table)
    return joined(tables), points, effects


def _point_of(site: TraceSite, decided: InstrumentedDecision | None, table: PointDependences) -> int:
    """The point of a site of the source of a table; -1 for none."""
    if site.kind == "nothing":
        return table.end_of(site.line, site.column)
    point = -1 if decided is None else table.decision(Span(*decided[1:5]))
    return table.at(site.line, site.column) if point < 0 else point


def _by_file(sites: Sequence[TraceSite]) -> dict[str, list[int]]:
    """The numbers of the sites of each file."""
    found: dict[str, list[int]] = {}
    for number, site in enumerate(sites):
        found.setdefault(site.file, []).append(number)
    return found


def _decided(sites: Sequence[TraceSite], source_of: SourceOf) -> dict[int, InstrumentedDecision]:
    """The decisions that are made at sites, by the numbers of these."""
    found: dict[int, InstrumentedDecision] = {}
    for path, numbers in _by_file(sites).items():
        deciding = [number for number in numbers if sites[number].kind in _DECISIONS]
        source = source_of(path) if deciding else None
        if source is not None:
            listed = _decisions(source, [sites[number] for number in deciding])
            known = ((number, listed.get(sites[number].number)) for number in deciding)
            found.update((number, decision) for number, decision in known if decision is not None)
    return found


def _decisions(source: bytes, sites: Sequence[TraceSite]) -> dict[int, InstrumentedDecision]:
    """The decisions of a source, by their numbers; without those that are not where their sites say."""
    best: dict[int, InstrumentedDecision] = {}
    numbers = {site.number for site in sites}
    for asserts in (True, False):  # whether those in asserts were numbered
        # a source is parsed a second time only where decisions are not found
        if len(best) == len(numbers):
            break
        try:
            listed = instrument(parse(source), "", 0, asserts=asserts)
        except (SyntaxError, ValueError, RecursionError):
            return {}
        there = numbers - {site.number for site in sites if not _is_at(site, listed)}
        if len(there) > len(best):
            best = {number: listed[number] for number in there}
    return best


def _is_at(site: TraceSite, listed: Sequence[InstrumentedDecision]) -> bool:
    """Whether the decision of a number is at the statement or the expression that a site names."""
    return site.number < len(listed) and site.line <= listed[site.number].line <= site.end_line


def _joined(
    graph: DependenceGraph, control: Sequence[InstanceEdges], summary: InstanceEdges, kind_of: Ints
) -> DependenceGraph:
    """All edges, of those between the same nodes the first kind."""
    kinds = [(InstanceEdges(graph.source, graph.target), graph.kind)]
    kinds += [(edges, np.full(len(edges.source), DependenceKind.CONTROL, np.int8)) for edges in control]
    kinds.append((summary, kind_of.astype(np.int8)))
    size = max(len(graph), 1)
    keys = np.concatenate([edges.target.astype(np.int64) * size + edges.source for edges, _ in kinds])
    once, first = np.unique(keys, return_index=True)
    target, source = (once // size).astype(np.int32), (once % size).astype(np.int32)
    kind = np.concatenate([kind for _, kind in kinds])[first]
    start = np.searchsorted(target, np.arange(len(graph) + 1))
    return DependenceGraph(graph.site, graph.instance, start, source, kind)
