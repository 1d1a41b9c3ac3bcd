"""Rows: the sorted columns that one test executed, some of them computed on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from suspectra.arrays import Bools, Ints, Row

IntsT = TypeVar("IntsT", bound=Ints, covariant=True)


class Derived(Sequence[IntsT], ABC):
    """Arrays, one for each test, that are derived from others on demand.

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
        """What each test's array is derived from: while this is the same object, the derived array is equal."""


class DerivedRows(Derived[Row]):
    """Rows that are derived on demand, in whole or in part.

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
        """Iterate over the wanted columns in the rows of some tests; cancellable in between.

        Parameters
        ----------
        wanted : ndarray of bool, shape (columns,)
            The columns that are asked for.
        tests : sequence of int
            Row numbers.

        Returns
        -------
        iterator of ndarray of int32
            One array of column indices, in any order, for each of `tests`.
        """


def contains(row: Row, columns: Ints) -> Bools:
    """Whether a row contains each of some columns.

    Parameters
    ----------
    row : ndarray of int32, shape (k,)
        Ascending.
    columns : ndarray of int, shape (n,)
        In any order.

    Returns
    -------
    ndarray of bool, shape (n,)
        True for each column that the row contains.

    Examples
    --------
    >>> contains(np.array([1, 4, 6], np.int32), np.array([6, 5, 1])).tolist()
    [True, False, True]
    """
    if not len(row):
        return np.zeros(len(columns), bool)
    columns = columns.astype(row.dtype, copy=False)  # searchsorted would copy the whole row to another dtype
    contained: Bools = row.take(row.searchsorted(columns), mode="clip") == columns
    return contained


def common(row: Row, columns: Row) -> Row:
    """The columns that two rows have in common.

    Parameters
    ----------
    row, columns : ndarray of int32, shape (k,) and (n,)
        Ascending.

    Returns
    -------
    ndarray of int32, shape (m,)
        Ascending. The shorter of the two decides how long it takes.

    Examples
    --------
    >>> common(np.array([1, 4, 6], np.int32), np.array([0, 4, 6, 9], np.int32)).tolist()
    [4, 6]
    """
    longer, shorter = (row, columns) if len(row) > len(columns) else (columns, row)
    return shorter[contains(longer, shorter)]
