"""`PairReport`: a ranking by one score for each pair (ef, ep), of which no more is computed than is asked for.

Only the best pairs are put in order and rounded, and their elements are found among those that as many failing tests
execute. All levels are made once somebody asks for one that is not among the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Floats, Ints
from suspectra.base.errors import Problem
from suspectra.report.levels import comparable
from suspectra.report.ranked_report import Explainer, RankedReport
from suspectra.spectrum import Spectrum

_FIRST = 64  # pairs and elements that are ranked at first: enough for the suspects that an editor lists
_MORE = 8  # so many times more are ranked if these are too few
_MARGIN = 1e-10  # scores that differ by this part of them are not equal on paper


class PairReport(RankedReport):
    """A report whose levels follow from the scores of pairs, as those of formulas do.

    After a change the first suspects are wanted at once, and the levels of a million elements later or never. Scores of
    a few thousand pairs say which pairs are first. Their elements are found without looking at the others.
    """

    _ranked: Ints  # the pairs that are ranked by their scores
    _rest: Ints  # those that rank after them, together
    _scores: Floats

    def __init__(
        self,
        technique: Explainer,
        spectrum: Spectrum,
        scores: Floats,
        *,
        unexecuted_last: bool = True,
        notes: tuple[Problem, ...] = (),
    ):
        pairs = spectrum.pairs
        present, executed = pairs.size > 0, (pairs.ef + pairs.ep > 0) | (not unexecuted_last)
        fields = {
            "technique": technique,
            "spectrum": spectrum,
            "notes": notes,
            "_ranked": np.flatnonzero(present & executed),
            "_rest": np.flatnonzero(present & ~executed),
            "_scores": np.nan_to_num(scores, nan=-np.inf, posinf=np.inf, neginf=-np.inf),
        }
        for name, value in fields.items():  # all but the levels, which are computed when they are wanted
            object.__setattr__(self, name, value)  # as a frozen dataclass sets its own

    def __len__(self) -> int:
        return int(self.spectrum.pairs.size.sum())

    @cached_property
    def level(self) -> Ints:
        """0 for the elements that rank highest, 1 for the next…, -1 for an element that is not a candidate."""
        # mode="wrap" turns -1 into the last index and skips the bounds check
        return self._all.of_pair.take(self.spectrum.pairs.of, mode="wrap")

    @property
    def level_score(self) -> Floats:
        """Suspiciousness of each level."""
        return self._all.score

    @property
    def _level_end(self) -> Ints:
        return self._all.end

    def ties_of(self, elements: Sequence[int] | Ints) -> Ints:
        """Return the number of the tie that each of some candidates is in, which is that of its level.

        Of shape (k,).

        Raises ValueError when one of them is not a candidate.
        """
        pair = self.spectrum.pairs.of[np.asarray(elements, np.int64)]
        level = self._known_levels[0].of_pair[pair]
        if np.any(level < 0):
            level = self._all.of_pair[pair]
        if np.any(level < 0):
            raise ValueError(f"element {elements[int(np.argmax(level < 0))]} is not a candidate")
        return level

    @cached_property
    def _all(self) -> _Levels:
        """The levels of all pairs."""
        levels, rest = self._levels_of(self._ranked), self._rest
        if not len(rest):
            return levels
        levels.of_pair[rest] = len(levels.score)
        lowest = np.min(levels.score, initial=float(comparable(self._scores[rest[:1]])[0]))
        size = self.spectrum.pairs.size[rest].sum()
        return _Levels(np.append(levels.score, lowest), np.append(levels.end, levels.last_end + size), levels.of_pair)

    def _levels_of(self, ranked: Ints) -> _Levels:
        """The levels of the pairs that rank highest."""
        pairs = self.spectrum.pairs
        score, level = np.unique(-comparable(self._scores[ranked]), return_inverse=True)
        of_pair = np.full(len(pairs) + 1, -1, np.int32)  # elements that are no candidates have pair -1: the last entry
        of_pair[ranked] = level
        size = np.bincount(level, pairs.size[ranked], len(score)).astype(np.int64)
        return _Levels(0.0 - score, np.cumsum(size), of_pair)

    def _first_levels(self, count: int) -> _Levels:
        """The first levels, with `count` elements or more, or all levels."""
        first = _FIRST
        while first < len(self._ranked):
            ranked = self._best_pairs(first)
            if self.spectrum.pairs.size[ranked].sum() >= count:
                return self._levels_of(ranked)
            first *= _MORE
        return self._all

    def _best_pairs(self, count: int) -> Ints:
        """The pairs with the highest scores, with all that are equal on paper to the last one."""
        scores = self._scores[self._ranked]
        last = np.partition(scores, -count)[-count]
        near = scores >= (last - _MARGIN * abs(last) if np.isfinite(last) else last)  # few, so that few are rounded
        best: Ints = self._ranked[near][comparable(scores[near]) >= comparable(last[np.newaxis])]
        return best

    def _first_elements(self, count: int) -> Ints:
        count = max(count, _FIRST)  # whoever asks for fewer will soon ask for some more
        pairs, levels = self.spectrum.pairs, self._first_levels(count)
        self._known_levels[0] = levels
        last = int(np.searchsorted(levels.end, count))
        of_pair = np.where(levels.of_pair <= last, levels.of_pair, -1)
        least = np.min(pairs.ef[of_pair[:-1] >= 0], initial=self.spectrum.counts.failed)
        elements = np.flatnonzero(self.spectrum.counts.ef >= least)  # few, and quicker than to look at each pair
        level = of_pair.take(pairs.of[elements], mode="wrap")
        return self._in_order(elements[level >= 0], level[level >= 0])

    @cached_property
    def _known_levels(self) -> list[_Levels]:
        """The levels that were computed so far: as many as the first elements took."""
        return [_Levels(np.zeros(0), np.zeros(0, np.int64), np.full(len(self.spectrum.pairs) + 1, -1, np.int32))]

    def _place(self, element: int) -> tuple[float, int, int]:
        level = self._level_of(element)
        levels = self._known_levels[0] if level < len(self._known_levels[0].score) else self._all
        return float(levels.score[level]), int(levels.end[level - 1]) if level else 0, int(levels.end[level])

    def _level_of(self, element: int) -> int:
        return int(self.ties_of([element])[0])


class _Levels(NamedTuple):
    """The levels of the pairs that rank highest."""

    score: Floats  # of each level
    end: Ints  # how many elements are on each level or a better one
    of_pair: Ints  # the level of each pair, -1 for others, and -1 behind the last

    @property
    def last_end(self) -> int:
        return int(self.end[-1]) if len(self.end) else 0
