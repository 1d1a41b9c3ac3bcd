"""Minimum vertex cuts: the fewest nodes through which all paths between two sets of nodes lead.

Paths without a node that can be altered, as through parameters, C code or test code, need no cut: a cut that had to go
through them would declare them right without a test. So such nodes are in the network twice, before and behind the
first one that can be altered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, dijkstra, maximum_flow

from suspectra.base.arrays import Bools, FloatMatrix, Ints, Row

_Matrix: TypeAlias = "csr_array[np.int32, tuple[int, int]]"

MAX_SUM = (1 << 31) - 1
"""The largest sum of capacities that a flow can have: it is computed with 32 bits."""


def minimum_cut(
    source: Ints,
    target: Ints,
    capacity: Ints,
    # where paths start and end. These nodes themselves are never part of a cut
    begins: Iterable[int],
    ends: Iterable[int],
) -> Ints | None:
    """Find the cheapest nodes without which no path is left, of several sets that nearest to the ends (paper 002,
    Definition 3.2 and Algorithm 4).

    That is the one with the shortest chains to the ends together, which is on average if all nodes cost the same, and
    of several of these the last. Each node becomes an edge with its capacity, and each edge one without limit; a
    maximum flow (Dinic's algorithm) then says which nodes are full.

    Of shape (k,). The nodes of the cut, ascending; none where no path joins the sets. None where a path leads through
    no node that can be cut.
    """
    nodes = len(capacity)
    first, last = (np.unique(np.fromiter(some, np.int64)) for some in (begins, ends))
    free = np.array(capacity, np.int64)
    free[first] = free[last] = 0
    if _joined(source, target, free == 0, first, last):
        return None
    # node n is n where it is entered and n + nodes where it is left
    can_cut, fixed = np.flatnonzero(free), np.flatnonzero(free == 0)
    start, end = 2 * nodes, 2 * nodes + 1
    rows = np.concatenate([can_cut, fixed, source + nodes, np.full(len(first), start), last + nodes])
    columns = np.concatenate([can_cut + nodes, fixed + nodes, target, first, np.full(len(last), end)])

    def cuts(costs: Ints) -> tuple[Ints, Ints, int]:
        """The first and the last of the cheapest cuts, and what they cost."""
        limits = np.full(len(rows), int(costs.sum()) + 1, np.int64)
        limits[: len(can_cut)] = costs
        network = _network(rows, columns, np.minimum(limits, MAX_SUM).astype(np.int32), 2 * nodes + 2)
        found = maximum_flow(network, start, end, method="dinic")
        left = _left(network, found.flow)
        from_start, to_end = _reached(left, start), _reached(left.T.tocsr(), end)
        opens = from_start[can_cut] & ~from_start[can_cut + nodes]
        closes = ~to_end[can_cut] & to_end[can_cut + nodes]
        return can_cut[opens], can_cut[closes], int(found.flow_value)

    before, nearest, cost = cuts(free[can_cut])
    if np.array_equal(before, nearest):
        return nearest
    distance = _distances(source, target, last, nodes)[can_cut]
    # so that no sum of distances outweighs a difference of one in the costs
    unit = cost * int(distance.max()) + 1
    return cuts(free[can_cut] * unit + distance)[1] if (cost + 1) * unit <= MAX_SUM else nearest


def _network(rows: Ints, columns: Ints, limits: Row, size: int) -> _Matrix:
    """Capacities as a matrix; parallel edges count once, as all of them are without limit."""
    _, once = np.unique(rows.astype(np.int64) * size + columns, return_index=True)
    return csr_array((limits[once], (rows[once], columns[once])), shape=(size, size))


def _left(network: _Matrix, flow: FloatMatrix) -> _Matrix:
    """The edges that are not full; where something flows, it may also be turned back."""
    left = cast("_Matrix", network - flow)
    left.data = (left.data > 0).astype(np.int32)
    left.eliminate_zeros()
    return left


def _reached(edges: _Matrix, begin: int) -> Bools:
    reached = np.zeros(edges.shape[0], bool)
    reached[breadth_first_order(edges, begin, return_predecessors=False)] = True
    return reached


def _distances(source: Ints, target: Ints, ends: Ints, nodes: int) -> Ints:
    """The length of the shortest chain from each node to an end, 0 where there is none."""
    rows, columns = np.append(target, np.full(len(ends), nodes)), np.append(source, ends)
    matrix = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(nodes + 1, nodes + 1)).tocsr()
    steps = dijkstra(matrix, indices=np.array([nodes]), unweighted=True)[0, :-1]
    return np.where(np.isfinite(steps), steps - 1, 0).astype(np.int64)


def _joined(source: Ints, target: Ints, passable: Bools, first: Ints, last: Ints) -> bool:
    """Whether a path leads through passable nodes alone."""
    nodes = len(passable)
    usable = passable[source] & passable[target]
    rows = np.concatenate([source[usable], np.full(len(first), nodes)])
    columns = np.concatenate([target[usable], first])
    matrix = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(nodes + 1, nodes + 1)).tocsr()
    return bool(np.isin(last, breadth_first_order(matrix, nodes, return_predecessors=False)).any())
