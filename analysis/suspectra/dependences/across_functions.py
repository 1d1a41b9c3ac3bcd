"""Summary control dependences across functions: what one reads because a decision of another one left it as it was.

What two functions know may be the same object, or another one that only has the same name. So decisions count of which
a branch that was not taken changes an attribute of this name, or what it contains; not those before it was set for the
last time. A decision whose branch was taken is not missed: if that changed what is read, there are flow dependences,
and what it called has decisions of its own.
"""

from __future__ import annotations

import numpy as np

from suspectra.base.arrays import Bools, Ints, distinct
from suspectra.base.cancellation import checked
from suspectra.dependences.control import ControlDependences, NodeCalls
from suspectra.dependences.instances import InstanceEdges, Instances, all_edges, distinct_edges, paired
from suspectra.program.python.point_dependences import Lists
from suspectra.program.python.prevented_changes import ChangesElsewhere

_AT_ONCE = 1 << 18  # nodes that are looked up together


class DecisionsElsewhere:
    """Finds the decisions that left as it was what a function reads."""

    def __init__(self, changes: ChangesElsewhere, calls: NodeCalls, control: ControlDependences, can_change: Bools):
        self._changes, self._calls, self._control = changes, calls, control
        self._can_change = can_change
        self._locations = len(changes.guarded.start) - 1

    def edges(self, flow: InstanceEdges, limit: int) -> InstanceEdges:
        """Find the dependences."""
        size = len(self._calls)
        if not self._locations:
            return InstanceEdges(np.zeros(0, np.int32), np.zeros(0, np.int32))
        target, location, since = self._read(flow)
        skipping = self._skipping(distinct(location))
        found: list[InstanceEdges] = []
        parts = np.array_split(np.arange(len(target)), len(target) // _AT_ONCE + 1)
        for some in checked(parts):
            zero = np.zeros(len(some), np.int64)
            edges = skipping.between(zero, location[some], since[some], target[some], limit // len(parts))
            found.append(distinct_edges(edges, size))
        return all_edges(found)

    def _read(self, flow: InstanceEdges) -> tuple[Ints, Ints, Ints]:
        """Nodes, the locations that they read, and the nodes before which no decision matters for that."""
        calls, changes = self._calls, self._changes
        nodes = np.flatnonzero((calls.point >= 0) & ~calls.is_entry)
        target, location = paired(nodes, calls.point[nodes], changes.reading)
        known = calls.point[flow.source] >= 0
        source, user = flow.source[known], flow.target[known]
        edge, written = paired(np.arange(len(source)), calls.point[source], changes.writing)
        keys = user[edge].astype(np.int64) * self._locations + written
        wanted = target.astype(np.int64) * self._locations + location
        since = _first_of(wanted, keys, source[edge])
        plain = (since >= 0) & changes.is_content[location]
        changeable = self._can_change[source[edge]]
        plain &= _first_of(wanted, keys[changeable], source[edge][changeable]) < 0
        since = np.where(since < 0, _earliest(flow, len(calls))[target], since)  # as where another name was made
        begin = np.append(calls.entry, -1)[calls.call[target]]
        since = np.where(changes.is_local[location], np.maximum(since, begin), since)
        edge, touched = paired(np.arange(len(source)), calls.point[source], changes.touching)
        return (
            np.concatenate([target[~plain], user[edge]]).astype(np.int64),
            np.concatenate([location[~plain], touched]).astype(np.int64),
            np.concatenate([since[~plain], source[edge]]).astype(np.int64),
        )

    def _skipping(self, locations: Ints) -> Instances:
        """For each location the decisions that did not lead to a change of it."""
        calls, guarded = self._calls, self._changes.guarded
        of_number, numbers = paired(locations, locations, guarded)
        of_pair, decision, change = of_number[::2], numbers[::2], numbers[1::2]
        order = np.argsort(decision, kind="stable")
        points = int(calls.point.max(initial=0)) + 1
        by_decision = Lists(np.searchsorted(decision[order], np.arange(points + 1)), order)
        nodes = np.flatnonzero((calls.point >= 0) & ~calls.is_entry)
        found: list[Ints] = [np.zeros(0, np.int64)]
        size = len(calls)
        for some in checked(np.array_split(nodes, len(nodes) // _AT_ONCE + 1)):
            node, at = paired(some, calls.point[some], by_decision)
            left = self._control.first_led_to(node, change[at]) < 0
            found.append(distinct(of_pair[at[left]].astype(np.int64) * size + node[left]))
        keys = np.concatenate(found)
        return Instances(np.zeros(len(keys), np.int64), keys // size, keys % size, size, self._locations)


def _earliest(flow: InstanceEdges, size: int) -> Ints:
    """The first node that each node depends on; -1 for none."""
    found = np.full(size, size)
    np.minimum.at(found, flow.target, flow.source)
    return np.where(found < size, found, -1)


def _first_of(wanted: Ints, keys: Ints, nodes: Ints) -> Ints:
    """For each wanted key the first of the nodes that have it; -1 for none."""
    order = np.lexsort((nodes, keys))
    keys, nodes = keys[order], nodes[order]
    place = np.searchsorted(keys, wanted)
    return np.where(np.append(keys, -1)[place] == wanted, np.append(nodes, -1)[place], -1)
