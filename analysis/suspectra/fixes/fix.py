"""A fix: a change of the source with which all failing tests of a group pass, and all passing tests that execute it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from suspectra.base.english import every, many
from suspectra.fixes.candidate import AS_BEFORE, Candidate
from suspectra.fixes.narrow import is_narrow
from suspectra.mutation.mutant import change_in_words
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome

WITH_CHANGE = "with this change"
"""What stands in a sentence about a fix where nothing else says what is different."""

_COMPARING = ("__eq__", "__ne__")
"""The methods that assertions call: changed, they may find equal whatever a test compares."""

_FOR_CHANGES = 0.4
"""What it costs to change a value in all passing tests that come there."""


@dataclass(frozen=True, eq=False)
class Fix:
    """A change, with the tests that accept it."""

    candidates: tuple[Candidate, ...]  # one edit, or two
    repaired: tuple[str, ...]  # the failing tests that pass with it, by name
    judges: int  # how many tests were run with it, all of which pass
    rank: int = 0  # of the statement, among those that were searched, from 1
    # the share of passing tests, of those that were looked at, in which it gives another value than the program
    changes: float = 0.0
    kept: tuple[str, ...] = ()  # the passing tests of the judges, by name
    for_tests: bool = False  # whether it changes a module that only tests use
    checked: bool = False  # whether the checks that it changes still fail in some test of the judges
    unjudged: int = 0  # how many passing tests execute what it changes and were not run in time

    def experiments(self) -> Iterator[Experiment]:
        """What was tried, if it is one edit: each of its judges passes with it."""
        first, *others = self.candidates
        for test in () if others else (*self.repaired, *self.kept):
            yield experiment_with(first, test, ExperimentOutcome.PASSED, guard=self.hides)

    @property
    def file(self) -> str:
        """The file of the first edit."""
        return self.candidates[0].file

    @property
    def line(self) -> int:
        """The first line of the first edited statement."""
        return self.candidates[0].line

    @property
    def end_line(self) -> int:
        """Its last line."""
        return self.candidates[0].end_line

    @property
    def kind(self) -> str:
        """The templates."""
        return " and ".join(one.kind for one in self.candidates)

    @property
    def said(self) -> str:
        """What is different of a value in all failing tests alike; empty where no single value is another one."""
        return self.candidates[0].said if len(self.candidates) == 1 else ""

    @property
    def hides(self) -> bool:
        """Whether it may only keep the failure from being noticed."""
        return not self.checked and any(one.hides for one in self.candidates)

    @property
    def compares(self) -> bool:
        """Whether it changes how objects are compared, which makes assertions pass about any of them."""
        return any(getattr(one.functions[-1], "name", "") in _COMPARING for one in self.candidates)

    @cached_property
    def is_narrow(self) -> bool:
        """Whether it may fit these tests alone."""
        return any(map(is_narrow, self.candidates))

    @property
    def cost(self) -> float:
        """How much speaks against it: the less, the earlier it is shown."""
        edits = sum(one.cost for one in self.candidates) + sum(map(overfit, self.candidates))
        return edits + _FOR_CHANGES * self.changes


def experiment_with(
    candidate: Candidate,
    test: str,
    outcome: ExperimentOutcome,
    *,
    guard: bool = False,  # whether it may only keep the failure from being noticed
) -> Experiment:
    """A run of a test with a candidate."""
    edit = candidate.edit
    return Experiment(
        test,
        "mutant",
        candidate.file,
        edit.line,
        edit.end_line,
        edit.column,
        candidate.kind,
        EVERY,
        "mutated",
        outcome,
        guard=guard,
        detail=change_in_words(edit.replaced(candidate.source.text), edit.text),
        end_column=edit.end_column,
        replacement=candidate.run_edit.text,
    )


def overfit(candidate: Candidate) -> float:
    """What makes a change fit few tests by chance: constants that are returned, conditions that ask for one value."""
    text = candidate.edit.text.strip()
    more = 0.0
    if candidate.kind.startswith("guard ") or candidate.kind == "guarded":
        more += 0.8
    if text in ("return None", "pass", "return", "None"):
        more += 0.8
    if candidate.kind == "handler":
        more += 1.0
    return more


def in_order(fixes: Sequence[Fix]) -> list[Fix]:
    """Fixes, the likeliest first, and of equals the shortest.

    What undoes a change of the user comes first. Those that may fit these tests alone come behind, then those that
    change how objects are compared, then those that may only hide the failure, and those in modules that only tests use
    at the end.
    """
    return sorted(fixes, key=_place)


def _place(fix: Fix) -> tuple[bool, bool, bool, bool, bool, float, int, int]:
    """What orders fixes, the first first."""
    written = sum(len(one.edit.text) for one in fix.candidates)
    cost = round(fix.cost + 0.15 * min(fix.rank - 1, 16) ** 0.5, 6)
    return fix.kind != AS_BEFORE, fix.for_tests, fix.hides, fix.compares, fix.is_narrow, cost, written, fix.line


def fix_in_words(fix: Fix, failing: int, how: str = "") -> str:
    """What is known of a fix, in one sentence; `how` stands where nothing else says what is different."""
    begin = passing(len(fix.repaired), failing)
    if fix.kind == AS_BEFORE:
        begin = f"{begin} with this line as it was"
    elif fix.said:
        begin = f"{begin} if {fix.said} here"
    elif how:
        begin = f"{begin} {how}"
    others = fix.judges - len(fix.repaired)
    runs = "runs" if fix.unjudged == 1 else "run"
    left = f"; there was no time for {many(fix.unjudged, 'more test')} that {runs} this code"
    return f"{with_others(begin, others)}{left if others and fix.unjudged else ''}"


def passing(repaired: int, failing: int) -> str:
    """How many of the failing tests pass, as the begin of a sentence."""
    if repaired < failing:
        return f"{repaired} of {failing} failing tests pass"
    return "the failing test passes" if failing == 1 else f"{every(repaired)} failing tests pass"


def with_others(begin: str, others: int) -> str:
    """A sentence about failing tests that pass, and how many others still do."""
    if not others:
        return f"{begin}, and no passing test executes it"
    rest = "the other that was run still does" if others == 1 else f"{every(others)} others that were run still do"
    return f"{begin}, and {rest}"
