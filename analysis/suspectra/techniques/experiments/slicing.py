"""Slices: a statement is suspicious if failures depend on what it did, the more the fewer steps lie between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Floats
from suspectra.base.english import many
from suspectra.base.errors import Problem
from suspectra.program import Program
from suspectra.report import Explanation, RankedReport
from suspectra.runs.reported_lines import FailureSlice
from suspectra.spectrum import Spectrum
from suspectra.techniques.catalogue import SLICE as INFO
from suspectra.techniques.experiments.findings import where_it_works
from suspectra.techniques.formulas import in_words, make_formula, require_failure
from suspectra.techniques.technique import Technique, headline, own_report

_OCHIAI = make_formula("ochiai")


@dataclass(frozen=True, eq=False, kw_only=True)
class SliceReport(RankedReport):
    """A ranking by slices, with the distance of each statement from each failure."""

    # by element, for each failing test in whose slice it is, how many dependences lie between at least
    distance: Mapping[int, Mapping[str, int]]
    sliced: tuple[str, ...]  # the failing tests whose slices are known


@dataclass(frozen=True)
class Slicing(Technique):
    """Dynamic backward slices of the failures on top of Ochiai.

    Statements in the slices of more failing tests rank first, then by Ochiai, then by the mean number of dependences
    between them and the failures. What no slice contains comes last: nothing that it did can be a reason.
    """

    info = INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> SliceReport:
        """Rank by slices; without any this is Ochiai's ranking."""
        require_failure(spectrum)
        known = [one for one in (program.slices if program is not None else ()) if one.test in spectrum.failing_index]
        distance = distances(known, spectrum)
        ranked = RankedReport.from_scores(self, spectrum, _scores(distance, len(known), spectrum))
        notes = () if known else (where_it_works(_no_slices(), spectrum, self.name),)
        sliced = tuple(one.test for one in known)
        return SliceReport(self, spectrum, ranked.level, ranked.level_score, notes, distance=distance, sliced=sliced)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Say how many failures depend on the statement, and how closely."""
        suspect, own = report.suspect(position), own_report(report, SliceReport)
        found = own.distance.get(suspect.element, {})
        sentences = [in_words(suspect.ef, suspect.ep, report.spectrum.counts)]
        if own.sliced:
            depend = "depends" if len(found) == 1 else "depend"
            nearest = min(found.values(), default=0)
            lies = f"{many(nearest, 'dependence')} {'lies' if nearest == 1 else 'lie'} between"
            said = f"; {lies}" if found else ""
            sentences.insert(0, f"{len(found)} of {len(own.sliced)} traced failures {depend} on it{said}.")
        return Explanation(headline(report, suspect), tuple(sentences), INFO.formula)


def distances(slices: Iterable[FailureSlice], spectrum: Spectrum) -> dict[int, dict[str, int]]:
    """Find how far candidates are from failures."""
    found: dict[int, dict[str, int]] = {}
    for one in slices:
        for (file, line), steps in one.distance.items():
            element = spectrum.elements.at(file, line)
            if element is not None and spectrum.candidates[element]:
                of_tests = found.setdefault(element, {})
                of_tests[one.test] = min(steps, of_tests.get(one.test, steps))
    return found


def _scores(distance: Mapping[int, Mapping[str, int]], known: int, spectrum: Spectrum) -> Floats:
    """The share of the slices, then Ochiai, then closeness; each weighs less than a step of the one before."""
    scores = _OCHIAI.score(spectrum.counts).astype(np.float64)
    for element, of_tests in distance.items():
        mean = sum(of_tests.values()) / len(of_tests)
        scores[element] += 2 * len(of_tests) / known + 1e-6 / (1 + mean)
    return scores


def _no_slices() -> Problem:
    cause = "no failing test was traced, so this is Ochiai's ranking"
    return Problem("", "", cause, "run `suspectra slice --failure`")
