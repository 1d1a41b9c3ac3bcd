"""Which tests execute some statements, and which tests execute nearly the same, without a pass over all rows.

Rows are sorted, so a few binary searches in each row answer a question about a few columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Bools, Ints, Row
from suspectra.base.cancellation import checked
from suspectra.spectrum import Spectrum

_FEW = 64  # runs of columns up to which they are searched for; beyond, whole rows are looked at
_MAX_FAILING = 30  # failing tests that passing ones are compared with
_MAX_LOOKED_AT = 4_000_000  # entries of rows that one question about similar tests may look at


@dataclass(frozen=True)
class Pair:
    """A failing and a passing test."""

    # row numbers
    failing: int
    passing: int
    similarity: float  # statements that both execute, divided by those that either executes (Jaccard): from 0 to 1


@dataclass(frozen=True, eq=False)
class Executions:
    """What the tests of a spectrum execute, for questions about a few statements. Only candidates count."""

    spectrum: Spectrum  # of the tests

    def count(self, columns: Ints) -> Ints:
        """How many of some statements each test executes.

        Of shape (tests,).
        """
        return _count(self.spectrum.rows, columns, len(self.spectrum.elements))

    @cached_property
    def size(self) -> Ints:
        """How many candidates each test executes; int64, shape (tests,)."""
        rows, candidates = self.spectrum.rows, self.spectrum.candidates
        if candidates.all():
            return np.array([len(row) for row in rows], np.int64)
        return _count(rows, np.flatnonzero(candidates), len(candidates))

    def row(self, test: int) -> Row:
        """The candidates that a test executes.

        Of shape (k,).
        """
        row = self.spectrum.rows[test]
        return row[self.spectrum.candidates[row]]

    def most_alike(self, failing: Ints, passing: Ints, limit: int) -> list[Pair]:
        """The passing tests that execute most nearly what some failing test does.

        Each passing test once, with the failing one that it is most like. The most similar first, then by name. Of many
        failing tests those that execute least are compared, and in very large suites only with passing tests of the
        most similar size.
        """
        if not len(failing) or not len(passing):
            return []
        size, names = self.size, self.spectrum.tests
        failing = failing[np.argsort(size[failing], kind="stable")[:_MAX_FAILING]]
        bad, good = np.repeat(failing, len(passing)), np.tile(passing, len(failing))
        small, large = np.minimum(size[bad], size[good]), np.maximum(size[bad], size[good])
        bound = small / np.maximum(large, 1)
        order = np.argsort(-bound, kind="stable")
        best: dict[int, Pair] = {}
        masks: dict[int, Bools] = {}
        least, looked_at = 0.0, 0
        for place in checked(order.tolist()):
            if bound[place] < least or looked_at > _MAX_LOOKED_AT:
                break
            one, other = int(bad[place]), int(good[place])
            if one not in masks:
                masks[one] = np.zeros(len(self.spectrum.elements), bool)
                masks[one][self.row(one)] = True
            row = self.spectrum.rows[other]
            both = int(np.count_nonzero(masks[one][row]))
            looked_at += len(row)
            similarity = both / max(int(size[one] + size[other]) - both, 1)
            if other not in best or similarity > best[other].similarity:
                best[other] = Pair(one, other, similarity)
                if len(best) > limit:
                    del best[max(best, key=lambda test: (-best[test].similarity, names[test]))]
                if len(best) == limit:
                    least = min(pair.similarity for pair in best.values())
        return sorted(best.values(), key=lambda pair: (-pair.similarity, names[pair.passing]))

    def same_coverage(self, failing: Ints, passing: Ints, limit: int) -> list[Pair]:
        """Passing tests that execute the same statements and take the same branches as a failing one."""
        names, size = self.spectrum.tests, self.size
        of_size: dict[int, list[tuple[int, int]]] = {}
        sizes = set(size[passing].tolist())
        for test in checked(sorted(failing.tolist(), key=names.__getitem__)):
            # a row that lacks the rarest statement can't be the same, so few rows are compared as a whole
            if size[test] in sizes and (rarest := self._rarest(test)) is not None:
                of_size.setdefault(int(size[test]), []).append((test, rarest))
        found: list[Pair] = []
        for test in checked(sorted(passing.tolist(), key=names.__getitem__)):
            alike = of_size.get(int(size[test]), ())
            row = self.spectrum.rows[test]
            same = next((one for one, rarest in alike if _has(row, rarest) and self._is_same(one, test)), None)
            if same is not None:
                found.append(Pair(same, test, 1.0))
                if len(found) == limit:
                    break
        return found

    def _rarest(self, test: int) -> int | None:
        """The candidate that the fewest passing tests execute, of those that a test executes; -1 if there is none.

        None where no passing test executes it, so that none has the same coverage. Otherwise few rows need to be
        compared as a whole.
        """
        row = self.row(test)
        if not len(row):
            return -1
        passing = self.spectrum.counts.ep[row]
        rarest = int(passing.argmin())
        return int(row[rarest]) if passing[rarest] else None

    def _is_same(self, one: int, other: int) -> bool:
        """Whether two tests execute the same candidates and take the same branches, where these are recorded."""
        spectrum = self.spectrum
        if not np.array_equal(self.row(one), self.row(other)):
            return False
        if spectrum.edges is None or spectrum.edge_rows is None:
            return True
        first, second = spectrum.edge_rows[one], spectrum.edge_rows[other]
        differs = np.setxor1d(first, second, assume_unique=True)
        return not spectrum.candidate_edges[differs].any()


def _has(row: Row, column: int) -> bool:
    """Whether an ascending row has a column; any row has the column -1."""
    place = row.searchsorted(np.int32(column))
    return column < 0 or bool(place < len(row) and row[place] == column)


def _count(rows: Sequence[Row], columns: Ints, width: int) -> Ints:
    """How many of some ascending columns are in each row."""
    if not len(columns):
        return np.zeros(len(rows), np.int64)
    gaps = np.flatnonzero(np.diff(columns) > 1)
    if len(gaps) < _FEW:
        starts, ends = columns[np.append(0, gaps + 1)], columns[np.append(gaps, len(columns) - 1)] + 1
        keys = np.stack([starts, ends], axis=1).ravel().astype(np.int32)
        places = np.concatenate([np.zeros(0, np.int64), *(row.searchsorted(keys) for row in checked(rows))])
        places = places.reshape(len(rows), -1, 2)
        counts: Ints = (places[:, :, 1] - places[:, :, 0]).sum(axis=1)
        return counts
    wanted = np.zeros(width, bool)
    wanted[columns] = True
    return np.array([np.count_nonzero(wanted[row]) for row in checked(rows)], np.int64)
