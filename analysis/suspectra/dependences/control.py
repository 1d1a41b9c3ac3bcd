"""Control and summary control dependences of a run, from the order of its nodes (paper 002, Algorithms 1 and 3).

They are found for all nodes at once, by one sorted number of call, point and node. The last node that depends on a
decision says how long it is in force, since the nodes of a call are a preorder of the tree of their nearest decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.base.cancellation import check, checked
from suspectra.dependences.instances import InstanceEdges, Instances, all_edges, distinct_edges, edge_keys, paired
from suspectra.program.python.point_dependences import PointDependences
from suspectra.program.python.points import PointKind

MAX_SUMMARY = 4
"""Summary control dependences that a run may have, for each of its nodes."""

_AT_ONCE = 1 << 18  # nodes that are looked up together


@dataclass(frozen=True, eq=False)
class NodeCalls:
    """Which nodes belong to which call of a function, and where that was called."""

    # the point of each node, in the order in which nodes were made; -1 for nodes outside known sources; shape (nodes,)
    point: Ints
    call: Ints  # the call that each node belongs to; shape (nodes,)
    entry: Ints  # the node of each call that stands for its beginning; -1 for none; shape (calls,)
    caller: Ints  # the call that each call was made by; -1 for none; shape (calls,)
    calling: Ints  # the point at which each call was made; -1 for an unknown one; shape (calls,)

    def __len__(self) -> int:
        return len(self.point)

    @cached_property
    def is_entry(self) -> Bools:
        """Whether a node stands for the beginning of its call; shape (nodes,)."""
        found = np.zeros(len(self), bool)
        found[self.entry[self.entry >= 0]] = True
        return found

    @cached_property
    def asking_call(self) -> Ints:
        """The call whose decisions say whether a node exists: for an entry the caller; shape (nodes,)."""
        return np.where(self.is_entry, self.caller[self.call], self.call)

    @cached_property
    def asking_point(self) -> Ints:
        """The point that is evaluated for a node to exist; shape (nodes,)."""
        return np.where(self.is_entry, self.calling[self.call], self.point)


class ControlDependences:
    """Finds out which decisions are the reason for which nodes."""

    def __init__(self, table: PointDependences, calls: NodeCalls):
        self._table, self._calls = table, calls
        known = np.flatnonzero((calls.point >= 0) & ~calls.is_entry)
        self._instances = Instances(calls.call[known], calls.point[known], known, len(calls), len(table))
        self._is_decision = np.array([kind is PointKind.DECISION for kind in table.kind], bool)

    def direct(self) -> InstanceEdges:
        """Find the live decisions of each node: those that can keep it from being executed, of all levels.

        The last instance of each decision on which a node is control dependent. The first node of a call depends on
        what decided that it was called; nodes that depend on no decision of their call depend on that one.
        """
        return self._direct

    @cached_property
    def _direct(self) -> InstanceEdges:
        target, source = self._above
        live = (source == self.parent[target]) | (self._is_live(source, target) & self._decided(source))
        asking = self._calls.asking_call
        entry = np.where(asking >= 0, np.append(self._calls.entry, -1)[asking], -1)
        rest = np.flatnonzero((self.parent < 0) & (entry >= 0) & (entry < np.arange(len(entry))))
        return InstanceEdges(np.concatenate([source[live], entry[rest]]), np.concatenate([target[live], rest]))

    def inside(self) -> InstanceEdges:
        """Find the decisions within the expressions of each node, which say what its value is."""
        return all_edges([self._inside(nodes) for nodes in checked(self._parts)])

    def _inside(self, nodes: Ints) -> InstanceEdges:
        calls = self._calls
        target, decision = paired(nodes, calls.point[nodes], self._table.inside)
        since = self._instances.last(calls.call[target], calls.point[target], target)
        return self._instances.between(calls.call[target], decision, since, target)

    def summary(
        self, flow: InstanceEdges | None = None, limit: int | None = None, elsewhere: InstanceEdges | None = None
    ) -> InstanceEdges:
        """Find the decisions that could have changed what a node reads, but are no part of how that was written."""
        most = MAX_SUMMARY * len(self._calls) + _AT_ONCE if limit is None else limit
        found = all_edges([self._summary(nodes, most // len(self._parts)) for nodes in checked(self._parts)])
        check()
        if elsewhere is not None:
            found = distinct_edges(all_edges([found, elsewhere]), len(self._calls))
        return self._without_replaced(found, flow)

    def _summary(self, nodes: Ints, limit: int) -> InstanceEdges:
        calls = self._calls
        target, group = paired(nodes, calls.point[nodes], self._table.reading)
        written = np.full(len(target), -1, np.int64)
        pair, write = paired(np.arange(len(target)), group, self._table.writing)
        np.maximum.at(written, pair, self._instances.last(calls.call[target[pair]], write, target[pair]))
        pair, decision = paired(np.arange(len(target)), group, self._table.skipping)
        at = target[pair]
        found = self._instances.between(calls.call[at], decision, written[pair], at, limit)
        return distinct_edges(found, len(calls))

    def changed(self, summary: InstanceEdges) -> Bools:
        """Say which of these decisions led to what may have changed what is read: no other outcome was needed.

        Of shape (dependences,). False where something that is read was left as it was.
        """
        most = int(np.diff(self._table.changing.start).max(initial=1))
        parts = np.array_split(np.arange(len(summary.source)), len(summary.source) * most // _AT_ONCE + 1)
        found = [self._changed(InstanceEdges(summary.source[some], summary.target[some])) for some in checked(parts)]
        return np.concatenate(found)

    def _changed(self, summary: InstanceEdges) -> Bools:
        calls, table = self._calls, self._table
        edge, group = paired(np.arange(len(summary.source)), calls.point[summary.target], table.reading)
        size = len(table) + 1
        of_group = np.repeat(np.arange(len(table.skipping.start) - 1), np.diff(table.skipping.start))
        skips = np.sort(of_group * size + table.skipping.number)
        keys = group * size + calls.point[summary.source[edge]]
        known = np.append(skips, -1)[np.searchsorted(skips, keys)] == keys
        edge, group = edge[known], group[known]
        pair, point = paired(np.arange(len(edge)), group, table.changing)
        decision = summary.source[edge[pair]]
        first = self.first_led_to(decision, point)
        here = (first >= 0) & (first < summary.target[edge[pair]])
        changes = np.zeros(len(edge), bool)
        changes[pair[here]] = True
        found = np.zeros(len(summary.source), bool)  # those on decisions of other functions are in no group
        found[edge] = True
        found[edge[~changes]] = False
        return found

    def first_led_to(self, decision: Ints, point: Ints) -> Ints:
        """Find what shows that decisions led to the evaluation of points of their functions.

        Of shape (k,). The first node of the point, or of a call that it made, while the decision was in force; -1 for
        none.
        """
        first = self._evaluations.following(self._calls.call[decision], point, decision)
        return np.where((first >= 0) & self._is_live(decision, first), first, -1)

    def _without_replaced(self, found: InstanceEdges, flow: InstanceEdges | None) -> InstanceEdges:
        """Leave out where another source of the same node depends on the decision."""
        known = [found, self._direct, *([] if flow is None else [flow])]
        size = len(self._calls)
        sources = np.sort(np.concatenate([edges.target.astype(np.int64) * size + edges.source for edges in known]))
        following = np.searchsorted(sources, found.target.astype(np.int64) * size + found.source, "right")
        next_source = np.append(sources, -1)[following]
        same = next_source // size == found.target
        replaced = same & self._is_live(found.source, next_source % size)
        direct, keys = np.sort(edge_keys(self._direct, size)), edge_keys(found, size)
        known_already = np.append(direct, -1)[np.searchsorted(direct, keys)] == keys
        kept = ~replaced & ~known_already
        return InstanceEdges(found.source[kept], found.target[kept])

    @cached_property
    def _evaluations(self) -> Instances:
        """The nodes that show that a point was evaluated: its own, and calls that it made."""
        calls = self._calls
        known = np.flatnonzero((calls.asking_point >= 0) & (calls.asking_call >= 0))
        call, point = calls.asking_call[known], calls.asking_point[known]
        return Instances(call, point, known, len(calls), len(self._table))

    @cached_property
    def _parts(self) -> list[Ints]:
        """The nodes at known points, in parts that fit into memory with all their pairs."""
        calls = self._calls
        nodes = np.flatnonzero((calls.point >= 0) & ~calls.is_entry)
        return np.array_split(nodes, len(nodes) // _AT_ONCE + 1)

    @cached_property
    def parent(self) -> Ints:
        """The most recent of the decisions that a node is control dependent on, -1 for none; int32, shape (nodes,)."""
        target, source = self._above
        found = np.full(len(self._calls), -1, np.int32)
        np.maximum.at(found, target, source)
        return found

    @cached_property
    def _above(self) -> tuple[Ints, Ints]:
        """Nodes, and the last instance before them of each decision above."""
        calls = self._calls
        targets, sources = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        nodes = np.flatnonzero((calls.asking_point >= 0) & (calls.asking_call >= 0))
        for some in checked(np.array_split(nodes, len(nodes) // _AT_ONCE + 1)):
            target, decision = paired(some, calls.asking_point[some], self._table.controlling)
            source = self._instances.last(calls.asking_call[target], decision, target)
            targets.append(target[source >= 0].astype(np.int32))
            sources.append(source[source >= 0].astype(np.int32))
        return np.concatenate(targets), np.concatenate(sources)

    @cached_property
    def _last_dependent(self) -> Ints:
        """The last node that depends on each node by control, directly or not; the node itself where none does."""
        last = np.arange(len(self._calls))
        np.maximum.at(last, self.parent[self.parent >= 0], np.flatnonzero(self.parent >= 0))
        while True:  # nodes are a preorder of the tree of their parents: the last one is the last child's last one
            further = last[last]
            if np.array_equal(further, last):
                return last
            last = further

    def _is_live(self, decision: Ints, node: Ints) -> Bools:
        """Whether control is still in the hands of a decision when a later node is made."""
        return np.asarray((decision < node) & (node <= self._last_dependent[decision]))

    def _decided(self, node: Ints) -> Bools:
        return np.asarray(self._is_decision[self._calls.point[node]])
