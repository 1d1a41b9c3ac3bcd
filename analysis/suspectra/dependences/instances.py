"""Instances of places in calls, found for many nodes at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Ints, distinct, ranges
from suspectra.program.python.point_dependences import Lists


class InstanceEdges(NamedTuple):
    """Dependences between nodes."""

    # the target depends on the source; shape (dependences,)
    source: Ints
    target: Ints


class Instances:
    """The nodes of each place in each call, in order: call, place and node as one ascending number."""

    def __init__(self, call: Ints, place: Ints, node: Ints, nodes: int, places: int):
        self._nodes, self._places = max(nodes, 1), max(places, 1)
        self._ordered = np.sort(self._key(call, place, node))

    def _key(self, call: Ints, place: Ints, node: Ints | int) -> Ints:
        return np.asarray((call.astype(np.int64) * self._places + place) * self._nodes + node)

    def last(self, call: Ints, place: Ints, node: Ints) -> Ints:
        """Find the last instance of a place in a call before a node.

        Of shape (k,).
        """
        found = np.append(self._ordered, -1)[np.searchsorted(self._ordered, self._key(call, place, node)) - 1]
        return np.where(found >= self._key(call, place, 0), found % self._nodes, -1)

    def following(self, call: Ints, place: Ints, node: Ints) -> Ints:
        """Find the first instance of a place in a call behind a node.

        Of shape (k,).
        """
        at = np.searchsorted(self._ordered, self._key(call, place, node), "right")
        found = np.append(self._ordered, -1)[at]
        return np.where(found // self._nodes == self._key(call, place, 0) // self._nodes, found % self._nodes, -1)

    def between(self, call: Ints, place: Ints, since: Ints, node: Ints, limit: int | None = None) -> InstanceEdges:
        """Find all instances of a place in a call between two nodes."""
        begin = np.searchsorted(self._ordered, self._key(call, place, since) + 1)
        many = np.searchsorted(self._ordered, self._key(call, place, node)) - begin
        if limit is not None and many.sum() > limit:
            fewer = np.minimum(many, _most_each(many, limit))
            begin, many = begin + many - fewer, fewer
        target = np.repeat(node, many)
        source = self._ordered[ranges(begin, begin + many)] % self._nodes
        return InstanceEdges(source.astype(np.int32), target.astype(np.int32))


def _most_each(many: Ints, limit: int) -> int:
    """How much each may have, so that all together have no more than allowed."""
    low, high = 0, int(many.max())
    while low < high:
        middle = (low + high + 1) // 2
        if np.minimum(many, middle).sum() <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def paired(thing: Ints, listed: Ints, lists: Lists) -> tuple[Ints, Ints]:
    """Pair each thing with each number of its list.

    Of shape (pairs,). In the order of the things.
    """
    start, end = lists.start[listed], lists.start[listed + 1]
    return np.repeat(thing, end - start), lists.number[ranges(start, end)]


def edge_keys(edges: InstanceEdges, size: int) -> Ints:
    """Write each edge as one number.

    Of shape (dependences,).
    """
    return np.asarray(edges.target.astype(np.int64) * size + edges.source)


def all_edges(parts: Sequence[InstanceEdges]) -> InstanceEdges:
    """Put edges together."""
    return InstanceEdges(*(np.concatenate(ends) for ends in zip(*parts, strict=True)))


def distinct_edges(edges: InstanceEdges, size: int) -> InstanceEdges:
    """Leave out edges that are there again."""
    keys = distinct(edge_keys(edges, size))
    return InstanceEdges((keys % size).astype(np.int32), (keys // size).astype(np.int32))
