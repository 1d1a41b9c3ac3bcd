"""What came of mutants: which failing tests each repairs, and which passing tests it breaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from suspectra.base.arrays import Floats
from suspectra.base.english import many
from suspectra.base.errors import Problem
from suspectra.report import Explainer, RankedReport, Suspect
from suspectra.runs.experiment import Experiment, ExperimentOutcome
from suspectra.spectrum import Spectrum
from suspectra.techniques.experiments.findings import where_it_is_noticed, where_it_works
from suspectra.techniques.formulas import in_words

_ENDLESS = frozenset({ExperimentOutcome.STEPS, ExperimentOutcome.TIMEOUT})


_INSERTED = "`` → "  # how the detail of a mutant begins that replaces nothing


@dataclass(frozen=True)
class MutantResult:
    """A mutant, and how tests end with it."""

    experiment: Experiment  # one of those that were made with it, for its place and its text
    repaired: int  # failing tests that pass
    changed: int  # failing tests that fail with another exception or another message
    broken: int  # passing tests that do not pass
    tried: int  # passing tests that were run
    endless: bool  # some test was caught in a loop, or took too long
    failing: int  # failing tests that were run

    def in_words(self, failing: int, passing: int) -> str:
        """What it does to tests, as a sentence that begins with the change.

        Says so where not all of these were run.
        """
        change = self.experiment.detail
        if change.startswith(_INSERTED):
            change = f"Inserting {change.removeprefix(_INSERTED)} here"
        return f"{change} {self.effect(failing, passing)}."

    def effect(self, failing: int, passing: int) -> str:
        """What it does to tests, without the change and without a full stop."""
        repairs = f"repairs {many(self.repaired, 'test') if self.repaired else 'none'}"
        of_failing, of_passing = (self.failing, failing, "failing"), (self.tried, passing, "passing")
        if passing and not self.tried:
            passing_tests = "the passing test was" if passing == 1 else "passing tests were"
            return "; ".join(filter(None, (repairs, _run(of_failing), f"{passing_tests} not run")))
        breaks = f"breaks {many(self.broken, 'test') if self.broken else 'none'}"
        return "; ".join(filter(None, (f"{repairs} and {breaks}", _run(of_failing, of_passing))))


@dataclass(frozen=True, eq=False, kw_only=True)
class MutantReport(RankedReport):
    """A ranking by mutants, with those that each element has."""

    results: Mapping[int, tuple[MutantResult, ...]]  # by element

    @classmethod
    def from_results(
        cls,
        technique: Explainer,
        spectrum: Spectrum,
        scores: Floats,
        results: Mapping[int, tuple[MutantResult, ...]],
    ) -> MutantReport:
        """Rank by scores that follow from results, with a note where there are none."""
        ranked = RankedReport.from_scores(technique, spectrum, scores)
        notes = () if results else (where_it_works(no_mutants(technique.name), spectrum, technique.name),)
        return cls(technique, spectrum, ranked.level, ranked.level_score, notes, results=results)

    def sentences(self, suspect: Suspect) -> list[str]:
        """What mutants of a suspect do to tests, and how many tests execute it."""
        results, counts = self.results.get(suspect.element, ()), self.spectrum.counts
        return [*self.in_words(suspect.element), *unrepaired(results), in_words(suspect.ef, suspect.ep, counts)]

    def in_words(self, element: int) -> list[str]:
        """Say which mutants of a statement repair tests.

        A sentence for each of the best, and one for the others; none where no mutant repairs a test.
        """
        counts = self.spectrum.counts
        return mutants_in_words(self.results.get(element, ()), int(counts.ef[element]), int(counts.ep[element]))


def mutant_results(made: Iterable[Experiment], spectrum: Spectrum) -> dict[int, tuple[MutantResult, ...]]:
    """Gather experiments by mutant.

    By candidate. Mutants that were tried with no failing test, or that could not be put into the program, are left out.
    """
    by_mutant: dict[tuple[object, ...], list[Experiment]] = {}
    for one in made:
        if one.kind == "mutant" and one.test in spectrum.test_index and not one.outcome.says_nothing:
            by_mutant.setdefault(one.key[1:], []).append(one)
    found: dict[int, list[MutantResult]] = {}
    for several in by_mutant.values():
        element = spectrum.elements.at(several[0].file, several[0].line)
        failing = [one for one in several if spectrum.failed[spectrum.test_index[one.test]]]
        if element is not None and spectrum.candidates[element] and failing:
            found.setdefault(element, []).append(_result(failing, several))
    return {element: tuple(results) for element, results in found.items()}


def _result(failing: Sequence[Experiment], several: Sequence[Experiment]) -> MutantResult:
    passing = len(several) - len(failing)
    repaired = sum(one.outcome.repairs for one in failing)
    kept = sum(one.outcome.repairs for one in several) - repaired
    changed = sum(one.changed for one in failing)
    endless = any(one.outcome in _ENDLESS for one in several)
    return MutantResult(failing[0], repaired, changed, passing - kept, passing, endless, len(failing))


def _run(*counts: tuple[int, int, str]) -> str:
    """How many tests were run, of how many of a kind; empty where all were."""
    partly = [(run, f"{run} of {total} {kind}") for run, total, kind in counts if run < total]
    if not partly:
        return ""
    was = "was" if len(partly) == 1 and partly[0][0] == 1 else "were"
    return f"{' and '.join(text for _, text in partly)} tests {was} run"


def mutants_in_words(results: Iterable[MutantResult], failing: int, passing: int) -> list[str]:
    """Say which mutants of a statement repair tests."""
    several = list(results)
    repairing = sorted(
        (one for one in several if one.repaired), key=lambda one: (one.broken - one.repaired, one.broken)
    )
    sentences = [one.in_words(failing, passing) for one in repairing[:_MAX_LISTED]]
    if len(repairing) > _MAX_LISTED:
        others = len(repairing) - _MAX_LISTED
        sentences.append(f"{many(others, 'other mutant')} here {'repairs' if others == 1 else 'repair'} tests, too.")
    if repairing and all(one.experiment.guard for one in repairing):
        sentences = where_it_is_noticed(sentences, "what leads to an exception is changed")
    return sentences


def unrepaired(results: Sequence[MutantResult]) -> list[str]:
    """Say that no mutant of a statement repairs a test.

    Empty where one does, or none was tried.
    """
    if not results or any(one.repaired for one in results):
        return []
    return [f"No mutant of this statement repairs a test ({len(results)} tried)."]


def no_mutants(technique: str) -> Problem:
    """Say that there are no experiments with mutants."""
    cause = "no mutants of these sources were tried, so this is Ochiai's ranking"
    return Problem("", "", cause, f"run `suspectra investigate --technique {technique}`")


_MAX_LISTED = 3  # mutants of a statement that are listed
