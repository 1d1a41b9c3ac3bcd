"""Instances of places in calls, found for many nodes at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from suspectra.arrays import Ints, distinct, ranges
from suspectra.program.point_dependences import Lists


class Edges(NamedTuple):
    """Dependences between nodes.

    Parameters
    ----------
    source, target : ndarray of int32, shape (dependences,)
        The target depends on the source.

    Examples
    --------
    >>> Edges(np.array([0]), np.array([1])).target.tolist()
    [1]
    """

    source: Ints
    target: Ints


class Instances:
    """The nodes of each place in each call, in order: call, place and node as one ascending number.

    Parameters
    ----------
    call, place, node : ndarray of int, shape (k,)
        Nodes, with the number of their call and of their place.
    nodes, places : int
        How many there are.

    Examples
    --------
    Nodes 2, 4 and 7 are of place 1 in call 0:

    >>> zeros = np.zeros(3, int)
    >>> instances = Instances(zeros, zeros + 1, np.array([2, 4, 7]), nodes=8, places=2)
    >>> call, place, node = zeros[:1], zeros[:1] + 1, np.array([5])
    >>> instances.last(call, place, node).tolist(), instances.following(call, place, node).tolist()
    ([4], [7])
    >>> instances.between(call, place, np.array([-1]), node).source.tolist()
    [2, 4]
    """

    def __init__(self, call: Ints, place: Ints, node: Ints, nodes: int, places: int):
        self._nodes, self._places = max(nodes, 1), max(places, 1)
        self._ordered = np.sort(self._key(call, place, node))

    def _key(self, call: Ints, place: Ints, node: Ints | int) -> Ints:
        return np.asarray((call.astype(np.int64) * self._places + place) * self._nodes + node)

    def last(self, call: Ints, place: Ints, node: Ints) -> Ints:
        """Find the last instance of a place in a call before a node.

        Parameters
        ----------
        call, place, node : ndarray of int, shape (k,)
            What is looked for.

        Returns
        -------
        ndarray of int, shape (k,)
            Nodes; -1 for none.
        """
        found = np.append(self._ordered, -1)[np.searchsorted(self._ordered, self._key(call, place, node)) - 1]
        return np.where(found >= self._key(call, place, 0), found % self._nodes, -1)

    def following(self, call: Ints, place: Ints, node: Ints) -> Ints:
        """Find the first instance of a place in a call behind a node.

        Parameters
        ----------
        call, place, node : ndarray of int, shape (k,)
            What is looked for.

        Returns
        -------
        ndarray of int, shape (k,)
            Nodes; -1 for none.
        """
        at = np.searchsorted(self._ordered, self._key(call, place, node), "right")
        found = np.append(self._ordered, -1)[at]
        return np.where(found // self._nodes == self._key(call, place, 0) // self._nodes, found % self._nodes, -1)

    def between(self, call: Ints, place: Ints, since: Ints, node: Ints, limit: int | None = None) -> Edges:
        """Find all instances of a place in a call between two nodes.

        Parameters
        ----------
        call, place, since, node : ndarray of int, shape (k,)
            What is looked for: behind one node, and before another one.
        limit : int, optional
            How many are found at most. Where there are more, those are the last ones of each.

        Returns
        -------
        Edges
            From the instances to `node`.
        """
        begin = np.searchsorted(self._ordered, self._key(call, place, since) + 1)
        many = np.searchsorted(self._ordered, self._key(call, place, node)) - begin
        if limit is not None and many.sum() > limit:
            fewer = np.minimum(many, _most_each(many, limit))
            begin, many = begin + many - fewer, fewer
        target = np.repeat(node, many)
        source = self._ordered[ranges(begin, begin + many)] % self._nodes
        return Edges(source.astype(np.int32), target.astype(np.int32))


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

    Parameters
    ----------
    thing : ndarray of int, shape (k,)
        The things.
    listed : ndarray of int, shape (k,)
        Which list each has.
    lists : Lists
        The lists.

    Returns
    -------
    thing, number : ndarray of int, shape (pairs,)
        In the order of the things.

    Examples
    --------
    >>> things, numbers = paired(np.array([7, 8]), np.array([1, 0]), Lists.from_lists([[3], [4, 5]]))
    >>> things.tolist(), numbers.tolist()
    ([7, 7, 8], [4, 5, 3])
    """
    start, end = lists.start[listed], lists.start[listed + 1]
    return np.repeat(thing, end - start), lists.number[ranges(start, end)]


def edge_keys(edges: Edges, size: int) -> Ints:
    """Write each edge as one number.

    Parameters
    ----------
    edges : Edges
        Between nodes.
    size : int
        How many nodes there are.

    Returns
    -------
    ndarray of int64, shape (dependences,)
        Ascending by target, then source.

    Examples
    --------
    >>> edge_keys(Edges(np.array([1]), np.array([2])), 10).tolist()
    [21]
    """
    return np.asarray(edges.target.astype(np.int64) * size + edges.source)


def all_edges(parts: Sequence[Edges]) -> Edges:
    """Put edges together.

    Parameters
    ----------
    parts : sequence of Edges
        At least one.

    Returns
    -------
    Edges
        One after the other.

    Examples
    --------
    >>> one = Edges(np.array([1]), np.array([2]))
    >>> all_edges([one, one]).source.tolist()
    [1, 1]
    """
    return Edges(*(np.concatenate(ends) for ends in zip(*parts, strict=True)))


def distinct_edges(edges: Edges, size: int) -> Edges:
    """Leave out edges that are there again.

    Parameters
    ----------
    edges : Edges
        Between nodes.
    size : int
        How many nodes there are.

    Returns
    -------
    Edges
        Ascending by target, then source.

    Examples
    --------
    >>> distinct_edges(Edges(np.array([1, 1]), np.array([2, 2])), 10).source.tolist()
    [1]
    """
    keys = distinct(edge_keys(edges, size))
    return Edges((keys % size).astype(np.int32), (keys // size).astype(np.int32))
