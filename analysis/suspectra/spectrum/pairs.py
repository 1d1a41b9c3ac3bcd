"""Columns grouped by their pair (ef, ep). There are far fewer pairs than columns.

When a test changes, only the columns of its old and its new row get new pairs. Scores are computed for pairs, and
levels are looked up from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.spectrum.counts import Change, Counts

_TABLE = 1 << 21  # up to this many entries, a lookup table is quicker than sorting a few thousand columns


@dataclass(frozen=True, eq=False)
class Pairs:
    """Candidates grouped by their pair (ef, ep), the only input that differs between them in a formula.

    Parameters
    ----------
    of : ndarray of int32, shape (n,)
        The number of each column's pair, -1 for a column that is not a candidate.
    ef, ep : ndarray of int64, shape (pairs,)
        Failing and passing tests that execute the candidates of each pair.
    size : ndarray of int64, shape (pairs,)
        How many candidates have each pair; 0 for a pair that no candidate has any more since counts changed.
    key : ndarray of int64, shape (pairs,)
        The :func:`pair_key` of each pair, ascending.
    number : ndarray of int32, shape (pairs,)
        The number of the pair with each key.

    Examples
    --------
    >>> counts = Counts(np.array([1, 1, 0]), np.array([0, 0, 2]), failed=1, passed=2)
    >>> pairs = Pairs.among(counts, np.array([True, True, True]))
    >>> pairs.of.tolist(), pairs.ef.tolist(), pairs.ep.tolist(), pairs.size.tolist()
    ([1, 1, 0], [0, 1], [2, 0], [1, 2])
    >>> pairs.is_sparse
    False
    """

    of: Ints
    ef: Ints
    ep: Ints
    size: Ints
    key: Ints
    number: Ints

    def __len__(self) -> int:
        return len(self.ef)

    @classmethod
    def among(cls, counts: Counts, candidates: Bools) -> Pairs:
        """The pairs of the candidates.

        Parameters
        ----------
        counts : Counts
            Of all columns.
        candidates : ndarray of bool, shape (n,)
            Whether each column is a candidate.

        Returns
        -------
        Pairs
            Numbered afresh: each pair has a candidate.
        """
        key, possible = _keys(counts), _possible(counts)
        key[~candidates] = possible
        if _is_small(possible, len(key)):
            size = np.bincount(key, minlength=possible + 1)[:possible]
            found = np.flatnonzero(size)
            size, of = size[found], _numbers(found, possible).take(key, mode="wrap")
        else:
            found, of, size = np.unique(key, return_inverse=True, return_counts=True)
            of = of.astype(np.int32)
            if len(found) and found[-1] == possible:
                of[of == len(found) - 1] = -1
                found, size = found[:-1], size[:-1]
        ef, ep = np.divmod(found, counts.passed + 1)
        return cls(of, ef, ep, size, pair_key(ef, ep), np.arange(len(ef), dtype=np.int32))

    def updated(self, counts: Counts, columns: Ints) -> Pairs:
        """Return the pairs after the counts of some columns changed. `self` is not changed.

        Parameters
        ----------
        counts : Counts
            Of all columns, after the change.
        columns : ndarray of int, shape (k,)
            All columns whose counts changed, without repetition.

        Returns
        -------
        Pairs
            New pairs are appended, so the numbers of the others stay the same.

        Examples
        --------
        >>> counts = Counts(np.array([1, 1, 0]), np.array([0, 0, 2]), failed=1, passed=2)
        >>> pairs = Pairs.among(counts, np.array([True, True, True]))
        >>> after = Counts(np.array([1, 1, 0]), np.array([0, 1, 2]), failed=1, passed=2)
        >>> pairs.updated(after, np.array([1])).of.tolist()
        [1, 2, 0]
        """
        columns = columns[self.of[columns] >= 0]
        of_column, ef, ep = distinct_pairs(counts.for_columns(columns))
        keys = pair_key(ef, ep)
        index = np.searchsorted(self.key, keys)
        new = np.append(self.key, -1)[index] != keys
        fresh = np.arange(len(self), len(self) + np.count_nonzero(new), dtype=np.int32)
        numbers = np.append(self.number, np.int32(0))[index]
        numbers[new] = fresh
        of, after, pairs = self.of.copy(), numbers[of_column], len(self) + len(fresh)
        of[columns] = after
        size = np.bincount(after, minlength=pairs) - np.bincount(self.of[columns], minlength=pairs)
        size[: len(self)] += self.size
        return Pairs(
            of,
            np.concatenate([self.ef, ef[new]]),
            np.concatenate([self.ep, ep[new]]),
            size,
            np.insert(self.key, index[new], keys[new]),
            np.insert(self.number, index[new], fresh),
        )

    @property
    def is_sparse(self) -> bool:
        """Whether so many pairs have no candidate that it is better to number them afresh."""
        return len(self) > 4096 + 2 * int(np.count_nonzero(self.size))


@dataclass
class Followed:
    """What a spectrum has from the state before a change."""

    counts: Counts  # of that state
    changed: Change  # the rows that were removed or added
    pairs: Pairs | None  # of that state, until they are updated


def pair_key(ef: Ints, ep: Ints) -> Ints:
    """One integer for each pair of counts.

    Of shape (k,). In the order of ef, then of ep.
    """
    return ef.astype(np.int64) << 32 | ep


def distinct_pairs(counts: Counts) -> tuple[Ints, Ints, Ints]:
    """Group columns by their pair (ef, ep).

    The number of each column's pair, of shape (n,), and ef and ep of each pair, of shape (pairs,). With few tests there
    are few possible pairs, and a table of all of them is quicker than sorting the columns.
    """
    key, possible = _keys(counts), _possible(counts)
    if _is_small(possible, len(key)):
        seen = np.zeros(possible, bool)
        seen[key] = True
        pairs = np.flatnonzero(seen)
        of = _numbers(pairs, possible).take(key, mode="wrap")
    else:
        pairs, of = np.unique(key, return_inverse=True)
    ef, ep = np.divmod(pairs, counts.passed + 1)
    return of, ef, ep


def _keys(counts: Counts) -> Ints:
    """A number for the pair of each column, below `_possible`."""
    key: Ints = np.multiply(counts.ef, counts.passed + 1, dtype=np.int64)
    key += counts.ep
    return key


def _possible(counts: Counts) -> int:
    return (counts.failed + 1) * (counts.passed + 1)


def _is_small(table: int, columns: int) -> bool:
    return table <= max(4 * columns, _TABLE)


def _numbers(pairs: Ints, possible: int) -> Ints:
    """A table from the keys of pairs to their numbers; -1 for the key behind the last one, undefined for the others."""
    number = np.empty(possible + 1, np.int32)
    number[pairs] = np.arange(len(pairs), dtype=np.int32)
    number[possible] = -1
    return number
