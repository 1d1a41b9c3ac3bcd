"""Rows: the sorted columns that one test executed, and those that are worked out when they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from suspectra.arrays import Bools, Ints, Row

IntsT = TypeVar("IntsT", bound=Ints, covariant=True)


class Derived(Sequence[IntsT], ABC):
    """Arrays, one for each test, that are worked out from others when they are asked for.

    Examples
    --------
    >>> class Doubled(Derived):
    ...     def __init__(self, rows):
    ...         self.rows = rows
    ...     @property
    ...     def source(self):
    ...         return self.rows
    ...     def __len__(self):
    ...         return len(self.rows)
    ...     def __getitem__(self, test):
    ...         return 2 * self.rows[test]
    >>> Doubled([np.array([0, 2])])[0].tolist()
    [0, 4]
    """

    @property
    @abstractmethod
    def source(self) -> Sequence[Ints]:
        """What they follow from, test by test: where these are the same objects, so is what follows."""


class DerivedRows(Derived[Row]):
    """Rows that are worked out when they are asked for, and need not be worked out whole.

    Examples
    --------
    >>> class Shifted(DerivedRows):
    ...     def __init__(self, rows):
    ...         self.rows = rows
    ...     @property
    ...     def source(self):
    ...         return self.rows
    ...     def __len__(self):
    ...         return len(self.rows)
    ...     def __getitem__(self, test):
    ...         return self.rows[test] + 1
    ...     def among(self, wanted, tests):
    ...         return (row[wanted[row]] for row in map(self.__getitem__, tests))
    >>> wanted = np.array([False, True, False, False])
    >>> [row.tolist() for row in Shifted([np.array([0, 2])]).among(wanted, [0])]
    [[1]]
    """

    @abstractmethod
    def among(self, wanted: Bools, tests: Sequence[int]) -> Iterator[Row]:
        """The wanted columns in the rows of some tests, in any order; cancellable in between.

        Parameters
        ----------
        wanted : ndarray of bool, shape (columns,)
            The columns that are asked for.
        tests : sequence of int
            Row numbers.

        Returns
        -------
        iterator of ndarray of int32
            One array of column indices for each of `tests`, in their order.
        """


def ranges(starts: Ints, ends: Ints) -> Ints:
    """All the numbers of several ranges, one after another.

    Parameters
    ----------
    starts, ends : ndarray of int, shape (k,)
        First number of each range, and the one behind its last.

    Returns
    -------
    ndarray of int64, shape (sum of sizes,)
        In the order of the ranges.

    Examples
    --------
    >>> ranges(np.array([0, 7]), np.array([2, 9])).tolist()
    [0, 1, 7, 8]
    """
    sizes = ends - starts
    offsets = np.repeat(starts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    return offsets + np.arange(int(sizes.sum()))


def holds(row: Row, columns: Ints) -> Bools:
    """Whether a row holds each of some columns.

    Parameters
    ----------
    row : ndarray of int32, shape (k,)
        Ascending.
    columns : ndarray of int, shape (n,)
        In any order.

    Returns
    -------
    ndarray of bool, shape (n,)
        True for each column that the row holds.

    Examples
    --------
    >>> holds(np.array([1, 4, 6], np.int32), np.array([6, 5, 1])).tolist()
    [True, False, True]
    """
    if not len(row):
        return np.zeros(len(columns), bool)
    columns = columns.astype(row.dtype, copy=False)  # with columns of another width all of the row would be copied
    held: Bools = row[np.minimum(row.searchsorted(columns), len(row) - 1)] == columns
    return held
