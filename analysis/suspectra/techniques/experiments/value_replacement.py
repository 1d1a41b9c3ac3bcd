"""Value replacement: a statement is suspicious if failing tests pass with another value in the place of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suspectra.base.arrays import Floats
from suspectra.program import Program
from suspectra.report import Explanation, RankedReport
from suspectra.runs.experiment import Experiment
from suspectra.spectrum import Spectrum
from suspectra.techniques.catalogue import VALUE_REPLACEMENT as INFO
from suspectra.techniques.experiments.findings import FindingsReport, rank_findings, tests_repaired
from suspectra.techniques.formulas import in_words, make_formula
from suspectra.techniques.technique import Technique, headline, own_report

_OCHIAI = make_formula("ochiai")


@dataclass(frozen=True)
class ValueReplacement(Technique):
    """Value replacement (Jeffrey, Gupta & Gupta 2008).

    If a failing test passes with another value in the place of one that a statement assigns, the two values are an
    interesting value mapping pair (IVMP). Statements are ranked by the number of failing tests for which they have one.
    In the paper Tarantula's score breaks ties; here Ochiai's does. Since that is never above 1, and above 0 wherever
    there is such a pair, the score is the sum of both.

    The paper replaces all values that a statement instance uses. Suspectra replaces the value that it assigns, as Li et
    al. 2016 do in their comparison.
    """

    info = INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> FindingsReport:
        """Rank by what experiments show; without any this is Ochiai's ranking."""

        def score(findings: Mapping[int, tuple[Experiment, ...]]) -> Floats:
            scores = _OCHIAI.score(spectrum.counts).copy()
            for element, found in findings.items():
                scores[element] += tests_repaired(found)
            return scores

        return rank_findings(self, "value", spectrum, program, score)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Which tests pass, and with which values."""
        suspect, spectrum = report.suspect(position), report.spectrum
        own = own_report(report, FindingsReport)
        found = own.findings.get(suspect.element, ())
        sentences = [*own.in_words(suspect.element), in_words(suspect.ef, suspect.ep, spectrum.counts)]
        ochiai = float(_OCHIAI.score(spectrum.counts)[suspect.element])
        put_in = f"{tests_repaired(found)} + {ochiai:.6g}"
        return Explanation(headline(report, suspect), tuple(sentences), INFO.formula, put_in)
