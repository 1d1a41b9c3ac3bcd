"""Reports: what a technique says about a spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from suspectra.errors import Problem
from suspectra.location import Location
from suspectra.spectrum import Spectrum

if TYPE_CHECKING:
    from suspectra.techniques.technique import Technique

# Scores that agree to this many significant digits are one score: formulas divide, and two quotients that are
# equal on paper differ in the last bits.
SIGNIFICANT_DIGITS = 12


@dataclass(frozen=True)
class Explanation:
    """Why a suspect stands where it stands, in words and numbers.

    Parameters
    ----------
    headline : str
        One line: rank, score, technique.
    sentences : tuple of str
        The reasons, most important first.
    formula : str
        The formula as published.
    substituted : str
        The formula with this element's numbers in it.
    """

    headline: str
    sentences: tuple[str, ...]
    formula: str = ""
    substituted: str = ""


@dataclass(frozen=True)
class Suspect:
    """One entry of a ranked report.

    `rank_best` is 1 + the number of elements with a higher score, `rank_worst` counts those with an equal score
    too, and `standard_rank` is paper 003's #{higher} + #{equal}/2 (the element itself is among the equal).
    """

    element: int
    location: Location
    function: str
    score: float
    rank_best: int
    rank_average: float
    rank_worst: int
    standard_rank: float
    ef: int
    ep: int
    nf: int
    np: int
    failing_tests: tuple[str, ...]

    @property
    def tied(self) -> int:
        """How many elements share this score."""
        return self.rank_worst - self.rank_best + 1


@dataclass(frozen=True, eq=False)
class RankedReport:
    """Elements in the order in which to look at them; equal scores form one group.

    Parameters
    ----------
    technique : Technique
    spectrum : Spectrum
    order : ndarray of int32, shape (m,)
        The candidates, best first; within a tie in the order of file and line.
    scores : ndarray of float64, shape (m,)
        Suspiciousness, aligned with `order`.
    first, last : ndarray of int32, shape (m,)
        For each position the half-open range of positions of its tie.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> report = make_technique("ochiai").localize(spectrum)
    >>> [(s.location.line, round(s.score, 2), s.rank_best) for s in report.suspects()]
    [(2, 1.0, 1), (1, 0.71, 2), (3, 0.0, 3)]
    """

    technique: Technique
    spectrum: Spectrum
    order: np.ndarray
    scores: np.ndarray
    first: np.ndarray
    last: np.ndarray

    @classmethod
    def from_scores(
        cls, technique: Technique, spectrum: Spectrum, scores: np.ndarray, *, unexecuted_last: bool = True
    ) -> RankedReport:
        """Rank the candidates by score, highest first.

        Parameters
        ----------
        scores : ndarray of float64, shape (elements,)
            NaN is taken as the lowest score.
        unexecuted_last : bool
            Elements that no test executes rank last, together, whatever their score says, and are given the
            lowest score of the report. False ranks them by their score like any other, as published tables do.
        """
        candidates = np.flatnonzero(spectrum.candidates)
        score = round_significant(np.nan_to_num(scores[candidates], nan=-np.inf, posinf=np.inf, neginf=-np.inf))
        counts = spectrum.counts
        unexecuted = unexecuted_last & (counts.ef[candidates] + counts.ep[candidates] == 0)
        score[unexecuted] = np.min(score, initial=np.inf)
        by_score = np.lexsort((-score, unexecuted))
        score, unexecuted = score[by_score], unexecuted[by_score]
        opens = np.ones(len(score), bool)
        opens[1:] = (score[1:] != score[:-1]) | (unexecuted[1:] != unexecuted[:-1])
        starts = np.flatnonzero(opens)
        sizes = np.diff(np.append(starts, len(score)))
        first = np.repeat(starts, sizes)
        return cls(
            technique,
            spectrum,
            candidates[by_score].astype(np.int32),
            score,
            first.astype(np.int32),
            (first + np.repeat(sizes, sizes)).astype(np.int32),
        )

    def __len__(self) -> int:
        return len(self.order)

    @property
    def rank_best(self) -> np.ndarray:
        """1 + the number of elements with a higher score, by position."""
        return self.first + 1

    @property
    def rank_worst(self) -> np.ndarray:
        """The number of elements with a higher or an equal score, by position."""
        return self.last

    @property
    def rank_average(self) -> np.ndarray:
        """The mean of the best and the worst rank, by position."""
        return (self.first + 1 + self.last) / 2

    @property
    def standard_rank(self) -> np.ndarray:
        """Standard Rank Score (paper 003, Definition 17): #{higher} + #{equal}/2, by position."""
        return (self.first + self.last) / 2

    @cached_property
    def position(self) -> np.ndarray:
        """Position in the ranking by element, -1 for an element that is no candidate."""
        position = np.full(len(self.spectrum.elements), -1, np.int32)
        position[self.order] = np.arange(len(self.order), dtype=np.int32)
        return position

    def suspect(self, position: int) -> Suspect:
        """The entry at a position, counted from 0."""
        element = int(self.order[position])
        elements, counts = self.spectrum.elements, self.spectrum.counts
        first, last = int(self.first[position]), int(self.last[position])
        return Suspect(
            element,
            elements.location(element),
            elements.function_name(element),
            float(self.scores[position]),
            first + 1,
            (first + 1 + last) / 2,
            last,
            (first + last) / 2,
            int(counts.ef[element]),
            int(counts.ep[element]),
            int(counts.nf[element]),
            int(counts.np[element]),
            self.spectrum.failing_tests(element),
        )

    def suspects(self, top: int | None = None) -> list[Suspect]:
        """The first `top` entries, or all."""
        count = len(self) if top is None else min(top, len(self))
        return [self.suspect(position) for position in range(count)]

    def explain(self, position: int) -> Explanation:
        """Why the entry at a position stands there."""
        return self.technique.explain(self, position)

    def doubts(self) -> list[Problem]:
        """What keeps this ranking from telling the fault apart, and what would help."""
        counts = self.spectrum.counts
        found = []
        if not counts.passed:
            found.append(
                Problem(
                    "",
                    "",
                    "no test passed, so lines that only failing tests execute can't be told from the others",
                    "run passing tests too, best those near the failing ones",
                )
            )
        suspected = int(np.count_nonzero(counts.ef[self.order]))
        tied = int(self.last[0]) if len(self) else 0
        if counts.passed and tied > 20 and tied > suspected / 2:
            found.append(
                Problem(
                    "",
                    "",
                    f"the evidence can't tell: {tied} of the {suspected} lines that failing tests execute share"
                    " the best score",
                    "add passing tests that execute some of these lines and not the others",
                )
            )
        return found


def round_significant(values: np.ndarray, digits: int = SIGNIFICANT_DIGITS) -> np.ndarray:
    """Round to significant decimal digits; zeros and infinities stay.

    Examples
    --------
    >>> bool(round_significant(np.array([0.1 + 0.2]))[0] == 0.3)
    True
    """
    values = np.asarray(values, float).copy()
    plain = np.isfinite(values) & (values != 0)
    # 1e-290 and smaller would need a power of ten that float64 does not have
    plain &= np.abs(values) > 1e-290
    scale = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(values[plain]))))
    rounded = np.round(values[plain] * scale) / scale
    values[plain] = np.where(np.isfinite(rounded), rounded, values[plain])
    return values
