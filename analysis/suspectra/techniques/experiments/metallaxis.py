"""Metallaxis: a statement is suspicious if a mutant of it changes the results of the same tests as the fault does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suspectra.program import Program
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import Spectrum
from suspectra.techniques.catalogue import METALLAXIS as INFO
from suspectra.techniques.experiments.mutant_results import (
    MutantReport,
    MutantResult,
    mutant_results,
)
from suspectra.techniques.formulas import make_formula, require_failure
from suspectra.techniques.technique import Technique, headline, own_report

_OCHIAI = make_formula("ochiai")
_LAST = 1e-6  # of Ochiai's score, for statements that are not suspicious otherwise


@dataclass(frozen=True)
class Metallaxis(Technique):
    """Metallaxis (Papadakis & Le Traon 2015).

    The score of a mutant is Ochiai's formula on the tests whose results it changes: kf / sqrt(F (kf + kp)), kf the
    failing tests that pass, or fail with another exception or another message, kp the passing tests that fail. A
    statement has the highest score of its mutants. Mutants with which some test does not end are left out. A statement
    without another score is ranked last, where it has a millionth of Ochiai's: so one that was not tried yet does not
    fall behind those that no failing test executes.
    """

    info = INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> MutantReport:
        """Rank by what mutants show; without any this is Ochiai's ranking."""
        require_failure(spectrum)
        results = mutant_results(program.experiments if program is not None else (), spectrum)
        scores = _OCHIAI.score(spectrum.counts) * (_LAST if results else 1.0)
        for element, several in results.items():
            scores[element] = max(scores[element], *(_score(one, spectrum.counts.failed) for one in several))
        return MutantReport.from_results(self, spectrum, scores, results)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Which mutant changes the results of which tests."""
        suspect, counts = report.suspect(position), report.spectrum.counts
        own = own_report(report, MutantReport)
        results = own.results.get(suspect.element, ())
        sentences = own.sentences(suspect)
        put_in = ""
        if results:
            best = max(results, key=lambda one: _score(one, counts.failed))
            killed = best.repaired + best.changed
            sentences.insert(
                0,
                f"{best.experiment.detail} changes the results of {killed} of {counts.failed} failing and of"
                f" {best.broken} of {best.tried} passing tests that were run.",
            )
            put_in = f"{killed} / sqrt({counts.failed} * ({killed} + {best.broken}))"
        return Explanation(headline(report, suspect), tuple(sentences), INFO.formula, put_in)


def _score(mutant: MutantResult, failed: int) -> float:
    killed = mutant.repaired + mutant.changed
    if mutant.endless or not killed:
        return 0.0
    return float(killed / np.sqrt(failed * (killed + mutant.broken)))
