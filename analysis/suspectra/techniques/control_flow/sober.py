"""SOBER: decisions whose outcome is true more or less often in failing runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import FloatMatrix, Floats
from suspectra.program import Program
from suspectra.program.control_flow import control_flow
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import Spectrum
from suspectra.techniques.catalogue import SOBER as SOBER_INFO
from suspectra.techniques.control_flow.flow_report import (
    details_of,
    hits_of_edges,
    previous_details,
    require_counts,
)
from suspectra.techniques.control_flow.predicates import PredicateDetails, Predicates
from suspectra.techniques.effort import Effort
from suspectra.techniques.formulas import require_failure
from suspectra.techniques.staged_technique import Staged

_HIT_SECONDS = 3e-7  # per edge that a test traversed; measured by benchmarks/effort.py


@dataclass(frozen=True, eq=False)
class SoberDetails(PredicateDetails):
    """The data with which SOBER explains a report."""

    numbers: Floats  # mean bias of failed runs, mean bias of passed runs and its σ, for each predicate; shape (3, k)


@dataclass(frozen=True)
class Sober(Staged):
    """Compare how often predicates are true in failed and in passed runs (Liu et al. 2006).

    In a run that does not evaluate a predicate, its bias is one half.
    """

    info = SOBER_INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> RankedReport:
        """Rank by how unlikely the biases of the failed runs would be among passed runs."""
        require_failure(spectrum)
        require_counts(SOBER_INFO.title, spectrum)
        self.effort(spectrum).require(
            SOBER_INFO.title,
            f"it compares how often each of {len(spectrum.tests):,} tests took each way it went"
            f" ({hits_of_edges(spectrum):,.0f} in all)",
            "take CBI, which looks at the same decisions but not at how often, or a formula; or record fewer tests",
        )
        spectrum, flow = control_flow(SOBER_INFO.title, spectrum, program)
        last = previous_details(self, previous, SoberDetails)
        predicates = Predicates.from_flow(flow, spectrum, last.predicates if last else None)
        scores, numbers = self.score(predicates.biases(spectrum), len(predicates.column))
        lean = np.nan_to_num(numbers[0] - numbers[1])
        return predicates.rank(self, spectrum, scores, lean, lambda best: SoberDetails(predicates, best, numbers))

    def effort(self, spectrum: Spectrum) -> Effort:
        """Estimate the effort of the biases of all tests, which are computed in batches."""
        return Effort(hits_of_edges(spectrum) * _HIT_SECONDS, 0.5)

    def score(self, biases: Iterable[tuple[bool, FloatMatrix]], predicates: int) -> tuple[Floats, Floats]:
        """Compute the fault relevance of each predicate, and the means and σ it follows from.

        The relevance is log(σ / (√m·φ(Z))) over the m failed runs (Liu, Fei, Yan, Han & Midkiff 2006).

        Of shapes (predicates,) and (3, predicates).
        """
        runs = {True: 0, False: 0}
        totals = {bad: np.zeros(predicates) for bad in runs}
        squares = np.zeros(predicates)
        for bad, bias in biases:
            runs[bad] += bias.shape[0]
            np.add.at(totals[bad], bias.indices, bias.data)
            if not bad:
                np.add.at(squares, bias.indices, bias.data * bias.data)
        m, n = runs[True], runs[False]
        mean_failed = totals[True] / m
        if not n:
            return np.full(predicates, np.nan), np.stack([mean_failed + 0.5, *[mean_failed * np.nan] * 2])
        mean = totals[False] / n
        variance = np.maximum(squares - n * mean**2, 0) / max(n - 1, 1)
        variance[variance < 1e-12] = 0.0
        sigma, difference = np.sqrt(variance), mean_failed - mean
        difference[np.abs(difference) < 1e-12] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            z = difference / (sigma / np.sqrt(m))
            relevance = np.log(sigma) - np.log(m) / 2 + z**2 / 2 + np.log(2 * np.pi) / 2
        relevance[sigma == 0] = np.where(difference[sigma == 0] == 0, -np.inf, np.inf)  # the limits for σ → 0
        return relevance, np.stack([mean_failed + 0.5, mean + 0.5, sigma])

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """The predicate with its mean biases."""
        title, sentences, best = details_of(report, SoberDetails).explain(report, position)
        if best < 0:
            return Explanation(title, tuple(sentences), SOBER_INFO.formula)
        bad, good, sigma = details_of(report, SoberDetails).numbers[:, best]
        sentences.append(f"Failed runs go this way {bad:.1%} of the time, passed ones {good:.1%}.")
        put_in = f"means {bad:.4g} and {good:.4g}, σ {sigma:.4g}: {report.suspect(position).score:.6g}"
        return Explanation(title, tuple(sentences), SOBER_INFO.formula, put_in)
