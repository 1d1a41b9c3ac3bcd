"""What is different between two spectra, so that only that is counted again."""

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
    """The index of each mark; a mark that comes again is numbered.

    Parameters
    ----------
    marks : sequence of Hashable
        What tells rows apart.

    Returns
    -------
    dict
        The index of each mark in `marks`. From its second time on, a mark comes with how often it came.

    Examples
    --------
    >>> numbered(["a", "b", "a"])
    {'a': 0, 'b': 1, ('a', 2): 2}
    """
    seen: Counter[Hashable] = Counter()
    found: dict[object, int] = {}
    for index, mark in enumerate(marks):
        seen[mark] += 1
        found[mark if seen[mark] == 1 else (mark, seen[mark])] = index
    return found


def rows_by_identity(rows: Sequence[Row], failed: Bools) -> dict[object, int]:
    """The index of each row by what tells it from others: identity, not content, and the outcome of the test.

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
    found: dict[object, int] = dict(zip(marks, range(len(marks)), strict=True))
    return found if len(found) == len(marks) else numbered(marks)  # several tests may share a row


def not_in(
    index: Mapping[object, int], other: Mapping[object, int], rows: Sequence[Row], failed: Bools
) -> list[tuple[Ints, bool]]:
    """The rows that another spectrum does not have.

    Parameters
    ----------
    index, other : mapping
        The rows of one spectrum and of the other, as :func:`rows_by_identity` or the like tells them apart.
    rows : sequence of ndarray of int32
        Those of the first spectrum.
    failed : ndarray of bool, shape (tests,)
        Whether each of its tests failed.

    Returns
    -------
    list of (ndarray of int32, bool)
        Rows of the first, each with whether its test failed.

    Examples
    --------
    >>> rows, failed = [np.array([0, 1]), np.array([0, 2])], np.array([True, False])
    >>> [(row.tolist(), bad) for row, bad in not_in({"a": 0, "b": 1}, {"a": 0}, rows, failed)]
    [([0, 2], False)]
    """
    return [(rows[i], bool(failed[i])) for mark, i in index.items() if mark not in other]


def changed_columns(before: Counts, after: Counts, changed: Iterable[tuple[Ints, bool]]) -> Ints:
    """The columns of changed rows whose counts are different now.

    Parameters
    ----------
    before, after : Counts
        Of all columns.
    changed : iterable of (ndarray of int, bool)
        The rows that went or came.

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
    differs = (before.ef[touched] != after.ef[touched]) | (before.ep[touched] != after.ep[touched])
    is_changed = np.zeros(len(after.ef), bool)
    is_changed[touched[differs]] = True
    return np.flatnonzero(is_changed)


def same_files(previous: Sequence[object], current: Sequence[object]) -> tuple[Ints, Ints]:
    """The files that are the same in two tables.

    Parameters
    ----------
    previous, current : sequence of object
        The version of each file: the same object where the file is the same.

    Returns
    -------
    previous, current : ndarray of int64, shape (k,)
        Their numbers in each of the tables.

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
    """The columns of two tables that hold partly the same files.

    Parameters
    ----------
    new_column : ndarray of int32, shape (old columns,)
        The new column of each column of a file that is the same, -1 for others.
    other : ndarray of bool, shape (new columns,)
        The columns of files that are not the same.
    spans : list of ndarray of int32, shape (2,)
        Where these begin and end, file by file.

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
        """Lay the files that are the same over each other.

        Parameters
        ----------
        old_starts, new_starts : ndarray of int64, shape (files + 1,)
            The first column of each file in either table, and the number of all columns.
        old, new : ndarray of int64, shape (k,)
            The numbers of the files that are the same in either table.

        Returns
        -------
        MovedFiles
            Where each column went.
        """
        new_column = np.full(int(old_starts[-1]), -1, np.int32)
        to = ranges(new_starts[new], new_starts[new + 1])
        new_column[ranges(old_starts[old], old_starts[old + 1])] = to
        other = np.ones(int(new_starts[-1]), bool)
        other[to] = False
        changed = np.setdiff1d(np.arange(len(new_starts) - 1), new).tolist()
        return cls(new_column, other, [new_starts[file : file + 2].astype(np.int32) for file in changed])

    def counts(self, before: Counts, removed: Change, added: Change, rows: Sequence[Row], failed: Bools) -> Counts:
        """The counts of the new columns.

        Parameters
        ----------
        before : Counts
            Of the old columns.
        removed : sequence of (ndarray of int32, bool)
            Rows of tests that went, in old columns, each with whether its test failed.
        added : sequence of (ndarray of int32, bool)
            Rows of tests that came, in new columns.
        rows : sequence of ndarray of int32
            All rows there are now, in new columns.
        failed : ndarray of bool, shape (tests,)
            Whether each of their tests failed.

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
        ef[to], ep[to] = before.ef[stays], before.ep[stays]
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
