"""Searches for paths as rankings: what they have reported about failing tests comes first, in its order."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass

from suspectra.base.errors import Problem
from suspectra.program import Program
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import Spectrum
from suspectra.techniques.catalogue import APG, CAUSE_TRANSITIONS, NEAREST_PATH
from suspectra.techniques.formulas import in_words, make_formula, require_failure
from suspectra.techniques.technique import Technique, headline, own_report

_OCHIAI = make_formula("ochiai")


@dataclass(frozen=True, eq=False, kw_only=True)
class PathsReport(RankedReport):
    """A ranking by reports, with the place that each statement has in them."""

    # by element, for each failing test whose report names it, at which place, from 1
    places: Mapping[int, Mapping[str, int]]
    searched: tuple[str, ...]  # the failing tests about which there is a report


class _PathReports(Technique, ABC):
    """What a search for paths has reported, on top of Ochiai."""

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> PathsReport:
        """Rank by what was reported; without any report this is Ochiai's ranking."""
        require_failure(spectrum)
        places: dict[int, dict[str, int]] = {}
        searched = []
        for one in program.paths if program is not None else ():
            lines = one.lines.get(self.name, ())
            if one.test not in spectrum.failing_index or not lines:
                continue
            searched.append(one.test)
            named = (spectrum.elements.at(file, line) for file, line in lines)
            statements = (element for element in named if element is not None and spectrum.candidates[element])
            for place, element in enumerate(dict.fromkeys(statements), 1):
                places.setdefault(element, {})[one.test] = place
        scores = _OCHIAI.score(spectrum.counts).astype(float)
        for element, by_test in places.items():
            scores[element] = 1 + sum(1 / place for place in by_test.values()) / len(searched) + 1e-6 * scores[element]
        ranked = RankedReport.from_scores(self, spectrum, scores)
        notes = () if searched else (_nothing_reported(self.name),)
        return PathsReport(
            self, spectrum, ranked.level, ranked.level_score, notes, places=places, searched=tuple(searched)
        )

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Say which searches have reported the statement."""
        suspect, own = report.suspect(position), own_report(report, PathsReport)
        sentences = [in_words(suspect.ef, suspect.ep, report.spectrum.counts)]
        if own.searched:
            found = own.places.get(suspect.element, {})
            first = f", at place {min(found.values())}" if found else ""
            names = "names" if len(found) == 1 else "name"
            total = len(own.searched)
            of = f"{len(found)} of {total} reports about failing tests" if total > 1 else f"{len(found)} of 1 report"
            sentences.insert(0, f"{of} {names} it{first}.")
        return Explanation(headline(report, suspect), tuple(sentences), self.info.formula)


@dataclass(frozen=True)
class ByNearestPath(_PathReports):
    """Where failing tests part from the passing tests that go most nearly the same way."""

    info = NEAREST_PATH


@dataclass(frozen=True)
class ByGeneratedPaths(_PathReports):
    """Where failing tests part from generated runs that pass."""

    info = APG


@dataclass(frozen=True)
class ByCauseTransitions(_PathReports):
    """Where the cause of a failure becomes another one."""

    info = CAUSE_TRANSITIONS


def _nothing_reported(technique: str) -> Problem:
    cause = f"no search for paths by {technique} has reported anything, so this is Ochiai's ranking"
    return Problem("", "", cause, f"run `suspectra paths TEST --technique {technique}`")
