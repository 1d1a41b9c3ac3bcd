"""Value predicates: a statement is suspicious if values compare there in failing tests as in no passing test.

Of hundreds of predicates at a statement some are true in one test alone, whichever test that is. So the share of
passing tests in which a predicate of f' failing tests counts as true is at least the share of groups of f' passing
tests that have such a predicate. Without that, on 40 small programs the mean rank was 4.92 instead of 4.42 (Ochiai:
4.34).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import combinations, islice
from math import comb
from operator import or_
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Floats
from suspectra.base.english import every
from suspectra.base.errors import Problem, UsageError
from suspectra.program import Program
from suspectra.report import Explanation, RankedReport
from suspectra.runs.observation import Observation, PredicateSite
from suspectra.spectrum import Spectrum
from suspectra.techniques.catalogue import VALUE_PREDICATES as INFO
from suspectra.techniques.experiments.findings import where_it_works
from suspectra.techniques.formulas import FORMULAS, Four, in_words, make_formula, require_failure
from suspectra.techniques.technique import Technique, headline, own_report

UNSEEN = 0.5
"""Added to the passing tests in which a predicate was true, and to all of them: that few have none says little."""

_MAX_LISTED = 3  # predicates of a statement that are listed
_NOTABLE = 0.05  # a chance that is mentioned
_BY_CHANCE = 0.25  # a chance with which a predicate says little


@dataclass(frozen=True)
class Predicate:
    """A predicate, and the observed tests in which it was true at least once."""

    site: PredicateSite  # what was asked
    outcomes: frozenset[str]  # it is true where the site has one of these
    # tests in which it was true
    failing: int
    passing: int
    # observed tests that execute the statement
    of_failing: int
    of_passing: int
    # the share of groups of as many passing tests as `failing` that have such a predicate: true in all of the group,
    # and in no more than `passing` other passing tests
    chance: float

    @property
    def separates(self) -> bool:
        """Whether it is true in a larger share of failing than of passing tests."""
        return self.failing * self.of_passing > self.passing * self.of_failing or not self.of_passing

    @property
    def counted(self) -> float:
        """The passing tests in which it counts as true."""
        return max(float(self.passing), self.chance * self.of_passing)

    def __str__(self) -> str:
        text = self.site.in_words(self.outcomes)
        if self.of_failing == self.failing:
            failing = f"{every(self.failing)} failing tests" if self.failing > 1 else "the failing test"
        else:
            failing = f"{self.failing} of {self.of_failing} failing tests"
        passing = f"in {self.passing or 'no'} passing {'ones' if self.passing > 1 else 'one'} of {self.of_passing}"
        if not self.of_passing:
            passing = "and no passing one gets here"
        sentence = f"In {failing} that {'was' if self.of_failing == 1 else 'were'} observed `{text}` here, {passing}."
        if self.chance < _NOTABLE:
            return sentence
        group = "passing tests have" if self.failing == 1 else f"groups of {self.failing} passing tests have"
        return f"{sentence} {self.chance:.0%} of the {group} such a predicate of their own."


@dataclass(frozen=True, eq=False, kw_only=True)
class ValuePredicatesReport(RankedReport):
    """A ranking by predicates, with the best ones of each statement."""

    # by element, those that more failing than passing tests have, the best one first
    predicates: Mapping[int, tuple[Predicate, ...]]

    def in_words(self, element: int) -> list[str]:
        """What the best predicates of a statement say.

        A sentence each; empty where the tests that execute it say more.
        """
        return [str(one) for one in self.predicates.get(element, ())[:_MAX_LISTED]]


@dataclass(frozen=True)
class ValuePredicates(Technique):
    """Scores predicates over values by a formula, as statements are.

    Predicates are those of Liblit et al. 2005 (returns and scalar pairs), with the types, lengths and definitions of
    Smytzek & Zeller 2022. A predicate covers a test if it was true there at least once. Since only the passing tests
    that are most like the failing ones are observed, a predicate is assumed to be true in as many of the others that
    execute its statement, in relation. A statement has the highest score of its predicates and its own.

    Of so many predicates some separate any tests from all others. So the share of the passing tests in which a
    predicate counts as true is at least the share of groups of as many passing tests that have a predicate like it.
    Where each test has other values, no predicate says anything.
    """

    formula: str = "ochiai"  # the name of the formula

    info = INFO

    def __post_init__(self) -> None:
        if self.formula not in FORMULAS:
            cure = "`suspectra techniques` lists the formulas"
            raise UsageError(Problem("", INFO.name, f"there is no formula {self.formula!r}", cure))

    def localize(
        self, spectrum: Spectrum, program: Program | None = None, previous: RankedReport | None = None
    ) -> ValuePredicatesReport:
        """Rank by what was observed; without observations this is the formula's ranking."""
        require_failure(spectrum)
        counts = spectrum.counts
        scores = np.array(make_formula(self.formula).score(counts), float)
        found: dict[int, tuple[Predicate, ...]] = {}
        observations = _for_spectrum(program.observations if program is not None else (), spectrum)
        for element, predicates in _predicates(observations, spectrum).items():
            values = self._scores(predicates, int(counts.ef[element]), int(counts.ep[element]), spectrum)
            order = np.argsort(-values, kind="stable").tolist()
            scores[element] = max(scores[element], values[order[0]])
            better = (predicates[number] for number in order if predicates[number].separates)
            if best := tuple(islice(better, _MAX_LISTED)):
                found[element] = best
        ranked = RankedReport.from_scores(self, spectrum, scores)
        notes = () if observations else (where_it_works(_no_observations(self.formula), spectrum, self.name),)
        return ValuePredicatesReport(self, spectrum, ranked.level, ranked.level_score, notes, predicates=found)

    def _scores(self, predicates: Sequence[Predicate], ef: int, ep: int, spectrum: Spectrum) -> Floats:
        """The scores of the predicates of a statement that so many failing and passing tests execute."""
        counts, spec = spectrum.counts, FORMULAS[self.formula]
        true = np.array([(one.failing, one.counted) for one in predicates], float)
        failing = true[:, 0] / max(predicates[0].of_failing, 1) * ef
        passing = (true[:, 1] + UNSEEN) / (predicates[0].of_passing + UNSEEN) * ep
        four = Four(failing, passing, counts.failed - failing, counts.passed - passing, counts.failed, counts.passed)
        return spec.score(four, **spec.parameters)

    def explain(self, report: RankedReport, position: int) -> Explanation:
        """Which predicates are true in which tests."""
        suspect, counts = report.suspect(position), report.spectrum.counts
        own = own_report(report, ValuePredicatesReport)
        sentences = [*own.in_words(suspect.element), in_words(suspect.ef, suspect.ep, counts)]
        put_in = ""
        if best := own.predicates.get(suspect.element):
            one = best[0]
            put_in = (
                f"ef = {suspect.ef} * {one.failing} / {one.of_failing},"
                f" ep = {suspect.ep} * ({one.counted:.4g} + 1/2) / ({one.of_passing} + 1/2)"
            )
        return Explanation(headline(report, suspect), tuple(sentences), INFO.formula, put_in)


def separating_in_words(observations: Iterable[Observation], spectrum: Spectrum) -> dict[int, tuple[str, ...]]:
    """Say where values compare in all failing tests as in no passing one.

    By element, a sentence for each of a few predicates, those first that are the least by chance. Predicates are left
    out where no passing test was observed, or where a quarter of all groups of as many passing tests have one.
    """
    found: dict[int, tuple[str, ...]] = {}
    for element, predicates in _predicates(_for_spectrum(observations, spectrum), spectrum).items():
        certain = [
            one
            for one in predicates
            if one.failing == one.of_failing and not one.passing and one.of_passing and one.chance < _BY_CHANCE
        ]
        if certain:
            certain.sort(key=lambda one: one.chance)  # stable
            found[element] = tuple(map(str, certain[:_MAX_LISTED]))
    return found


def _for_spectrum(observations: Iterable[Observation], spectrum: Spectrum) -> list[Observation]:
    """The observations of tests that still end so."""
    return [
        one
        for one in observations
        if one.test in spectrum.test_index and one.failed == (one.test in spectrum.failing_index)
    ]


def _predicates(observations: Sequence[Observation], spectrum: Spectrum) -> dict[int, list[Predicate]]:
    """The predicates that are true in a failing test, by candidate."""
    executing = np.zeros((2, len(spectrum.elements)), int)
    true: dict[PredicateSite, dict[str, list[int]]] = defaultdict(dict)  # tests as bits: passing ones, failing ones
    for number, one in enumerate(observations):
        executing[int(one.failed), spectrum.rows[spectrum.test_index[one.test]]] += 1
        for site, counts in one.sites.items():
            for outcome in counts:
                true[site].setdefault(outcome, [0, 0])[int(one.failed)] |= 1 << number
    by_element: dict[int, list[_Covered]] = defaultdict(list)
    places = {(site.file, site.line) for site in true}
    at = {place: spectrum.elements.at(*place) for place in places}
    for site, tests in true.items():
        element = at[site.file, site.line]
        if element is not None and spectrum.candidates[element]:
            for outcomes in _sets(tests):
                passing, failing = (_union(tests[outcome][side] for outcome in outcomes) for side in (0, 1))
                by_element[element].append(_Covered(site, outcomes, failing, passing))
    found = {}
    for element, covered in by_element.items():
        passed, failed = executing[:, element].tolist()
        found[element] = list(_judged(covered, failed, passed))
    return {element: predicates for element, predicates in found.items() if predicates}


class _Covered(NamedTuple):
    """A predicate, and the observed tests in which it was true, as bits."""

    site: PredicateSite
    outcomes: frozenset[str]
    failing: int
    passing: int


def _judged(covered: Sequence[_Covered], failed: int, passed: int) -> Iterator[Predicate]:
    """The predicates of a statement that so many observed tests execute."""
    sizes = Counter(size.bit_count() for size in {one.passing for one in covered})

    @cache
    def chance(failing: int, passing: int) -> float:
        """That as many passing tests, taken at random, have a predicate that no more than so many others have."""
        if failing > passed:
            return 0.0
        groups = sum(sizes[size] * comb(size, failing) for size in range(failing, failing + passing + 1))
        return min(groups / comb(passed, failing), 1.0)

    for one in covered:
        failing, passing = one.failing.bit_count(), one.passing.bit_count()
        if failing:
            yield Predicate(one.site, one.outcomes, failing, passing, failed, passed, chance(failing, passing))


def _union(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


def _sets(outcomes: Iterable[str]) -> list[frozenset[str]]:
    """Single outcomes, and two of the three that numbers have."""
    relations = [outcome for outcome in outcomes if outcome in ("<", "=", ">")]
    return [frozenset({outcome}) for outcome in outcomes] + [frozenset(pair) for pair in combinations(relations, 2)]


def _no_observations(formula: str) -> Problem:
    title = FORMULAS[formula].info.title
    cause = f"no values were observed with these sources, so this is {title}'s ranking"
    return Problem("", "", cause, "run `suspectra investigate --technique value-predicates`")
