"""Switching: a statement is suspicious if failing tests pass once a decision of it comes out the other way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suspectra.base.arrays import Floats
from suspectra.program import Program
from suspectra.report import Explanation, RankedReport
from suspectra.runs.experiment import Experiment
from suspectra.spectrum import Spectrum
from suspectra.techniques.catalogue import SWITCHING as INFO
from suspectra.techniques.experiments.findings import FindingsReport, rank_findings, tests_repaired
from suspectra.techniques.formulas import in_words, make_formula
from suspectra.techniques.technique import Technique, headline, own_report

_OCHIAI = make_formula("ochiai")
_BEHIND = 1 - 1e-9  # of a score, what is left for one that ranks right behind it


@dataclass(frozen=True)
class Switching(Technique):
    """Predicate switching (Zhang, Gupta & Gupta 2006) on top of Ochiai.

    The score is Ochiai's and the share of the failing tests that pass when some decision of the statement comes out the
    other way. Where the decision guards an exception, not to raise it may hide the symptom alone: such a statement
    ranks behind the others that repair, though never behind where Ochiai has it.
    """

    info = INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> FindingsReport:
        """Rank by what experiments show; without any this is Ochiai's ranking."""
        ochiai = _OCHIAI.score(spectrum.counts)
        return rank_findings(self, "switch", spectrum, program, lambda found: _scores(found, ochiai, spectrum))

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Which tests pass, and after what."""
        suspect, spectrum = report.suspect(position), report.spectrum
        failed = spectrum.counts.failed
        own = own_report(report, FindingsReport)
        found = own.findings.get(suspect.element, ())
        share = tests_repaired(found) / failed
        sentences = [*own.in_words(suspect.element), in_words(suspect.ef, suspect.ep, spectrum.counts)]
        ochiai = float(_OCHIAI.score(spectrum.counts)[suspect.element])
        put_in = f"{ochiai:.6g} + {share:.6g}"
        return Explanation(headline(report, suspect), tuple(sentences), INFO.formula, put_in)


def _scores(findings: Mapping[int, tuple[Experiment, ...]], ochiai: Floats, spectrum: Spectrum) -> Floats:
    scores = ochiai.copy()
    for element, found in findings.items():
        scores[element] += tests_repaired(found) / spectrum.counts.failed
    guards = [element for element, found in findings.items() if all(one.guard for one in found)]
    others = [scores[element] for element in findings if element not in guards]
    if others:
        behind = min(others) * _BEHIND
        for element in guards:
            scores[element] = max(ochiai[element], min(scores[element], behind))
    return scores
