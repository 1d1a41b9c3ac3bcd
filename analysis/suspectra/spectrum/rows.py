"""Rows: the sorted columns that one test executed, some of them computed on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from suspectra.base.arrays import Bools, Ints, Row

IntsT = TypeVar("IntsT", bound=Ints, covariant=True)


class Derived(Sequence[IntsT], ABC):
    """Arrays, one for each test, that are derived from others on demand."""

    @property
    @abstractmethod
    def source(self) -> Sequence[Ints]:
        """What each test's array is derived from: while this is the same object, the derived array is equal."""


class DerivedRows(Derived[Row]):
    """Rows that are derived on demand, in whole or in part."""

    @abstractmethod
    def among(self, wanted: Bools, tests: Sequence[int]) -> Iterator[Row]:
        """Iterate over the wanted columns in the rows of some tests; cancellable in between.

        One array of column indices, in any order, for each of `tests`.
        """


def contains(row: Row, columns: Ints) -> Bools:
    """Whether a row contains each of some columns.

    Of shape (n,).
    """
    if not len(row):
        return np.zeros(len(columns), bool)
    columns = columns.astype(row.dtype, copy=False)  # searchsorted would copy the whole row to another dtype
    contained: Bools = row.take(row.searchsorted(columns), mode="clip") == columns
    return contained


def common(row: Row, columns: Row) -> Row:
    """The columns that two rows have in common.

    Of shape (m,).
    """
    longer, shorter = (row, columns) if len(row) > len(columns) else (columns, row)
    return shorter[contains(longer, shorter)]
