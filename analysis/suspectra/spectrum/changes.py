"""The differences between two spectra, so that only these are counted again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.arrays import Bools, Ints, Row, ranges
from suspectra.cancellation import checked
from suspectra.spectrum.chunks import Chunks, unshared
from suspectra.spectrum.counts import Change, Counts
from suspectra.spectrum.rows import Derived

_ONE = np.int32(1)
_MANY_REMOVALS = 100


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


def identities(rows: Sequence[object]) -> Ints:
    """Return the identity of each object.

    Parameters
    ----------
    rows : sequence of object
        Rows of tests, or their records. For derived rows it is the identity of what they are derived from.

    Returns
    -------
    ndarray of int64, shape (k,)
        Equal where the objects are the same, as long as they exist.

    Examples
    --------
    >>> row = np.array([0, 1], np.int32)
    >>> first, second = identities([row, row])
    >>> bool(first == second)
    True
    """
    objects = rows.source if isinstance(rows, Derived) else rows
    return np.fromiter(map(id, objects), np.int64, len(objects))


def shared_numbers(previous: Iterable[Hashable], now: Iterable[Hashable]) -> tuple[Ints, Ints]:
    """Number the items of two sequences; equal ones get the same number.

    Parameters
    ----------
    previous, now : iterable of Hashable
        What identifies rows.

    Returns
    -------
    previous, now : ndarray of int64, shape (k,) and (m,)
        From 0 on.

    Examples
    --------
    >>> [numbers.tolist() for numbers in shared_numbers("ab", "bc")]
    [[0, 1], [1, 2]]
    """
    numbers: dict[Hashable, int] = {}
    first, second = (
        np.array([numbers.setdefault(item, len(numbers)) for item in items], np.int64) for items in (previous, now)
    )
    return first, second


def removals(previous: Ints, now: Ints) -> list[int] | None:
    """Find what was removed from a sequence, if apart from that it was only appended to.

    That is how the tests of a recording change: a test that runs again moves to the end.

    Parameters
    ----------
    previous, now : ndarray of int64, shape (k,) and (m,)
        What identifies the items before and after the change.

    Returns
    -------
    list of int or None
        The places in `previous`, ascending; what is left of it is the beginning of `now`. None if the change is another
        one, or too large to be found faster than by looking every item up.

    Examples
    --------
    >>> removals(np.array([1, 2, 3, 4]), np.array([1, 3, 4, 5])), removals(np.arange(999), np.arange(999)[::-1])
    ([1], None)
    """
    removed: list[int] = []
    old = new = 0
    while old < len(previous):
        left = min(len(previous) - old, len(now) - new)
        differs = previous[old : old + left] != now[new : new + left]
        same = int(differs.argmax()) if differs.any() else left
        old, new = old + same, new + same
        if old < len(previous):
            removed.append(old)
            old += 1
            if len(removed) > _MANY_REMOVALS:
                return None
    return removed


def appended_to(previous: Sequence[object], now: Sequence[object]) -> list[int] | None:
    """Find what was removed from a sequence of objects, if apart from that it was only appended to.

    Parameters
    ----------
    previous, now : sequence of object
        Before and after the change. What they share as chunks is not looked at.

    Returns
    -------
    list of int or None
        As `removals` returns them.

    Examples
    --------
    >>> before = Chunks([("a",), ("b",), ("c",)])
    >>> appended_to(before, before.without([0]).with_more("d")), appended_to(before, before.without([0, 1]))
    ([0], [0, 1])
    >>> appended_to(before, Chunks([("x", "a"), *before.chunks[1:]])) is None
    True
    """
    then, since = unshared(previous, now)
    removed = removals(identities(then.items), identities(since.items))
    if removed is None:
        return None
    gone = np.array(then.places, np.int64)[removed]
    stays = np.delete(np.array(then.places, np.int64), removed)
    places = np.concatenate([stays - gone.searchsorted(stays), np.arange(len(previous) - len(gone), len(now))])
    return gone.tolist() if np.array_equal(places, since.places) else None


def row_changes(
    previous: Sequence[Row], failed_before: Bools, now: Sequence[Row], failed: Bools
) -> tuple[list[tuple[Ints, bool]], list[tuple[Ints, bool]]]:
    """Return the rows that were removed and added by a change; a row that is the same object is taken to be equal.

    Parameters
    ----------
    previous : sequence of ndarray of int32, shape (k,)
        The rows before the change.
    failed_before : ndarray of bool, shape (tests,)
        Whether their tests failed.
    now : sequence of ndarray of int32, shape (k,)
        The rows after it. What both share as chunks is not looked at.
    failed : ndarray of bool, shape (tests,)
        Whether their tests failed.

    Returns
    -------
    removed, added : list of (ndarray of int32, shape (k,), bool)
        As `difference` returns them.

    Examples
    --------
    >>> rows = np.array([0, 1]), np.array([0, 2])
    >>> removed, added = row_changes(rows, np.array([True, False]), rows, np.array([True, True]))
    >>> [(row.tolist(), bad) for row, bad in removed], [(row.tolist(), bad) for row, bad in added]
    ([([0, 2], False)], [([0, 2], True)])
    """
    if isinstance(previous, Chunks) and isinstance(now, Chunks):
        parts = unshared(previous, now, lambda then, since: np.array_equal(failed_before[then], failed[since]))
        (previous, failed_before), (now, failed) = (
            (part.items, outcomes[part.places]) for part, outcomes in zip(parts, (failed_before, failed), strict=True)
        )
    return difference(
        (previous, failed_before, identities(previous) * 2 + failed_before),
        (now, failed, identities(now) * 2 + failed),
    )


def difference(
    previous: tuple[Sequence[Row], Bools, Ints], now: tuple[Sequence[Row], Bools, Ints]
) -> tuple[list[tuple[Ints, bool]], list[tuple[Ints, bool]]]:
    """Return the rows that only one of two spectra has, each with whether its test failed.

    Parameters
    ----------
    previous, now : tuple
        For each spectrum its rows (ndarray of int32, shape (k,)), whether their tests failed (ndarray of bool, shape
        (tests,)), and what identifies a row with its outcome (ndarray of int, shape (tests,)): rows with the same
        number are taken to be equal.

    Returns
    -------
    removed, added : list of (ndarray of int32, shape (k,), bool)
        As `Counts.updated` takes them.

    Examples
    --------
    >>> rows, failed = [np.array([0, 1]), np.array([0, 2])], np.array([True, False])
    >>> removed, added = difference((rows, failed, np.array([7, 8])), (rows[:1], failed[:1], np.array([7])))
    >>> [(row.tolist(), bad) for row, bad in removed], added
    ([([0, 2], False)], [])
    """
    places = removals(previous[2], now[2])
    if places is not None:
        return _chosen(previous, places), _chosen(now, range(len(previous[2]) - len(places), len(now[2])))
    then, since = Counter(previous[2].tolist()), Counter(now[2].tolist())
    return _chosen(previous, _beyond(previous[2], since)), _chosen(now, _beyond(now[2], then))


def _chosen(spectrum: tuple[Sequence[Row], Bools, Ints], places: Iterable[int]) -> list[tuple[Ints, bool]]:
    rows, failed, _ = spectrum
    return [(rows[place], bool(failed[place])) for place in places]


def _beyond(marks: Ints, others: Counter[int]) -> Iterator[int]:
    """The places of marks that the others do not have as often; several tests may share a row."""
    for place, mark in enumerate(marks.tolist()):
        if others[mark] > 0:
            others[mark] -= 1
        else:
            yield place


def changed_columns(previous: Counts, after: Counts, changed: Change) -> Ints:
    """Return the columns whose counts a change of rows altered.

    Parameters
    ----------
    previous, after : Counts
        The counts of all columns before and after the change.
    changed : sequence of (ndarray of int, bool)
        The removed and added rows, each with whether its test failed.

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
    is_changed = np.zeros(len(after.ef), bool)
    for wanted, before, now in ((True, previous.ef, after.ef), (False, previous.ep, after.ep)):
        rows = [row for row, bad in changed if bad == wanted]
        if len(rows) == 1:
            is_changed[rows[0]] = True
        elif rows:
            touched = np.concatenate(rows)
            is_changed[touched[before[touched] != now[touched]]] = True
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
