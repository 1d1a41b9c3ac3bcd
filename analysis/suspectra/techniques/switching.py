"""Switching: a statement is suspicious if failing tests pass once a decision of it comes out the other way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from suspectra.arrays import Floats
from suspectra.errors import Problem
from suspectra.experiment import EVERY, Experiment
from suspectra.program import Program
from suspectra.quantity import many
from suspectra.report import Explanation, RankedReport
from suspectra.spectrum import Spectrum
from suspectra.techniques.catalogue import SWITCHING as INFO
from suspectra.techniques.formulas import in_words, make_formula, require_failure
from suspectra.techniques.technique import Technique, headline, own_report

_OCHIAI = make_formula("ochiai")
_BEHIND = 1 - 1e-9  # of a score, what is left for one that ranks right behind it


@dataclass(frozen=True, eq=False, kw_only=True)
class SwitchingReport(RankedReport):
    """A ranking by experiments, with those that each element has.

    Parameters
    ----------
    findings : mapping of int to tuple of Experiment
        By element, the experiments there after which a failing test passes.

    Examples
    --------
    >>> from suspectra.techniques import make_technique
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> make_technique("switching").localize(spectrum).findings
    {}
    """

    findings: Mapping[int, tuple[Experiment, ...]]


@dataclass(frozen=True)
class Switching(Technique):
    """Predicate switching (Zhang, Gupta & Gupta 2006) on top of Ochiai.

    The score is Ochiai's and the share of the failing tests that pass when some decision of the statement comes out the
    other way. Where the decision guards an exception, not to raise it may hide the symptom alone: such a statement
    ranks behind the others that repair, though never behind where Ochiai has it.

    Examples
    --------
    >>> from suspectra.experiment import Outcome
    >>> spectrum = Spectrum.from_matrix([[1, 1, 1], [1, 1, 0]], failed=[True, False])
    >>> made = Experiment("t1", "switch", "program", 2, 2, 3, "if", EVERY, "false", Outcome.PASSED, 0.01)
    >>> report = Switching().localize(spectrum, Program((), experiments=(made,)))
    >>> [(suspect.location.line, round(suspect.score, 2)) for suspect in report.suspects()]
    [(2, 1.71), (3, 1.0), (1, 0.71)]
    >>> report.explain(0).sentences[0]
    '1 of 1 failing tests passes if this comes out false.'
    """

    info = INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> SwitchingReport:
        """Rank by what experiments show; without any this is Ochiai's ranking."""
        require_failure(spectrum)
        made = program.experiments if program is not None else ()
        findings = _findings(made, spectrum)
        ochiai = _OCHIAI.score(spectrum.counts)
        ranked = RankedReport.from_scores(self, spectrum, _scores(findings, ochiai, spectrum))
        notes = () if any(one.kind == "switch" for one in made) else (_no_experiments(),)
        return SwitchingReport(self, spectrum, ranked.level, ranked.level_score, notes, findings=findings)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Which tests pass, and after what."""
        suspect, spectrum = report.suspect(position), report.spectrum
        failed = spectrum.counts.failed
        found = own_report(report, SwitchingReport).findings.get(suspect.element, ())
        share = len({one.test for one in found}) / failed
        sentences = [*findings_in_words(found, failed), in_words(suspect.ef, suspect.ep, spectrum.counts)]
        ochiai = float(_OCHIAI.score(spectrum.counts)[suspect.element])
        put_in = f"{ochiai:.6g} + {share:.6g}"
        return Explanation(headline(report, suspect), tuple(sentences), INFO.formula, put_in)


def findings_in_words(found: Iterable[Experiment], failed: int) -> list[str]:
    """Say which failing tests pass after what.

    Parameters
    ----------
    found : iterable of Experiment
        Those at one statement after which a test passes.
    failed : int
        How many tests fail.

    Returns
    -------
    list of str
        A sentence for each thing that was altered, that of most tests first.

    Examples
    --------
    >>> from suspectra.experiment import Outcome
    >>> made = Experiment("t1", "switch", "program", 2, 2, 3, "if", 2, "true", Outcome.PASSED, 0.01, guard=True)
    >>> first, *rest = findings_in_words([made], 3)
    >>> first, len(rest)
    ('1 of 3 failing tests passes if this comes out true the 2nd time.', 1)
    """
    tests: dict[str, set[str]] = {}
    guard = False
    for one in sorted(found, key=lambda one: (one.instance != EVERY, one.instance)):
        tests.setdefault(one.condition, set()).add(one.test)
        guard |= one.guard
    said = sorted(tests.items(), key=lambda item: -len(item[1]))
    sentences = [
        f"{len(names)} of {failed} failing tests {'passes' if len(names) == 1 else 'pass'} {condition}."
        for condition, names in said[:_MOST]
    ]
    if len(said) > _MOST:
        sentences.append(f"So it is after {many(len(said) - _MOST, 'other alteration')} here.")
    if guard:
        sentences.append(
            "This is where it is noticed: an exception is raised behind this decision, and not to raise it may hide the"
            " symptom alone."
        )
    return sentences


_MOST = 3  # alterations of a statement that are listed


def _findings(made: Iterable[Experiment], spectrum: Spectrum) -> dict[int, tuple[Experiment, ...]]:
    """The experiments of failing tests that repair, by candidate."""
    failing = {test for test, failed in zip(spectrum.tests, spectrum.failed.tolist(), strict=True) if failed}
    found: dict[int, list[Experiment]] = {}
    for one in made:
        if one.kind == "switch" and one.outcome.repairs and one.test in failing:
            element = spectrum.elements.at(one.file, one.line)
            if element is not None and spectrum.candidates[element]:
                found.setdefault(element, []).append(one)
    return {element: tuple(several) for element, several in found.items()}


def _scores(findings: Mapping[int, tuple[Experiment, ...]], ochiai: Floats, spectrum: Spectrum) -> Floats:
    scores = ochiai.copy()
    for element, found in findings.items():
        scores[element] += len({one.test for one in found}) / spectrum.counts.failed
    guards = [element for element, found in findings.items() if all(one.guard for one in found)]
    others = [scores[element] for element in findings if element not in guards]
    if others:
        behind = min(others) * _BEHIND
        for element in guards:
            scores[element] = max(ochiai[element], min(scores[element], behind))
    return scores


def _no_experiments() -> Problem:
    cause = "there are no experiments with these sources, so this is Ochiai's ranking"
    return Problem("", "", cause, "run `suspectra investigate`")
