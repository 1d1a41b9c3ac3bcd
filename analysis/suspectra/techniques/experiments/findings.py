"""Findings: the experiments at each statement after which a failing test passes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from suspectra.base.arrays import Floats
from suspectra.base.english import every, many, ordinal
from suspectra.base.errors import Problem
from suspectra.program import Program
from suspectra.program.languages import is_c
from suspectra.report import RankedReport
from suspectra.runs.experiment import COMBINATION, COMPILED, EVERY, Experiment
from suspectra.spectrum import Spectrum
from suspectra.techniques.formulas import require_failure
from suspectra.techniques.technique import Technique

_Key = TypeVar("_Key", int, str)

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


def repairing(made: Mapping[_Key, Sequence[Experiment]]) -> dict[_Key, tuple[Experiment, ...]]:
    """Choose the experiments after which the test passes."""
    found = {where: tuple(one for one in several if one.outcome.repairs) for where, several in made.items()}
    return {where: several for where, several in found.items() if several}


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
    alike: dict[str, list[Experiment]] = defaultdict(list)
    for one in sorted(made, key=lambda one: (one.instance != EVERY, one.instance)):
        alike[_at_any_time(one)].append(one)
    passing = repairing(alike)
    by_frequency = sorted(passing, key=lambda how: -tests_repaired(passing[how]))
    sentences = [_passing(passing[how], tests_repaired(alike[how]), failed) for how in by_frequency[:_MAX_LISTED]]
    if len(by_frequency) > _MAX_LISTED:
        sentences.append(f"The same after {many(len(by_frequency) - _MAX_LISTED, 'other alteration')} here.")
    guards = [one for found in passing.values() for one in found if one.guard]
    if guards:
        sentences = where_it_is_noticed(sentences, *_SYMPTOM[is_c(guards[0].file)])
    return sentences


def _at_any_time(one: Experiment) -> str:
    """What was altered, whichever time it was; a loop that ends early does so at another round each time."""
    return one.condition if one.place == "for" else replace(one, instance=EVERY).condition


def _passing(found: Sequence[Experiment], tried: int, failed: int) -> str:
    """Which tests pass after one alteration that was tried with some of the failing ones."""
    count = tests_repaired(found)
    passes = f"{'passes' if count == 1 else 'pass'} {_condition(found)}"
    if failed == 1:
        return f"The failing test {passes}."
    if tried < failed and any(one.kind == "value" or one.instance != EVERY for one in found):
        return f"{many(count, 'failing test')} {passes}."
    left = failed - tried
    others = f"; {many(left, 'other')} {'was' if left == 1 else 'were'} not tried" if left > 0 else ""
    which = f"{every(failed).capitalize() if count == failed else f'{count} of {failed}'} failing tests"
    if count == tried < failed:  # "of" would say that the others fail
        which = many(count, "failing test")
    return f"{which} {passes}{others}."


def _condition(found: Sequence[Experiment]) -> str:
    """What was different: each time or, where only that makes a test pass, once."""
    first = found[0]
    always = {one.test for one in found if one.instance == EVERY}
    once = {one.test for one in found} - always
    if len({one.condition for one in found}) == 1:
        return first.condition
    if not always:
        return f"{first.condition.removesuffix(f' the {ordinal(first.instance)} time')} once"
    verb = "is" if first.kind == "value" else "does"
    return first.condition + (f", {len(once)} of them if it {verb} so only once" if once else "")


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
