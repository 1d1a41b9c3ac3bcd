"""Findings: the experiments at each statement after which a failing test passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from suspectra.base.arrays import Floats
from suspectra.base.english import every, many
from suspectra.base.errors import Problem
from suspectra.program import Program
from suspectra.program.languages import is_c
from suspectra.report import RankedReport
from suspectra.runs.experiment import COMBINATION, COMPILED, EVERY, Experiment
from suspectra.spectrum import Spectrum
from suspectra.techniques.formulas import require_failure
from suspectra.techniques.technique import Technique

_MAX_LISTED = 3  # alterations of a statement that are listed
_SYMPTOM = {
    False: ("an exception is raised behind this decision",),
    True: ("the program ends behind this decision", "to go on"),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class FindingsReport(RankedReport):
    """A ranking by experiments, with those that each element has."""

    made: Mapping[int, tuple[Experiment, ...]]  # by element, the experiments there with failing tests

    @cached_property
    def findings(self) -> dict[int, tuple[Experiment, ...]]:
        """By element, the experiments there after which a failing test passes."""
        return repairing(self.made)

    def in_words(self, element: int) -> list[str]:
        """Say which failing tests pass after what at a statement.

        A sentence for each thing that was altered, that of most tests first.
        """
        return findings_in_words(self.made.get(element, ()), self.spectrum.counts.failed)


def with_failing_tests(made: Iterable[Experiment], kind: str, spectrum: Spectrum) -> dict[int, tuple[Experiment, ...]]:
    """Find the experiments that were made with failing tests."""
    found: dict[int, list[Experiment]] = {}
    for one in made:
        if one.kind == kind and one.test in spectrum.failing_index:
            element = spectrum.elements.at(one.file, one.line)
            if element is not None and spectrum.candidates[element]:
                found.setdefault(element, []).append(one)
    return {element: tuple(several) for element, several in found.items()}


def repairing(made: Mapping[int, tuple[Experiment, ...]]) -> dict[int, tuple[Experiment, ...]]:
    """Choose the experiments after which the test passes."""
    found = {element: tuple(one for one in several if one.outcome.repairs) for element, several in made.items()}
    return {element: several for element, several in found.items() if several}


def rank_findings(
    technique: Technique,
    kind: str,
    spectrum: Spectrum,
    program: Program | None,
    score: Callable[[Mapping[int, tuple[Experiment, ...]]], Floats],
) -> FindingsReport:
    """Rank by the experiments of one kind.

    With a note if there are no such experiments.

    Raises NothingToRank when no test fails.
    """
    require_failure(spectrum)
    made = program.experiments if program is not None else ()
    of_kind = with_failing_tests(made, kind, spectrum)
    ranked = RankedReport.from_scores(technique, spectrum, score(repairing(of_kind)))
    missing = () if any(one.kind == kind for one in made) else (no_experiments(),)
    notes = tuple(where_it_works(one, spectrum, technique.name) for one in missing)
    return FindingsReport(technique, spectrum, ranked.level, ranked.level_score, notes, made=of_kind)


def tests_repaired(found: Iterable[Experiment]) -> int:
    """Count the tests that pass after some experiments."""
    return len({one.test for one in found})


def findings_in_words(made: Iterable[Experiment], failed: int) -> list[str]:
    """Say which failing tests pass after what.

    A sentence for each thing after which a test passes, that of most tests first. It says how many failing tests were
    not tried, unless it is about a value or about a single time: each test has its own.
    """
    tests: dict[str, set[str]] = {}
    tried: dict[str, set[str]] = {}
    own: set[str] = set()  # alterations that other tests need not have
    guard, file = False, ""
    for one in sorted(made, key=lambda one: (one.instance != EVERY, one.instance)):
        tried.setdefault(one.condition, set()).add(one.test)
        if one.outcome.repairs:
            tests.setdefault(one.condition, set()).add(one.test)
            guard, file = guard or one.guard, one.file
            if one.kind == "value" or one.instance != EVERY:
                own.add(one.condition)
    by_frequency = sorted(tests.items(), key=lambda item: -len(item[1]))
    sentences = [
        _passing(len(names), len(tried[condition]), failed, condition, is_own=condition in own)
        for condition, names in by_frequency[:_MAX_LISTED]
    ]
    if len(by_frequency) > _MAX_LISTED:
        sentences.append(f"The same after {many(len(by_frequency) - _MAX_LISTED, 'other alteration')} here.")
    if guard:
        sentences = where_it_is_noticed(sentences, *_SYMPTOM[is_c(file)])
    return sentences


def _passing(count: int, tried: int, failed: int, condition: str, *, is_own: bool) -> str:
    """Which tests pass after one alteration that was tried with some of the failing ones."""
    passes = f"{'passes' if count == 1 else 'pass'} {condition}"
    if failed == 1:
        return f"The failing test {passes}."
    if tried < failed and is_own:
        return f"{many(count, 'failing test')} {passes}."
    left = failed - tried
    others = f"; {many(left, 'other')} {'was' if left == 1 else 'were'} not tried" if left > 0 else ""
    which = every(failed).capitalize() if count == failed else f"{count} of {failed}"
    return f"{which} failing tests {passes}{others}."


def where_it_is_noticed(sentences: Sequence[str], why: str, instead: str = "not to raise it") -> list[str]:
    """Say that a repair may hide the symptom alone: briefly in the first sentence, which often stands alone."""
    first = f"{sentences[0].removesuffix('.')} (where it is noticed)."
    last = f"This is where it is noticed: {why}, and {instead} may hide the symptom alone."
    return [first, *sentences[1:], last]


def where_it_works(missing: Problem, spectrum: Spectrum, technique: str) -> Problem:
    """Say what is missing, and what makes it for C and C++: there, some techniques do not work."""
    if not any(map(is_c, spectrum.elements.files)):
        return missing
    if technique in COMPILED:
        named = "" if technique == COMBINATION else f" --technique {technique}"
        return replace(missing, cure=f"run `suspectra investigate{named} --ctest BUILD`")
    instead = missing.cause.rpartition(", ")[2]
    cause = f"this technique alters and traces tests of Python alone, {instead}"
    cure = "choose Ochiai, Branch or SOBER, or ask `suspectra paths TEST --ctest BUILD` where a test goes another way"
    return Problem("", "", cause, cure)


def no_experiments() -> Problem:
    """Say that there are no experiments to rank by."""
    cause = "there are no experiments with these sources, so this is Ochiai's ranking"
    return Problem("", "", cause, "run `suspectra investigate`")
