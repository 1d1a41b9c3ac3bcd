"""MUSE: a statement is suspicious if mutants of it let failing tests pass, and let passing tests pass still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Floats
from suspectra.base.errors import Problem, UsageError
from suspectra.program import Program
from suspectra.report import Explanation, RankedReport
from suspectra.runs.experiment import EVERY_MUTANT
from suspectra.spectrum import Spectrum
from suspectra.techniques.catalogue import MUSE as INFO
from suspectra.techniques.experiments.mutant_results import (
    MutantReport,
    MutantResult,
    mutant_results,
)
from suspectra.techniques.formulas import make_formula, require_failure
from suspectra.techniques.technique import Technique, headline, own_report

LAZY, PUBLISHED, MUSEUM = "lazy", "published", "museum"
_FORMS = (LAZY, PUBLISHED, MUSEUM)
_OCHIAI = make_formula("ochiai")
_BEHIND = 1 - 1e-9  # of a score, what is left for one that ranks right behind it
_TIE = 1e-6  # of Ochiai's score, what is added to order statements whose best mutants are equally good


@dataclass(frozen=True)
class Muse(Technique):
    """MUSE (Moon, Kim, Kim & Yoo 2014).

    For a mutant m, f2p(m) are the failing tests that pass with it, p2f(m) the passing tests that fail; F and P are the
    numbers of failing and of passing tests.

    The published forms need every mutant to be tried with every test that executes the statement. The first one is of
    the paper: the mean of f2p(m) / F - α p2f(m) / P over the mutants of a statement, with α such that both parts have
    the same sum over all mutants. MUSEUM (Hong, Lee, Kwak, Jeon, Ko, Kim & Kim 2015) divides the sum of f2p(m) / (f2p +
    1) - p2f(m) / (p2f + 1) by one more than the number of mutants; f2p and p2f are sums over all mutants. A mutant with
    which some test does not end is left out. A statement without mutants has the score 0.

    The lazy form, which is the default, needs passing tests only for mutants that repair a failing one. A statement is
    as good as its best mutant: f2p(m) / F - p2f(m) / e(m), e(m) the passing tests that were run with it. The share is
    of these and not of P, since a mutant that breaks every test that executes it shows nothing, however few those are.
    Where the result is above 0 the statement ranks before those where it is not. These are ranked by Ochiai, so that a
    statement that was not tried yet does not fall behind. Where all mutants that repair are of a check that raises, the
    statement ranks behind the others that repair.

    Raises UsageError for another form.
    """

    form: str = LAZY  # `lazy`, `published` or `museum`
    info = INFO

    def __post_init__(self) -> None:
        if self.form not in _FORMS:
            cause = f"there is no form {self.form!r}"
            raise UsageError(Problem("", "form", cause, f"it is one of {', '.join(_FORMS)}"))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Mutants; for the published forms, with passing tests whatever they do to failing ones."""
        return super().kinds if self.form == LAZY else (EVERY_MUTANT,)

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> MutantReport:
        """Rank by what mutants show; without any this is Ochiai's ranking."""
        require_failure(spectrum)
        results = mutant_results(program.experiments if program is not None else (), spectrum)
        ochiai = _OCHIAI.score(spectrum.counts)
        if not results or self.form == LAZY:
            scores = _lazy(results, ochiai, spectrum)
        else:
            scores = _mean(results, spectrum, self.form)
        return MutantReport.from_results(self, spectrum, scores, results)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Which mutants repair what, and break what."""
        suspect, counts = report.suspect(position), report.spectrum.counts
        own = own_report(report, MutantReport)
        results = own.results.get(suspect.element, ())
        sentences = own.sentences(suspect)
        best = _best(results, report.spectrum)
        put_in = f"1 + {best:.6g}" if best > 0 else f"{float(_OCHIAI.score(counts)[suspect.element]):.6g}"
        return Explanation(headline(report, suspect), tuple(sentences), INFO.formula, put_in)


def _best(results: Sequence[MutantResult], spectrum: Spectrum) -> float:
    """What the best mutant of a statement repairs, less what it breaks; 0 where none repairs."""
    failed = spectrum.counts.failed
    return max((one.repaired / failed - one.broken / max(one.tried, 1) for one in results if one.repaired), default=0.0)


def _lazy(results: Mapping[int, Sequence[MutantResult]], ochiai: Floats, spectrum: Spectrum) -> Floats:
    scores = ochiai.copy()
    guards: list[int] = []
    others: list[int] = []
    for element, several in results.items():
        best = _best(several, spectrum)
        if best > 0:
            scores[element] = 1 + best + _TIE * (ochiai[element] - 1)
            guard = all(one.experiment.guard for one in several if one.repaired)
            (guards if guard else others).append(element)
    if others:
        behind = min(scores[element] for element in others) * _BEHIND
        for element in guards:
            scores[element] = max(ochiai[element], min(scores[element], behind))
    return scores


def _mean(results: Mapping[int, Sequence[MutantResult]], spectrum: Spectrum, form: str) -> Floats:
    ended = {element: [one for one in several if not one.endless] for element, several in results.items()}
    everything = [one for several in ended.values() for one in several]
    repaired, broken = sum(one.repaired for one in everything), sum(one.broken for one in everything)
    scores = np.zeros(len(spectrum.elements))
    for element, several in ended.items():
        f2p, p2f = sum(one.repaired for one in several), sum(one.broken for one in several)
        if form == MUSEUM:
            scores[element] = (f2p / (repaired + 1) - p2f / (broken + 1)) / (len(several) + 1)
        elif several:
            weighted = repaired / broken * p2f if broken else 0.0  # α / P is repaired / broken / F
            scores[element] = (f2p - weighted) / (spectrum.counts.failed * len(several))
    return scores
