"""CBI: outcomes of decisions after which failure is likelier than after the decision in general."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Floats
from suspectra.program import Program
from suspectra.program.control_flow import control_flow
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import Counts, Spectrum
from suspectra.techniques.catalogue import CBI as CBI_INFO
from suspectra.techniques.control_flow.flow_report import (
    details_of,
    previous_details,
)
from suspectra.techniques.control_flow.predicates import PredicateDetails, Predicates
from suspectra.techniques.formulas import ratio, require_failure
from suspectra.techniques.staged_technique import Staged

CONFIDENCE = 1.96
"""How many standard errors Increase must lie above zero: the 95 % interval of the paper."""


@dataclass(frozen=True, eq=False)
class PredicateTruth:
    """In how many runs each predicate was true and was evaluated, with its Increase (Liblit et al. 2005)."""

    # failing and passing runs in which it was true at least once; shape (predicates,)
    true_failed: Floats
    true_passed: Floats
    # failing and passing runs that evaluated it; shape (predicates,)
    evaluated_failed: Floats
    evaluated_passed: Floats
    increase: Floats  # increase(P), from -1 to 1; shape (predicates,)
    bound: Floats  # the lower end of its 95 % interval; shape (predicates,)


@dataclass(frozen=True, eq=False)
class CBIDetails(PredicateDetails):
    """The data with which CBI explains a report."""

    numbers: PredicateTruth  # the counts of runs for each predicate, with its Increase


@dataclass(frozen=True)
class CBI(Staged):
    """Cooperative bug isolation (Liblit, Naik, Zheng, Aiken & Jordan 2005).

    Every predicate is sampled on every evaluation, as for paper 000 (§5.1.2).
    """

    info = CBI_INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> RankedReport:
        """Rank the predicates that pass the significance filter by Importance."""
        require_failure(spectrum)
        spectrum, flow = control_flow(CBI_INFO.title, spectrum, program)
        last = previous_details(self, previous, CBIDetails)
        predicates = Predicates.from_flow(flow, spectrum, last.predicates if last else None)
        true, evaluated = (
            spectrum.edge_hit_counts.for_columns(predicates.column),
            predicates.evaluations.counts(spectrum),
        )
        truth = self.judge(_runs(true), _runs(evaluated.for_columns(predicates.sites)))
        importance = self.importance(truth, spectrum.counts.failed)
        importance[~(truth.bound > 0)] = np.nan
        return predicates.rank(
            self, spectrum, importance, truth.increase, lambda best: CBIDetails(predicates, best, truth)
        )

    def judge(self, true: tuple[Floats, Floats], evaluated: tuple[Floats, Floats]) -> PredicateTruth:
        """Compute the Increase of each predicate (Liblit, Naik, Zheng, Aiken & Jordan 2005, §3)."""
        runs_true, runs_evaluated = true[0] + true[1], evaluated[0] + evaluated[1]
        failure, context = ratio(true[0], runs_true), ratio(evaluated[0], runs_evaluated)
        variance = ratio(failure * (1 - failure), runs_true) + ratio(context * (1 - context), runs_evaluated)
        increase = np.where(runs_true > 0, failure - context, -1.0)
        return PredicateTruth(*true, *evaluated, increase, increase - CONFIDENCE * np.sqrt(variance))

    def importance(self, truth: PredicateTruth, failed: int) -> Floats:
        """Compute the harmonic mean of Increase and log(failed runs in which it was true) / log(all failed runs).

        This is the Importance of Liblit, Naik, Zheng, Aiken & Jordan 2005, §3.

        Of shape (k,). From 0 to 1; 0 where Increase is not positive.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(truth.true_failed >= failed, 1.0, np.log(truth.true_failed) / np.log(max(failed, 2)))
            mean = 2 / (1 / truth.increase + 1 / share)
        return np.where((truth.increase > 0) & (share > 0), mean, 0.0)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """The predicate with its Failure, Context and Increase."""
        title, sentences, best = details_of(report, CBIDetails).explain(report, position)
        if best < 0:
            return Explanation(title, tuple(sentences), CBI_INFO.formula)
        truth = details_of(report, CBIDetails).numbers
        ft, pt = int(truth.true_failed[best]), int(truth.true_passed[best])
        fo, po = int(truth.evaluated_failed[best]), int(truth.evaluated_passed[best])
        sentences.append(f"{ft} of the {ft + pt} runs that go this way fail, {fo} of the {fo + po} that decide here.")
        put_in = (
            f"Failure {ft} / {ft + pt}, Context {fo} / {fo + po}, Increase {truth.increase[best]:.4g}"
            f" (at least {truth.bound[best]:.4g}), Importance {report.suspect(position).score:.6g}"
        )
        return Explanation(title, tuple(sentences), CBI_INFO.formula, put_in)


def _runs(counts: Counts) -> tuple[Floats, Floats]:
    """The numbers of failed and passed runs as real numbers."""
    return counts.ef.astype(float), counts.ep.astype(float)
