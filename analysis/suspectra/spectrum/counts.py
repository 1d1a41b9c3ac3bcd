"""The four counts: how many failed and passed tests execute a column, and how many do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.base.cancellation import checked

Change = Sequence[tuple[Ints, bool]]
"""Added or removed rows, and whether the test of each failed."""

# of the type of the counts: only then is `add.at` quick, about nine times as quick
_ONE = np.int32(1)


@dataclass(frozen=True, eq=False)
class Counts:
    """The four counts of every column, and the totals.

    Parameters
    ----------
    ef, ep : ndarray of int32, shape (n,)
        Failed and passed tests that execute the column.
    failed, passed : int
        All failed and all passed tests (F and P of the papers).

    Examples
    --------
    >>> counts = Counts.from_rows([np.array([0, 1]), np.array([0, 2])], np.array([True, False]), 3)
    >>> counts.ef.tolist(), counts.ep.tolist(), counts.nf.tolist(), counts.np.tolist()
    ([1, 1, 0], [1, 0, 1], [0, 0, 1], [0, 1, 0])
    >>> counts.updated(removed=[(np.array([0, 2]), False)], added=[]).ep.tolist()
    [0, 0, 0]
    """

    ef: Ints
    ep: Ints
    failed: int
    passed: int

    @property
    def nf(self) -> Ints:
        """Failed tests that do not execute the column."""
        return self.failed - self.ef

    @property
    def np(self) -> Ints:
        """Passed tests that do not execute the column."""
        return self.passed - self.ep

    @classmethod
    def from_rows(cls, rows: Iterable[Ints], failed: Bools, columns: int) -> Counts:
        """Count all rows.

        Parameters
        ----------
        rows : iterable of ndarray of int
            The columns that each test executed, without repetition.
        failed : ndarray of bool, shape (tests,)
            Whether each test failed.
        columns : int
            How many columns there are.

        Returns
        -------
        Counts
            The counts of all columns.
        """
        ef, ep = np.zeros(columns, np.int32), np.zeros(columns, np.int32)
        for row, bad in checked(zip(rows, failed.tolist(), strict=True)):
            np.add.at(ef if bad else ep, row, _ONE)
        all_failed = int(np.count_nonzero(failed))
        return cls(ef, ep, all_failed, len(failed) - all_failed)

    def for_columns(self, columns: Ints) -> Counts:
        """The counts of some columns.

        Parameters
        ----------
        columns : ndarray of int, shape (k,)
            Indices, in any order.

        Returns
        -------
        Counts
            Arrays of shape (k,), with the same F and P.

        Examples
        --------
        >>> counts = Counts(np.array([2, 1, 0]), np.array([5, 0, 3]), failed=2, passed=5)
        >>> counts.for_columns(np.array([2, 0])).ep.tolist()
        [3, 5]
        """
        return Counts(self.ef[columns], self.ep[columns], self.failed, self.passed)

    def updated(self, removed: Change, added: Change) -> Counts:
        """Return the counts after some rows were removed and others added. `self` is not changed.

        Parameters
        ----------
        removed, added : sequence of (ndarray of int, bool)
            Removed and added rows, and whether the test of each failed.

        Returns
        -------
        Counts
            Shares the array of `ef` or `ep` with `self` where no row of that kind changed.
        """
        ef, ep = self.ef, self.ep
        failed, passed = self.failed, self.passed
        for change, step in ((removed, -1), (added, 1)):
            for row, bad in change:
                if bad:
                    ef = ef.copy() if ef is self.ef else ef
                    np.add.at(ef, row, np.int32(step))
                else:
                    ep = ep.copy() if ep is self.ep else ep
                    np.add.at(ep, row, np.int32(step))
                failed, passed = failed + step * bad, passed + step * (not bad)
        return Counts(ef, ep, failed, passed)
