"""The differences between two spectra, so that only these are counted again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.arrays import Bools, Ints, Row
from suspectra.cancellation import checked
from suspectra.spectrum.counts import Change, Counts
from suspectra.spectrum.rows import ranges

_ONE = np.int32(1)


def numbered(marks: Sequence[Hashable]) -> dict[object, int]:
    """Map each mark to its index; repeated marks are numbered.

    Parameters
    ----------
    marks : sequence of Hashable
        The identity of each row.

    Returns
    -------
    dict
        The index of each mark in `marks`. The n-th occurrence of a mark, from the second on, has the key ``(mark, n)``.

    Examples
    --------
    >>> numbered(["a", "b", "a"])
    {'a': 0, 'b': 1, ('a', 2): 2}
    """
    occurrences: Counter[Hashable] = Counter()
    index_of: dict[object, int] = {}
    for index, mark in enumerate(marks):
        occurrences[mark] += 1
        index_of[mark if occurrences[mark] == 1 else (mark, occurrences[mark])] = index
    return index_of


def rows_by_identity(rows: Sequence[Row], failed: Bools) -> dict[object, int]:
    """Map the identity of each row, and the outcome of its test, to the row's index. Content is not compared.

    Parameters
    ----------
    rows : sequence of ndarray of int32
        One for each test.
    failed : ndarray of bool, shape (tests,)
        Whether each test failed.

    Returns
    -------
    dict
        The index of each row.

    Examples
    --------
    >>> row = np.array([0, 1], np.int32)
    >>> sorted(rows_by_identity([row, row.copy()], np.array([True, False])).values())
    [0, 1]
    """
    marks = (np.fromiter(map(id, rows), np.uint64, len(rows)) << np.uint64(1) | failed).tolist()
    index_of: dict[object, int] = dict(zip(marks, range(len(marks)), strict=True))
    return index_of if len(index_of) == len(marks) else numbered(marks)  # several tests may share a row


def not_in(
    index: Mapping[object, int], other: Mapping[object, int], rows: Sequence[Row], failed: Bools
) -> list[tuple[Ints, bool]]:
    """Return the rows that another spectrum does not have.

    Parameters
    ----------
    index, other : mapping
        The rows of one spectrum and of the other, by identity: see :func:`rows_by_identity`.
    rows : sequence of ndarray of int32
        Those of the first spectrum.
    failed : ndarray of bool, shape (tests,)
        Whether each of its tests failed.

    Returns
    -------
    list of (ndarray of int32, bool)
        Rows of the first spectrum, and whether the test of each failed.

    Examples
    --------
    >>> rows, failed = [np.array([0, 1]), np.array([0, 2])], np.array([True, False])
    >>> [(row.tolist(), bad) for row, bad in not_in({"a": 0, "b": 1}, {"a": 0}, rows, failed)]
    [([0, 2], False)]
    """
    return [(rows[i], bool(failed[i])) for mark, i in index.items() if mark not in other]


def changed_columns(previous: Counts, after: Counts, changed: Iterable[tuple[Ints, bool]]) -> Ints:
    """Return the columns of changed rows whose counts differ.

    Parameters
    ----------
    previous, after : Counts
        The counts of all columns before and after the change.
    changed : iterable of (ndarray of int, bool)
        The removed and added rows.

    Returns
    -------
    ndarray of int64, shape (k,)
        Ascending.

    Examples
    --------
    >>> before = Counts(np.array([1, 1, 0]), np.array([0, 0, 0]), failed=1, passed=0)
    >>> row = np.array([0, 2])
    >>> changed_columns(before, before.updated([], [(row, False)]), [(row, False)]).tolist()
    [0, 2]
    """
    rows = [row for row, _ in changed]
    if not rows:
        return np.zeros(0, np.int64)
    touched = np.concatenate(rows)
    differs = (previous.ef[touched] != after.ef[touched]) | (previous.ep[touched] != after.ep[touched])
    is_changed = np.zeros(len(after.ef), bool)
    is_changed[touched[differs]] = True
    return np.flatnonzero(is_changed)


def same_files(previous: Sequence[object], current: Sequence[object]) -> tuple[Ints, Ints]:
    """Find the files that are the same in two tables.

    Parameters
    ----------
    previous, current : sequence of object
        The version of each file: the same object where the file is the same.

    Returns
    -------
    previous, current : ndarray of int64, shape (k,)
        Their indices in either table.

    Examples
    --------
    >>> cart, tax, order = object(), object(), object()
    >>> [numbers.tolist() for numbers in same_files([cart, tax], [order, cart])]
    [[0], [1]]
    """
    number = {id(version): i for i, version in enumerate(previous)}
    old = np.array([number.get(id(version), -1) for version in current], np.int64)
    new = np.flatnonzero(old >= 0)
    return old[new], new


@dataclass(frozen=True, eq=False)
class MovedFiles:
    """How the columns of two tables correspond that share some of their files.

    Parameters
    ----------
    new_column : ndarray of int32, shape (old columns,)
        For each old column its new one; -1 where the file changed.
    other : ndarray of bool, shape (new columns,)
        Whether the file of each new column changed.
    spans : list of ndarray of int32, shape (2,)
        First column, and one past the last, of each file that changed.

    Examples
    --------
    >>> moved = MovedFiles.between(np.array([0, 2, 3]), np.array([0, 1, 3]), np.array([0]), np.array([1]))
    >>> moved.new_column.tolist(), moved.other.tolist()
    ([1, 2, -1], [True, False, False])
    """

    new_column: Ints
    other: Bools
    spans: list[Ints]

    @classmethod
    def between(cls, old_starts: Ints, new_starts: Ints, old: Ints, new: Ints) -> MovedFiles:
        """Match the columns of the files that are the same.

        Parameters
        ----------
        old_starts, new_starts : ndarray of int64, shape (files + 1,)
            The first column of each file in either table, then the number of columns.
        old, new : ndarray of int64, shape (k,)
            The indices in either table of the files that are the same.

        Returns
        -------
        MovedFiles
            The correspondence.
        """
        new_column = np.full(int(old_starts[-1]), -1, np.int32)
        to = ranges(new_starts[new], new_starts[new + 1])
        new_column[ranges(old_starts[old], old_starts[old + 1])] = to
        other = np.ones(int(new_starts[-1]), bool)
        other[to] = False
        changed = np.setdiff1d(np.arange(len(new_starts) - 1), new).tolist()
        return cls(new_column, other, [new_starts[file : file + 2].astype(np.int32) for file in changed])

    def counts(self, previous: Counts, removed: Change, added: Change, rows: Sequence[Row], failed: Bools) -> Counts:
        """The counts of the new columns.

        Parameters
        ----------
        previous : Counts
            The counts of the old columns.
        removed : sequence of (ndarray of int32, bool)
            Rows of removed tests, in old columns, and whether each test failed.
        added : sequence of (ndarray of int32, bool)
            Rows of added tests, in new columns, and whether each test failed.
        rows : sequence of ndarray of int32
            All rows after the change, in new columns.
        failed : ndarray of bool, shape (tests,)
            Whether the test of each row failed.

        Returns
        -------
        Counts
            Of the new columns.

        Examples
        --------
        >>> moved = MovedFiles.between(np.array([0, 2, 3]), np.array([0, 1, 3]), np.array([0]), np.array([1]))
        >>> before = Counts(np.array([1, 0, 1]), np.array([0, 2, 1]), failed=1, passed=2)
        >>> rows, failed = [np.array([0, 1]), np.array([2]), np.array([2])], np.array([True, False, False])
        >>> moved.counts(before, [], [], rows, failed).ef.tolist()
        [1, 1, 0]
        """
        stays = self.new_column >= 0
        to = self.new_column[stays]
        ef, ep = np.zeros(len(self.other), np.int32), np.zeros(len(self.other), np.int32)
        ef[to], ep[to] = previous.ef[stays], previous.ep[stays]
        for row, bad in removed:
            columns = self.new_column[row]
            np.subtract.at(ef if bad else ep, columns[columns >= 0], _ONE)
        for row, bad in added:
            np.add.at(ef if bad else ep, row[~self.other[row]], _ONE)
        for span in self.spans:
            for row, bad in checked(zip(rows, failed.tolist(), strict=True)):
                start, end = row.searchsorted(span)
                if start < end:
                    np.add.at(ef if bad else ep, row[start:end], _ONE)
        all_failed = int(np.count_nonzero(failed))
        return Counts(ef, ep, all_failed, len(rows) - all_failed)
