"""The failure groups of a run, with numbers that stay the same in later runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from suspectra.base.english import many
from suspectra.failure_groups.coverage import FailingCoverage
from suspectra.failure_groups.decisions import GroupDecisions
from suspectra.failure_groups.experiment_links import ExperimentLinks
from suspectra.failure_groups.grouping import Partition, partition
from suspectra.failure_groups.since import Since
from suspectra.runs.experiment import Experiment
from suspectra.spectrum import Spectrum


@dataclass(frozen=True)
class FailureGroup:
    """Failing tests that probably share a fault."""

    number: int  # from 1; the same in later runs
    tests: tuple[str, ...]  # the failing tests, by name
    uncovered: tuple[str, ...] = ()  # those of them that executed no candidate
    # where one statement or branch explains the tests hardly better than two, the passing tests that execute each of
    # the two; else empty
    halves: tuple[int, ...] = ()
    alike: bool = True  # whether what all share explains each test about as well as anything that it executes
    since: Since = Since.UNKNOWN  # since when its tests fail
    experiments: str = ""  # sentences: which experiments show that its tests belong together, or apart from others

    @property
    def covered(self) -> tuple[str, ...]:
        """The tests that say what the group is about: those that executed a candidate, or all if none did."""
        others = set(self.uncovered)
        return tuple(test for test in self.tests if test not in others) or self.tests

    @property
    def idle(self) -> bool:
        """Whether none of its tests executed a candidate."""
        return len(self.uncovered) == len(self.tests)

    def heading(self, title: str = "", *, sure: bool = True) -> str:
        """Write one line about the group."""
        old = ", failed before your changes" if self.since is Since.BEFORE else ""
        perhaps = "" if sure or len(self.covered) == 1 else ", perhaps with one fault"
        return f"✗ {many(len(self.covered), 'test')}{perhaps}{title and f': {title}'}{old}"

    @property
    def left_out(self) -> str:
        """What to say of the tests that are not counted in the heading; empty if all are."""
        others = len(self.tests) - len(self.covered)
        verb = "executes" if others == 1 else "execute"
        return f"{many(others, 'more failing test')} {verb} no suspect" if others else ""


@dataclass(frozen=True)
class EndedGroup:
    """A group of the previous run that no longer exists."""

    number: int
    # the group to which most of its tests that still fail belong now; None where none of them fails
    part_of: int | None = None

    @property
    def fixed(self) -> bool:
        """Whether none of its tests fails any more."""
        return self.part_of is None

    def __str__(self) -> str:
        return "fixed" if self.part_of is None else f"part of group {self.part_of}"


@dataclass(frozen=True, eq=False)
class FailureGroups:
    """All failing tests of a run, each in one group."""

    # what a change broke first, and what misses a module last, as that is seldom a fault; then the largest; by number
    groups: tuple[FailureGroup, ...]
    ended: tuple[EndedGroup, ...]  # groups of the previous run that no longer exist
    partition: Partition  # the result of grouping, which the next state reuses
    next_number: int  # the number of the next new group
    former: tuple[FailureGroup, ...] = ()  # groups that are part of others now, each with its last tests

    @classmethod
    def from_spectrum(
        cls,
        spectrum: Spectrum,
        previous: FailureGroups | None = None,
        decisions: GroupDecisions | None = None,
        first_number: int = 1,  # the number of the first group where there are no previous ones
        since: Mapping[str, Since] | None = None,  # since when tests fail, as far as it is known
        made: Iterable[Experiment] = (),  # experiments with failing tests
        exceptions: Mapping[str, str] | None = None,  # the exceptions that ended tests, as far as they are known
    ) -> FailureGroups:
        """Group the failing tests of a spectrum."""
        coverage = FailingCoverage.from_spectrum(spectrum, previous.partition.coverage if previous else None)
        covered, since = coverage.covered, since or {}
        links = ExperimentLinks.from_experiments(made, coverage.tests, coverage.executing)
        if previous and previous.partition.holds_for(coverage, decisions, since, links):
            found = replace(previous.partition, coverage=coverage)
        else:
            found = partition(coverage, decisions, since, links)
        parts = found.parts
        names = [tuple(coverage.tests[test] for test in part.tests) for part in parts]
        known = _known(previous)
        # no number is given twice, since a client may have kept it
        numbers, next_number = _numbers(names, known, previous.next_number if previous else first_number)
        groups = [
            FailureGroup(
                number,
                tests,
                tuple(coverage.tests[test] for test in part.tests if not covered[test]),
                part.halves,
                part.alike,
                Since.for_group(tests, since),
                links.why(tests),
            )
            for number, tests, part in zip(numbers, names, parts, strict=True)
        ]
        heirs = {group.number: _heir(group, groups) for group in known if group.number not in numbers}
        former = tuple(group for group in known if heirs.get(group.number) is not None)
        before = {group.number for group in previous.former} if previous else set()
        ended = [
            EndedGroup(number, heir) for number, heir in sorted(heirs.items()) if heir is None or number not in before
        ]
        named = exceptions or {}

        def turn(group: FailureGroup) -> tuple[int, bool, int, int]:
            absent = all(named.get(test) == ModuleNotFoundError.__name__ for test in group.covered)
            return group.since.rank, absent, -len(group.tests), group.number

        groups.sort(key=turn)
        return cls(tuple(groups), tuple(ended), found, next_number, former)

    def holder_of(self, number: int) -> int | None:
        """Return the group that contains most tests of a group.

        The number of a group; the same one while it exists. None where no test of it fails.
        """
        if any(group.number == number for group in self.groups):
            return number
        return next((_heir(group, self.groups) for group in self.former if group.number == number), None)


def _known(previous: FailureGroups | None) -> list[FailureGroup]:
    """The groups of the previous run and the former ones, each with the tests by which it is found again."""
    if previous is None:
        return []
    taken = {test for group in previous.former for test in group.tests}
    current = (FailureGroup(group.number, tuple(sorted(_identifying(group) - taken))) for group in previous.groups)
    return [*current, *previous.former]


def _numbers(
    names: Sequence[tuple[str, ...]], known: Sequence[FailureGroup], next_number: int
) -> tuple[list[int], int]:
    """Number the groups: each gets the number of the known group with which it shares most tests, or a new one."""
    group_of = {test: index for index, tests in enumerate(names) for test in tests}
    common: dict[tuple[int, int], int] = {}
    for group in known:
        for test in group.tests:
            if test in group_of:
                pair = group.number, group_of[test]
                common[pair] = common.get(pair, 0) + 1
    found: dict[int, int] = {}
    for number, index in sorted(common, key=lambda pair: (-common[pair], pair)):
        if index not in found and number not in found.values():
            found[index] = number
    for index in sorted(range(len(names)), key=lambda index: (-len(names[index]), names[index])):
        if index not in found:
            found[index] = next_number
            next_number += 1
    return [found[index] for index in range(len(names))], next_number


def _heir(group: FailureGroup, current: Sequence[FailureGroup]) -> int | None:
    tests = set(group.tests)
    common = {other.number: len(tests.intersection(other.tests)) for other in current}
    best = min(common, key=lambda number: (-common[number], number), default=None)
    return best if best is not None and common[best] else None


def _identifying(group: FailureGroup) -> set[str]:
    """The tests by which a group is found again.

    A test that executes nothing joins whichever group is the largest, so it counts only where there are no others.
    """
    return set(group.covered)
