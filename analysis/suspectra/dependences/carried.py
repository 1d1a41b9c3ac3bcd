"""Contents of objects, as dependences of what carries the object on.

A node that reads an object depends on the node that it has the object from, and on all that wrote into the object: its
constructor, `append`, and so on. Whoever alters the former replaces the whole object, or the numbers inside it. So the
dependences on the latter belong there. Otherwise they would lead around every state that can be altered, for nobody can
alter what `append` did, and a cut would have to go through whatever the contents were made from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from suspectra.base.arrays import Bools
from suspectra.dependences.graph import DependenceGraph, DependenceKind

MAX_OBJECTS = 50
"""Nodes that are looked at to find out whether two nodes have the same object."""

_CONTAINERS = "[{(<"  # a function or a class, too, has what it refers to


def carried_contents(
    graph: DependenceGraph,
    value: Sequence[str],  # short literals; the name of the type where a value has none; shape (nodes,)
    is_new: Bools,  # nodes that may make a new object of others: calls of code that is not traced; shape (nodes,)
    can_alter: Bools,  # shape (nodes,)
    needed: Bools,  # nodes whose dependences matter; shape (nodes,)
) -> DependenceGraph:
    """Let objects depend on their contents where they are carried on by a state that can be altered."""
    objects = _Objects(graph, value, is_new)
    kinds: dict[int, dict[int, int]] = {}  # of those nodes whose dependences change: the kind of each, by its source

    def sources(node: int) -> Mapping[int, int]:
        if node in kinds:
            return kinds[node]
        at = slice(graph.start[node], graph.start[node + 1])
        return dict(zip(graph.source[at].tolist(), graph.kind[at].tolist(), strict=True))

    for node in np.flatnonzero(needed)[::-1].tolist():  # descending: what a carrier gets is looked at there
        found = sources(node)
        flows = sorted(source for source, kind in found.items() if kind == DependenceKind.FLOW)
        carriers = [source for source in flows if can_alter[source] and objects.is_one(source)]
        if not carriers or len(flows) == 1:
            continue
        for source in flows:
            if can_alter[source]:
                continue
            carrier = next((one for one in carriers if one > source and objects.shared(source, one)), None)
            if carrier is not None:
                kinds.setdefault(node, dict(found)).pop(source)
                kinds.setdefault(carrier, dict(sources(carrier))).setdefault(source, int(DependenceKind.FLOW))
    return _with_sources(graph, kinds)


class _Objects:
    """Which nodes have which objects."""

    def __init__(self, graph: DependenceGraph, value: Sequence[str], is_new: Bools):
        self._graph, self._value, self._is_new = graph, value, is_new

    def is_one(self, node: int) -> bool:
        """Whether the value of a node may contain something."""
        text = self._value[node]
        return bool(text) and (
            text[0] in _CONTAINERS or (text.partition("(")[0].isidentifier() and text not in ("None", "True", "False"))
        )

    def shared(self, writer: int, carrier: int) -> bool:
        """Whether a node made, or wrote into, an object that a later one has."""
        written = {writer} if self.is_one(writer) else set(filter(self.is_one, self._flows(writer)))
        seen, todo = {carrier}, [carrier]
        while todo and len(seen) < MAX_OBJECTS:
            node = todo.pop()
            if node in written:
                return True
            if self._is_new[node]:
                continue
            for one in self._flows(node):
                if one not in seen and self.is_one(one):
                    seen.add(one)
                    todo.append(one)
        return not written.isdisjoint(seen)

    def _flows(self, node: int) -> list[int]:
        at = slice(self._graph.start[node], self._graph.start[node + 1])
        flow = self._graph.kind[at] == DependenceKind.FLOW
        found: list[int] = self._graph.source[at][flow].tolist()
        return found


def _with_sources(graph: DependenceGraph, kinds: Mapping[int, Mapping[int, int]]) -> DependenceGraph:
    """The graph, in which some nodes have other dependences."""
    if not kinds:
        return graph
    kept = np.ones(len(graph.source), bool)
    for node in kinds:
        kept[graph.start[node] : graph.start[node + 1]] = False
    new = np.array(
        [(source, node, kind) for node, found in kinds.items() for source, kind in found.items()], np.int64
    ).reshape(-1, 3)
    source = np.concatenate([graph.source[kept], new[:, 0]])
    target = np.concatenate([graph.target[kept], new[:, 1]])
    kind = np.concatenate([graph.kind[kept], new[:, 2]])
    order = np.lexsort((source, target))
    start = np.searchsorted(target[order], np.arange(len(graph) + 1))
    return DependenceGraph(
        graph.site, graph.instance, start, source[order].astype(np.int32), kind[order].astype(np.int8)
    )
