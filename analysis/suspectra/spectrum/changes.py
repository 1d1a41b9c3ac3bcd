"""The differences between two spectra, so that only these are counted again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Bools, Ints, Row, ranges
from suspectra.base.cancellation import checked
from suspectra.spectrum.chunks import Chunks, unshared
from suspectra.spectrum.counts import Change, Counts
from suspectra.spectrum.rows import Derived

# of the type of the counts: only then is `add.at` quick, about nine times as quick
_ONE = np.int32(1)
_MANY_REMOVALS = 100


def numbered(marks: Sequence[Hashable]) -> dict[object, int]:
    """Map each mark to its index; repeated marks are numbered.

    The index of each mark in `marks`. The n-th occurrence of a mark, from the second on, has the key `(mark, n)`.
    """
    occurrences: Counter[Hashable] = Counter()
    index_of: dict[object, int] = {}
    for index, mark in enumerate(marks):
        occurrences[mark] += 1
        index_of[mark if occurrences[mark] == 1 else (mark, occurrences[mark])] = index
    return index_of


def identities(rows: Sequence[object]) -> Ints:
    """Return the identity of each object.

    Of shape (k,). Equal where the objects are the same, as long as they exist.
    """
    objects = rows.source if isinstance(rows, Derived) else rows
    return np.fromiter(map(id, objects), np.int64, len(objects))


def shared_numbers(previous: Iterable[Hashable], now: Iterable[Hashable]) -> tuple[Ints, Ints]:
    """Number the items of two sequences; equal ones get the same number.

    Of shape (k,).
    """
    numbers: dict[Hashable, int] = {}
    first, second = (
        np.array([numbers.setdefault(item, len(numbers)) for item in items], np.int64) for items in (previous, now)
    )
    return first, second


def removals(previous: Ints, now: Ints) -> list[int] | None:
    """Find what was removed from a sequence, if apart from that it was only appended to.

    That is how the tests of a recording change: a test that runs again moves to the end.

    The places in `previous`, ascending; what is left of it is the beginning of `now`. None if the change is another
    one, or too large to be found faster than by looking every item up.
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
    """Find what was removed from a sequence of objects, if apart from that it was only appended to."""
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

    Of shape (k,).
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

    Of shape (k,).
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

    Of shape (k,).
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

    Of shape (k,).
    """
    number = {id(version): i for i, version in enumerate(previous)}
    old = np.array([number.get(id(version), -1) for version in current], np.int64)
    new = np.flatnonzero(old >= 0)
    return old[new], new


@dataclass(frozen=True, eq=False)
class MovedFiles:
    """How the columns of two tables correspond that share some of their files."""

    new_column: Ints  # for each old column its new one; -1 where the file changed; shape (old columns,)
    other: Bools  # whether the file of each new column changed; shape (new columns,)
    spans: list[Ints]  # first column, and one past the last, of each file that changed; shape (2,)

    @classmethod
    def between(cls, old_starts: Ints, new_starts: Ints, old: Ints, new: Ints) -> MovedFiles:
        """Match the columns of the files that are the same."""
        new_column = np.full(int(old_starts[-1]), -1, np.int32)
        to = ranges(new_starts[new], new_starts[new + 1])
        new_column[ranges(old_starts[old], old_starts[old + 1])] = to
        other = np.ones(int(new_starts[-1]), bool)
        other[to] = False
        changed = np.setdiff1d(np.arange(len(new_starts) - 1), new).tolist()
        return cls(new_column, other, [new_starts[file : file + 2].astype(np.int32) for file in changed])

    def counts(self, previous: Counts, removed: Change, added: Change, rows: Sequence[Row], failed: Bools) -> Counts:
        """The counts of the new columns."""
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
