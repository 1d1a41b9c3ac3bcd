"""Repairs: what experiments of one kind show about a statement, and how much more suspicious that makes it.

How often a statement without a fault can be repaired is estimated for each kind from the same experiments. An
assumption counts as much as thirty statements, since an investigation tries few (in the median 6 decisions, 9 values,
16 statements with mutants), and one repair among these may be chance. A repair of a share of the failing tests counts
with the square of it, as the correction would repair all. Tests that were not tried are expected to follow the others
by the rule of succession, (repairs + 1) / (tried + 2): otherwise a decision switched for one test of fourteen counted
as much as a mutant that repairs all fourteen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from suspectra.runs.experiment import GOING_WITH, SHIFT, UNDO, Experiment
from suspectra.spectrum import Spectrum

MUTANT = "mutant"
"""The kind of experiments that are made with passing tests, too."""

PRIOR_TRIED = 30.0
PRIOR_REPAIRED = {"switch": 2.0, "value": 5.0, SHIFT: 1.0, MUTANT: 1.0, UNDO: 0.01}
"""Assumed before any experiment: of so many statements without a fault so many can be altered so that tests pass.

That is about what was found in programs with a known fault. An investigation often tries so few statements of a kind
that one repair among them may be chance.
"""

PRIOR_ACCEPTED = 0.5
"""The same for a change of the program that all tests accept, failing and passing ones."""

_CHANCE = 0.5  # that an alteration of the fault itself makes a test pass; unknown, so as likely as not
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Repair:
    """Alterations of one kind at a statement after which failing tests pass."""

    kind: str  # as experiments have it
    # the share of the failing tests which the best alteration repairs, less as much for each passing test that it
    # breaks, and all if it breaks every passing test that was tried; at least 0. Where it was not tried with all that
    # execute the statement, the others are expected to follow those by the rule of succession (Laplace, 1814)
    share: float
    as_good: int  # how many statements have a share that is not smaller, this one included
    tried: int  # how many statements were altered in this way
    # it is a change of the program that repairs all failing tests and breaks no passing one, and passing tests that
    # execute the statement were run with it, if there are any. Other alterations are made for one run, and may be
    # different ones for different tests
    accepted: bool = False
    # nothing but a check that raises was left out, which may hide the symptom alone: it says nothing about the fault
    hides: bool = False
    made: tuple[Experiment, ...] = ()  # all experiments of this kind at the statement
    found: tuple[Experiment, ...] = ()  # those after which a failing test passes

    @property
    def likelihood(self) -> float:
        """How many times as likely such a repair is at the fault as at another statement; at least 1."""
        assumed = PRIOR_ACCEPTED if self.accepted else PRIOR_REPAIRED[self.kind]
        elsewhere = (self.as_good - 1 + assumed) / (self.tried - 1 + PRIOR_TRIED)
        return max(_CHANCE / elsewhere, 1.0)

    @property
    def repaired(self) -> int:
        """How many failing tests pass: with the best change of the program, or with any alteration of another kind."""
        tests: dict[tuple[object, ...], set[str]] = defaultdict(set)
        for one in self.found:
            tests[one.key[1:] if self.kind == MUTANT else ()].add(one.test)
        return max(map(len, tests.values()), default=0)

    @property
    def weight(self) -> float:
        """How much of the evidence counts, from 0 to 1: less than the share of the tests.

        A correction of the fault would repair them all, so what leaves some of them failing is hardly one.
        """
        return self.share**2

    @property
    def factor(self) -> float:
        """By what the odds of the statement are multiplied; at least 1, and 1 if it only hides the symptom."""
        return 1.0 if self.hides else float(self.likelihood**self.weight)


@dataclass
class _Tried:
    """The experiments of one kind at one statement."""

    made: dict[tuple[object, ...], list[Experiment]] = field(default_factory=lambda: defaultdict(list))
    """By what was altered, with whichever test."""

    @property
    def experiments(self) -> list[Experiment]:
        """All of them."""
        return [one for several in self.made.values() for one in several]


def repairs(made: Iterable[Experiment], spectrum: Spectrum) -> dict[int, tuple[Repair, ...]]:
    """What experiments show about statements.

    By candidate, at most one for each kind.
    """
    tried: dict[str, dict[int, _Tried]] = defaultdict(lambda: defaultdict(_Tried))
    at: dict[tuple[str, int, int], list[int]] = {}
    investigated: set[str] = set()  # with whatever kind: all kinds are measured by the same failing tests
    for one in made:
        if one.place == GOING_WITH:
            continue
        place = one.file, one.line, one.end_line if one.kind == UNDO else one.line
        if place not in at:
            at[place] = [element for element in spectrum.elements.touched(*place) if spectrum.candidates[element]]
        for element in at[place] if one.test in spectrum.test_index else ():
            tried[one.kind][element].made[one.key[1:]].append(one)
            if one.test in spectrum.failing_index:
                investigated.add(one.test)
    found: dict[int, list[Repair]] = defaultdict(list)
    for kind, statements in tried.items():
        for element, repair in _for_kind(kind, statements, investigated, spectrum):
            found[element].append(repair)
    return {element: tuple(several) for element, several in found.items()}


def tried_in_vain(made: Iterable[Experiment], spectrum: Spectrum, found: Mapping[int, object]) -> dict[int, int]:
    """How many alterations were tried with failing tests at statements at which none repairs.

    By candidate, those at which something does not count.
    """
    tried: dict[int, set[tuple[object, ...]]] = defaultdict(set)
    at: dict[tuple[str, int], int | None] = {}
    for one in made:
        if one.test in spectrum.failing_index and not one.outcome.says_nothing:
            place = one.file, one.line
            if place not in at:
                at[place] = spectrum.elements.at(*place)
            element = at[place]
            if element is not None and spectrum.candidates[element] and element not in found:
                tried[element].add(one.key[1:])
    return {element: len(several) for element, several in tried.items()}


def _for_kind(
    kind: str, statements: Mapping[int, _Tried], investigated: set[str], spectrum: Spectrum
) -> Iterator[tuple[int, Repair]]:
    """The repairs of a kind, by statement."""
    failing = spectrum.failing_index.keys()
    share = {element: _share(kind, tried, element, investigated, spectrum) for element, tried in statements.items()}
    hides = {element: _hides(kind, statements[element], failing) for element, good in share.items() if good >= 0}
    number = sum(_with_failing(tried, failing) for tried in statements.values())
    for element, good in share.items():
        if good >= 0:
            as_good = sum(
                other >= good - _ROUNDING and (hides[element] or not hides[another])
                for another, other in share.items()
                if other >= 0
            )
            made = tuple(statements[element].experiments)
            found = tuple(one for one in made if _repairs(one, failing))
            accepted = kind == MUTANT and good > 1 - _ROUNDING and _passed(made, element, spectrum)
            yield element, Repair(kind, good, as_good, number, accepted, hides[element], made, found)


def _with_failing(tried: _Tried, failing: Set[str]) -> bool:
    return any(one.test in failing for one in tried.experiments)


def _share(kind: str, tried: _Tried, element: int, investigated: set[str], spectrum: Spectrum) -> float:
    """What the best alteration repairs, less what it breaks.

    A failing test that does not execute the statement counts as not repaired. One that executes it and was not tried
    with it is expected to pass as often as the others: a repair of one test says less than the same repair of many.
    """
    altered = {one.test for one in tried.experiments}
    executing = investigated & (altered | set(spectrum.failing_tests(element)))
    elsewhere = len(investigated) - len(executing)
    if kind == MUTANT:
        return max(_good(several, executing, elsewhere) for several in tried.made.values())
    return _good(tried.experiments, executing, elsewhere)


def _good(made: Sequence[Experiment], executing: Set[str], elsewhere: int) -> float:
    """`Repair.share` of some experiments; -1 if no failing test passes in any."""
    passes: dict[str, bool] = {}
    for one in made:
        if not one.outcome.says_nothing:
            passes[one.test] = passes.get(one.test, False) or one.outcome.repairs
    altered = [passed for test, passed in passes.items() if test in executing]
    kept = [passed for test, passed in passes.items() if test not in executing]
    repaired = altered.count(True)
    if not repaired:
        return -1.0
    untried = len(executing - {one.test for one in made})
    expected = repaired + untried * (repaired + 1) / (len(altered) + 2)
    failed, broken = len(altered) + untried + elsewhere, kept.count(False)
    return max(expected / failed - broken / max(min(failed, len(kept)), 1), 0.0)


def _passed(made: Iterable[Experiment], element: int, spectrum: Spectrum) -> bool:
    """Whether passing tests were run with what is at a statement, if any executes it."""
    return not spectrum.counts.ep[element] or any(one.test not in spectrum.failing_index for one in made)


def _hides(kind: str, tried: _Tried, failing: Set[str]) -> bool:
    """Whether all that repairs leaves out a check that raises.

    A mutant of a check that breaks no passing test does more than hide it, if passing tests need the check: if another
    mutant of it, after which the failing test passes as well, breaks some.
    """
    repairing = [several for several in tried.made.values() if any(_repairs(one, failing) for one in several)]
    if not all(one.guard for several in repairing for one in several):
        return False
    if kind != MUTANT:
        return True
    breaking = [any(_breaks(one, failing) for one in several) for several in repairing]
    return all(breaking) or not any(breaking)


def _repairs(one: Experiment, failing: Set[str]) -> bool:
    return one.test in failing and one.outcome.repairs


def _breaks(one: Experiment, failing: Set[str]) -> bool:
    return one.test not in failing and not one.outcome.repairs and not one.outcome.says_nothing
