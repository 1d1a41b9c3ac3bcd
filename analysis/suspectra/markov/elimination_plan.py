"""The order in which the states of a chain are eliminated; it depends only on the pattern of the rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Bools, FloatMatrix, Floats, Ints
from suspectra.base.cancellation import check
from suspectra.base.errors import Problem, UsageError

Progress = Callable[[float], None]
"""Takes the finished fraction, 0 to 1; it may raise to cancel."""

# Measured on two cores: seconds per pair of neighbours of an eliminated state, and per n**3 of the dense rest.
SECONDS_A_PAIR = 3e-7
SECONDS_DENSE = 5e-11
# The dense rest is not split further below this many states.
SMALL = 48
# A dense rest beyond this would not fit an ordinary machine's memory (20,000 states are 3.2 GB a matrix).
MAX_DENSE = 20_000


@dataclass(frozen=True, eq=False)
class _Level:
    """States that are eliminated together. A *slot* is a neighbour of one of them; pairs of slots become edges."""

    nodes: Ints
    owner: Ints  # by slot: index into nodes
    neighbour: Ints  # by slot: state
    edge: Ints  # by slot: edge of this level's graph
    flipped: Bools  # by slot: whether the edge is stored from the neighbour to the node
    left: Ints  # by pair: slot of the lower neighbour
    right: Ints  # by pair: slot of the higher neighbour
    pair_edge: Ints  # by pair: edge of the next graph
    kept: Ints  # edges of this graph that remain
    kept_edge: Ints  # their indices in the next graph
    edges: int  # edges of this graph
    next_edges: int


class EliminationPlan:
    """The order of elimination, and all else that depends only on which rates are not zero.

    Raises UsageError when the dense rest would not fit in memory, because the states have too many neighbours.
    """

    def __init__(self, rates: FloatMatrix, progress: Progress | None = None):
        self.states = rates.shape[0]
        self.key, self._forward, self._backward = _undirected(rates)
        self.levels: list[_Level] = []
        self._eliminate(progress or (lambda fraction: None))

    def same_pattern(self, rates: FloatMatrix) -> bool:
        """Whether this plan also fits other rates.

        True if the same pairs of states are connected.
        """
        if rates.shape[0] != self.states:
            return False
        key, forward, backward = _undirected(rates)
        if not np.array_equal(key, self.key):
            return False
        self._forward, self._backward = forward, backward
        return True

    def split(self, rates: FloatMatrix) -> tuple[Floats, Floats]:
        """Return the rates along each edge, from the lower state to the higher one and back.

        Of shape (edges,). 0 where only the other direction has a rate.
        """
        forward, backward = np.zeros(len(self.key)), np.zeros(len(self.key))
        forward[self._forward[0]] = rates.data[self._forward[1]]
        backward[self._backward[0]] = rates.data[self._backward[1]]
        return forward, backward

    @property
    def ends(self) -> tuple[Ints, Ints]:
        """The lower and the higher state of each edge."""
        return self.key // self.states, self.key % self.states

    def _eliminate(self, progress: Progress) -> None:
        n, key = self.states, self.key
        low, high = key // n, key % n
        active = np.ones(n, bool)
        remaining = n
        tie = np.random.default_rng(0).permutation(n)
        while True:
            check()
            degree = np.bincount(low, minlength=n) + np.bincount(high, minlength=n)
            chosen = self._next(degree, active, low, high, tie)
            count = int(np.count_nonzero(chosen))
            pairs = int((degree[chosen] * (degree[chosen] - 1) // 2).sum())
            dense_saved = SECONDS_DENSE * (float(remaining) ** 3 - float(remaining - count) ** 3)
            if not count or remaining <= SMALL or pairs * SECONDS_A_PAIR > dense_saved:
                break
            check()
            level, key = _level(n, chosen, low, high)
            self.levels.append(level)
            low, high = key // n, key % n
            active[chosen] = False
            remaining -= count
            progress(0.3 * (1 - remaining / n))
        if remaining > MAX_DENSE:
            raise UsageError(
                Problem(
                    "",
                    "",
                    f"the jumps tie {remaining} states so closely together that exact hitting times would take"
                    f" {remaining**2 * 16 / 1e9:.0f} GB",
                    "estimate them by sampling, or give fewer kinds of jumps",
                )
            )
        self.top = np.flatnonzero(active)
        index = np.zeros(n, np.int64)
        index[self.top] = np.arange(remaining)
        self.top_low, self.top_high = index[low], index[high]

    @staticmethod
    def _next(degree: Ints, active: Bools, low: Ints, high: Ints, tie: Ints) -> Bools:
        """Choose active states with few neighbours, no two of them adjacent, and never the root."""
        candidates = active.copy()
        candidates[0] = False
        if not candidates.any():
            return candidates
        degrees = np.sort(degree[candidates])
        cap = max(2 * degrees[0], degrees[len(degrees) // 10], 3)
        weight = degree * np.int64(len(degree)) + tie
        weight[0] = np.iinfo(np.int64).max
        candidates &= degree <= cap
        candidates[np.where(weight[low] < weight[high], high, low)] = False
        return candidates


def _undirected(rates: FloatMatrix) -> tuple[Ints, tuple[Ints, Ints], tuple[Ints, Ints]]:
    """Edges as sorted keys low·n + high, and for each direction (edges, entries of the matrix)."""
    check()
    n = rates.shape[0]
    source = np.repeat(np.arange(n, dtype=np.int64), np.diff(rates.indptr))
    target = rates.indices.astype(np.int64)
    keys = np.minimum(source, target) * n + np.maximum(source, target)
    check()
    key, edge = np.unique(keys, return_inverse=True)
    check()
    edge = edge.reshape(-1)
    up, down = np.flatnonzero(source < target), np.flatnonzero(source > target)
    return key, (edge[up], up), (edge[down], down)


def _level(n: int, chosen: Bools, low: Ints, high: Ints) -> tuple[_Level, Ints]:
    at_high = chosen[high]
    leaving = chosen[low] | at_high
    edge = np.flatnonzero(leaving)
    flipped = at_high[edge]
    node = np.where(flipped, high[edge], low[edge])
    neighbour = np.where(flipped, low[edge], high[edge])
    order = np.argsort(node * np.int64(n) + neighbour)
    edge, flipped, node, neighbour = edge[order], flipped[order], node[order], neighbour[order]
    opens = np.ones(len(node), bool)
    opens[1:] = node[1:] != node[:-1]
    start = np.flatnonzero(opens)
    count = np.diff(np.append(start, len(node)))
    left, right = _pairs_within(start, count)
    kept = np.flatnonzero(~leaving)
    keys = np.concatenate([low[kept] * n + high[kept], neighbour[left] * np.int64(n) + neighbour[right]])
    check()
    key, where = np.unique(keys, return_inverse=True)
    where = where.reshape(-1)
    level = _Level(
        node[start],
        np.repeat(np.arange(len(start)), count),
        neighbour,
        edge,
        flipped,
        left,
        right,
        where[len(kept) :],
        kept,
        where[: len(kept)],
        len(low),
        len(key),
    )
    return level, key


def _pairs_within(start: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of slots of the same node."""
    left: list[Ints] = [np.zeros(0, np.int64)]
    right: list[Ints] = [np.zeros(0, np.int64)]
    for size in np.unique(count[count > 1]).tolist():
        first = start[count == size][:, None]
        x, y = np.triu_indices(size, 1)
        left.append((first + x).ravel())
        right.append((first + y).ravel())
    return np.concatenate(left), np.concatenate(right)
