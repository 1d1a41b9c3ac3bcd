"""Investigation: all evidence, and what experiments of every kind show.

The ranking by all evidence says how suspicious a statement is before any experiment: the n-th has odds in proportion to
1 / n^1.4. A repair multiplies them by how many times as likely it is at the fault as elsewhere. That is estimated from
the experiments themselves: if few of the statements that were altered in some way can repair a test, it says much about
these few; if most can, it says nothing.

Statements without a repair keep their odds. But one with a repair comes before all that were tried in vain, unless it
breaks as many tests as it repairs, or only hides the symptom; and what was tried in vain comes after what has the same
rank and was not tried. A value that differs by as much in all failing tests, so that all pass, is hardly chance: it
comes before what needs another value in each. Where experiments say no more for one statement than for another, what is
known without them decides: of changes that all tests accept, that in the first function; of other values that repair
as much, where fewest passing tests come by, as the others may only be made of it.

The exponent is the one number that is fitted, to the ranks of faults in open corpora (`benchmarks/rank_prior.py`: 1.4
over 219 subjects, 1.05 to 2.1 in single families). Factors are never below 1. To leave out a check that raises lets any
test pass that failed there, so it says nothing. Of several kinds at a statement the strongest counts in full and the
others half, since a switched condition and its mutant are nearly the same finding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Floats, Ints
from suspectra.base.english import every, many
from suspectra.base.errors import Problem
from suspectra.program import Program
from suspectra.report import Explanation, RankedReport
from suspectra.runs.experiment import SHIFT, UNDO, Experiment
from suspectra.spectrum import Spectrum
from suspectra.techniques.all_evidence import AllEvidence, EvidenceReport
from suspectra.techniques.catalogue import INVESTIGATION as INFO
from suspectra.techniques.experiments.findings import findings_in_words, where_it_works
from suspectra.techniques.experiments.mutant_results import mutant_results, mutants_in_words
from suspectra.techniques.experiments.repairs import MUTANT, Repair, repairs, tried_in_vain
from suspectra.techniques.formulas import in_words
from suspectra.techniques.staged_technique import Staged
from suspectra.techniques.technique import headline, own_report, score_difference

PRIOR_EXPONENT = 1.4
"""How fast the odds fall with the rank by all evidence: what fits the ranks of 219 known faults best, see
`benchmarks/rank_prior.py`."""

_EVIDENCE = AllEvidence()
_MAX_EXPLAINED = 2  # alterations of a statement that an explanation tells
_TELLING = 2.0  # the factor of repairs before which no check that only hides the symptom ranks
_STEP = 1e-9  # of a score: the difference to one that ranks right behind it
_KINDS = {"switch": "the other way", "value": "with another value", "mutant": "mutated", UNDO: "without a change"}


@dataclass(frozen=True, eq=False, kw_only=True)
class InvestigationReport(RankedReport):
    """A ranking by all evidence and experiments."""

    base: EvidenceReport  # the ranking without experiments
    repairs: Mapping[int, tuple[Repair, ...]]  # by element, what repairs failing tests there
    in_vain: Mapping[int, int]  # by element without a repair, how many alterations were tried there

    @cached_property
    def findings(self) -> dict[int, tuple[Experiment, ...]]:
        """By element, the experiments there after which a failing test passes."""
        return {
            element: tuple(one for repair in found for one in repair.found) for element, found in self.repairs.items()
        }

    @cached_property
    def corrected(self) -> tuple[int, ...]:
        """The statements at which all tests accept a change of the program, in the order of the ranking.

        Not those that no passing test executes, as none can speak against a change there; nor changes that are undone.
        """
        found = _accepted(self.repairs, self.spectrum)
        return tuple(sorted(found, key=lambda element: int(self.position[element])))

    def in_words(self, element: int) -> list[str]:
        """Say what repairs failing tests at a statement.

        Sentences, about the repair that says most first.
        """
        return repairs_in_words(self.repairs.get(element, ()), element, self.spectrum)

    @property
    def tie_of_level(self) -> Ints:
        """Levels without a repair are a tie where those of the ranking without experiments are."""
        first = np.zeros(len(self.level_score), np.int64)
        elements = np.flatnonzero(self.level >= 0)[::-1]
        first[self.level[elements]] = elements  # of several, the one assigned last holds
        tie = self.base.ties_of(first)
        repaired = np.isin(first, list(self.repairs))
        differs = (tie[1:] != tie[:-1]) | repaired[1:] | repaired[:-1]
        return np.concatenate([np.zeros(min(1, len(first)), np.int64), np.cumsum(differs)])


@dataclass(frozen=True)
class Investigation(Staged):
    """Rank by all evidence and by experiments of every kind: switched decisions, other values, mutants.

    To leave out a check that raises says nothing about the fault, so such a statement ranks where it is without
    experiments, and behind the others that repair.
    """

    info = INFO

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> InvestigationReport:
        """Rank by what experiments show; without any this is the ranking by all evidence."""
        before = previous.base if isinstance(previous, InvestigationReport) else previous
        base = _EVIDENCE.localize(spectrum, program, before)
        made = program.experiments if program is not None else ()
        found = repairs(made, spectrum)
        spectrum = base.spectrum  # with the definitions that tests read
        in_vain = tried_in_vain(made, spectrum, found)
        known = _in_order(scores(base, found), found, in_vain)
        for elements in _other_values(found):
            known = _given_out(known, shifts_in_turn(base, elements))
        accepted = _accepted(found, spectrum)
        known = _shifted_first(known, base, found, accepted)
        known = _given_out(known, _by_function(accepted, known, base))
        known = _undone_first(known, found)
        ranked = RankedReport.from_scores(self, spectrum, known)
        notes = (*base.notes, *([] if made else [where_it_works(_no_experiments(), spectrum, self.name)]))
        report = InvestigationReport(
            self, spectrum, ranked.level, ranked.level_score, notes, base=base, repairs=found, in_vain=in_vain
        )
        return report.with_first_function()

    def difference(self, report: RankedReport, better: int, worse: int) -> str:
        """The repair that makes the difference, or else what makes it without experiments."""
        ranked = own_report(report, InvestigationReport)
        if better in ranked.repairs:
            return f"{score_difference(report, better, worse)} {self.reason(report, better)}"
        return _EVIDENCE.difference(ranked.base, better, worse)

    def reason(self, report: RankedReport, element: int) -> str:
        """The first repair, or else what all evidence says."""
        ranked = own_report(report, InvestigationReport)
        if element in ranked.repairs:
            return ranked.in_words(element)[0]
        return _EVIDENCE.reason(ranked.base, element)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """What repairs, how rare that is, and the rank without it."""
        ranked = own_report(report, InvestigationReport)
        suspect, spectrum = report.suspect(position), report.spectrum
        element = suspect.element
        before = ranked.base.suspect_of(element)
        rank = f"{before.rank_average:.4g}^{PRIOR_EXPONENT}"
        if element not in ranked.repairs:
            known = _EVIDENCE.explain(ranked.base, int(ranked.base.position[element]))
            tried = ranked.in_vain.get(element, 0)
            sentences = [*_vainly(tried), *known.sentences]
            return Explanation(headline(report, suspect), tuple(sentences), INFO.formula, f"1 / {rank}")
        several = sorted(ranked.repairs[element], key=_weight, reverse=True)
        same_rank = before.rank_worst == suspect.rank_worst
        sentences = [
            *_first_of(ranked.in_words(element)),
            *(_rarity(one) for one in several[:1] if one.kind != SHIFT and one.tried > 1),
            *([] if same_rank else [f"Without experiments it has rank {_rank(before.rank_best, before.rank_worst)}."]),
            in_words(suspect.ef, suspect.ep, spectrum.counts),
        ]
        return Explanation(headline(report, suspect), tuple(sentences), INFO.formula, f"{_product(several)} / {rank}")


def scores(base: EvidenceReport, found: Mapping[int, tuple[Repair, ...]]) -> Floats:
    """The score of each element.

    Of shape (elements,). 1 / rank^`PRIOR_EXPONENT` where nothing repairs; 0 for elements that are no candidates.
    """
    prior = _prior(base)
    known = prior.copy()
    for element, several in found.items():
        known[element] *= _factor(several)
    hiding = [element for element, several in found.items() if all(repair.hides for repair in several)]
    if hiding:
        others = [element for element, several in found.items() if _factor(several) >= _TELLING]
        _raise_above(float(known[hiding].max()), others, known)
    return known


def _undone_first(known: Floats, found: Mapping[int, tuple[Repair, ...]]) -> Floats:
    """Put changes without which failing tests pass before all else: that was tried, and no other text is needed."""
    undone = [element for element, several in found.items() if any(repair.kind == UNDO for repair in several)]
    if undone:
        known = known.copy()
        _raise_above(float(np.delete(known, undone).max(initial=0)), undone, known)
    return known


def _accepted(found: Mapping[int, tuple[Repair, ...]], spectrum: Spectrum) -> list[int]:
    """The statements at which all tests accept a change of the program, passing ones among them."""
    return [
        element
        for element, several in found.items()
        if spectrum.counts.ep[element]
        and any(repair.accepted and not repair.hides for repair in several)
        and not any(repair.kind == UNDO for repair in several)
    ]


def _by_function(elements: Collection[int], known: Floats, base: EvidenceReport) -> list[int]:
    """Sort by the order of functions without experiments, which say no more for one than for another; then by score."""
    places = np.array(list(elements), np.int64)
    if not len(places):
        return []
    order = np.lexsort((places, -known[places], base.function_ranks(places)))
    return [int(place) for place in places[order]]


def _other_values(found: Mapping[int, tuple[Repair, ...]]) -> Iterator[list[int]]:
    """The statements at which another value says most, those together at which it repairs as much."""
    by_share: dict[float, list[int]] = defaultdict(list)
    for element, several in found.items():
        best = max(several, key=_weight)
        if best.kind == "value":
            by_share[round(best.share, 9)].append(element)
    yield from by_share.values()


def _given_out(known: Floats, elements: Sequence[int]) -> Floats:
    """Give the scores that some elements have to the same elements in another order, the highest to the first."""
    if len(elements) < 2:
        return known
    known = known.copy()
    known[elements] = np.sort(known[elements])[::-1] * (1 - _STEP * np.arange(len(elements)))
    return known


def _in_order(known: Floats, found: Mapping[int, tuple[Repair, ...]], in_vain: Mapping[int, int]) -> Floats:
    """Put what has a repair before what was tried in vain, and that after others of its rank."""
    if not in_vain:
        return known
    vain = np.array(list(in_vain), np.int64)
    known = known.copy()
    known[vain] *= 1 - _STEP
    repaired = [element for element, several in found.items() if any(_counts(repair) for repair in several)]
    _raise_above(float(known[vain].max()), repaired, known)
    return known


def _shifted_first(
    known: Floats, base: EvidenceReport, found: Mapping[int, tuple[Repair, ...]], accepted: list[int]
) -> Floats:
    """Put what one difference repairs in all failing tests before what needs another value or decision in each.

    Behind changes of the program that all tests accept, though: with those passing tests were run.
    """
    shifted = [element for element, several in found.items() if any(_is_shift_of_all(repair) for repair in several)]
    if not shifted:
        return known
    corrected = [element for element, several in found.items() if any(repair.accepted for repair in several)]
    least = float(np.delete(known, [*shifted, *corrected]).max(initial=0))
    known = known.copy()
    for number, element in enumerate(reversed(shifts_in_turn(base, shifted))):
        known[element] = least * (1 + _STEP * (1 + number))
    if accepted:
        _raise_above(float(known[shifted].max()), accepted, known)
    return known


def shifts_in_turn(base: EvidenceReport, elements: Collection[int]) -> list[int]:
    """Sort statements by how likely a wrong value begins there, if another value repairs as much at several.

    What few passing tests execute comes first, then the function that comes first without experiments, and of that the
    first statement, as the others are made of it.
    """
    places = np.array(list(elements), np.int64)
    order = np.lexsort((places, base.function_ranks(places), base.spectrum.counts.ep[places]))
    return [int(place) for place in places[order]]


def _is_shift_of_all(repair: Repair) -> bool:
    return repair.kind == SHIFT and repair.share > 1 - _STEP


def _counts(repair: Repair) -> bool:
    """Whether a repair makes more tests pass than it breaks, by more than hiding the symptom."""
    return repair.share > 0 and not repair.hides


def _vainly(tried: int) -> list[str]:
    """Say that nothing that was altered at a statement makes a test pass."""
    if not tried:
        return []
    return [f"{many(tried, 'alteration')} here {'was' if tried == 1 else 'were'} tried, and no test passes with any."]


def _factor(several: Iterable[Repair]) -> float:
    """By what the odds of a statement are multiplied; after the best kind of experiments, which others depend on, these
    count half.
    """
    best, *others = sorted((repair.factor for repair in several), reverse=True)
    return float(best * np.prod(others) ** 0.5)


def _raise_above(least: float, elements: list[int], known: Floats) -> None:
    """Put elements before a score, in the order in which they are."""
    low = sorted({float(known[element]) for element in elements if known[element] <= least})
    above = {score: least * (1 + _STEP * (1 + number)) for number, score in enumerate(low)}
    for element in elements:
        known[element] = above.get(float(known[element]), known[element])


def _prior(base: EvidenceReport) -> Floats:
    """The odds of each element before any experiment, 0 for those that are no candidates."""
    level = base.level
    ends = np.cumsum(np.bincount(level[level >= 0], minlength=len(base.level_score)))
    starts = np.concatenate([[0], ends[:-1]])
    mean = (starts + 1 + ends) / 2
    prior = np.zeros(len(level))
    prior[level >= 0] = mean[level[level >= 0]] ** -PRIOR_EXPONENT
    return prior


def _weight(repair: Repair) -> tuple[bool, float]:
    return not repair.hides, repair.factor


def _product(several: Iterable[Repair]) -> str:
    """What `_factor` multiplies, the repair that says most first."""
    known = [repair for repair in several if not repair.hides]
    return " * ".join(f"{one.likelihood:.4g}^{one.weight / (2 if n else 1):.4g}" for n, one in enumerate(known)) or "1"


def _first_of(alterations: list[str]) -> list[str]:
    """Those that say most, and that there are others."""
    if len(alterations) <= _MAX_EXPLAINED + 1:
        return alterations
    return [*alterations[:_MAX_EXPLAINED], "Other alterations here repair a failing test, too."]


def _rarity(repair: Repair) -> str:
    how = _KINDS.get(repair.kind, repair.kind)
    best = "only this one repairs so much" if repair.as_good == 1 else f"{repair.as_good} repair as much"
    return f"Of {repair.tried} statements that were tried {how}, {best}."


def _rank(best: int, worst: int) -> str:
    return str(best) if best == worst else f"{best} to {worst}"


def _no_experiments() -> Problem:
    cause = "there are no experiments with these sources, so this is the ranking by all evidence"
    return Problem("", "", cause, "run `suspectra investigate`")


def repairs_in_words(found: Iterable[Repair], element: int, spectrum: Spectrum) -> list[str]:
    """Say what repairs failing tests at a statement.

    Sentences, about the repair that says most first.
    """
    sentences: list[str] = []
    for repair in sorted(found, key=_weight, reverse=True):
        if repair.kind == SHIFT:
            tests = f"{every(repair.repaired).capitalize()} failing tests pass"
            sentences += [f"{tests} {condition}." for condition in dict.fromkeys(one.condition for one in repair.found)]
        elif repair.kind == MUTANT:
            results = mutant_results(repair.made, spectrum).get(element, ())
            sentences += mutants_in_words(results, int(spectrum.counts.ef[element]), int(spectrum.counts.ep[element]))
        else:
            made = [one for one in repair.made if one.test in spectrum.failing_index]
            sentences += findings_in_words(made, spectrum.counts.failed)
    return sentences
