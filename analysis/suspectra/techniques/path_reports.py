"""Searches for paths as rankings: what they have reported about failing tests comes first, in its order."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass

from suspectra.errors import Problem
from suspectra.program import Program
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import Spectrum
from suspectra.techniques.catalogue import APG, CAUSE_TRANSITIONS, NEAREST_PATH
from suspectra.techniques.formulas import in_words, make_formula, require_failure
from suspectra.techniques.technique import Technique, headline, own_report

_OCHIAI = make_formula("ochiai")


@dataclass(frozen=True, eq=False, kw_only=True)
class PathsReport(RankedReport):
    """A ranking by reports, with the place that each statement has in them.

    Parameters
    ----------
    places : mapping of int to mapping of str to int
        By element, for each failing test whose report names it, at which place, from 1.
    searched : tuple of str
        The failing tests about which there is a report.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> ByGeneratedPaths().localize(spectrum).searched
    ()
    """

    places: Mapping[int, Mapping[str, int]]
    searched: tuple[str, ...]


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
    """Where failing tests part from the passing tests that go most nearly the same way.

    Examples
    --------
    >>> ByNearestPath().localize(Spectrum.from_matrix([[1], [0]], failed=[True, False])).notes[0].cure
    'run `suspectra paths TEST --technique nearest-path`'
    """

    info = NEAREST_PATH


@dataclass(frozen=True)
class ByGeneratedPaths(_PathReports):
    """Where failing tests part from generated runs that pass.

    Examples
    --------
    >>> from suspectra.reported_paths import ReportedPaths
    >>> spectrum = Spectrum.from_matrix([[1, 1, 1], [1, 1, 0]], failed=[True, False])
    >>> known = ReportedPaths("t1", {"apg": (("program", 2), ("program", 1))})
    >>> report = ByGeneratedPaths().localize(spectrum, Program((), paths=(known,)))
    >>> [suspect.location.line for suspect in report.suspects()]
    [2, 1, 3]
    >>> report.explain(0).sentences[0]
    '1 of 1 report names it, at place 1.'
    """

    info = APG


@dataclass(frozen=True)
class ByCauseTransitions(_PathReports):
    """Where the cause of a failure becomes another one.

    Examples
    --------
    >>> ByCauseTransitions().info.needs == ByNearestPath().info.needs
    True
    """

    info = CAUSE_TRANSITIONS


def _nothing_reported(technique: str) -> Problem:
    cause = f"no search for paths by {technique} has reported anything, so this is Ochiai's ranking"
    return Problem("", "", cause, f"run `suspectra paths TEST --technique {technique}`")
