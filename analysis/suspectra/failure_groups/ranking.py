"""A ranking for each failure group, from its failing tests and all passing ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.english import many
from suspectra.base.errors import NothingToRank
from suspectra.failure_groups.decisions import GroupDecisions
from suspectra.failure_groups.first_suspect import FirstSuspect
from suspectra.failure_groups.groups import FailureGroup, FailureGroups
from suspectra.failure_groups.since import Since
from suspectra.program import Program
from suspectra.program.languages import is_python_or_cython
from suspectra.report import RankedReport
from suspectra.spectrum import EdgeKind, Elements, some_failing, without_uses
from suspectra.techniques.technique import Technique

_NAMED = 3  # tests that a sentence names


class RankedGroup:
    """A failure group with its ranking, which is made when it is first asked for."""

    def __init__(
        self,
        group: FailureGroup,
        whole: RankedReport,
        technique: Technique,
        program: Program | None = None,
        *,
        exceptions: Mapping[str, str] | None = None,
        alone: bool = False,
        before: RankedReport | None = None,
        first_before: FirstSuspect | None = None,  # its first suspect before a change
        program_before: Program | None = None,  # the program of that ranking
    ):
        self.group = group  # its failing tests
        # whether nearly all groups like it have one fault; in compiled programs too many have several
        self.sure = group.alike and _is_python(whole.spectrum.elements)
        self._whole, self._technique, self._program = whole, technique, program
        self._exceptions = exceptions or {}
        self._alone = alone
        self._before, self._first_before, self._program_before = before, first_before, program_before

    @cached_property
    def report(self) -> RankedReport:
        """Its failing tests against all passing ones.

        The ranking over all failing tests where the tests of this group alone lack what the technique needs.
        """
        report = self._whole if self._alone else self._ranked(self._before)
        self._before = None  # nobody needs it any more
        return report

    @property
    def last_report(self) -> RankedReport | None:
        """The ranking, or that of the last state in which it was asked for; None where it never was."""
        return self.report if "report" in vars(self) else self._before

    @property
    def last_program(self) -> Program | None:
        """The program of the last ranking."""
        return self._program if "report" in vars(self) else self._program_before

    @cached_property
    def title(self) -> str:
        """The exception, and where it was raised; else the exception and the first suspect."""
        return self._raised() or self._first_suspect() or self.group.covered[0]

    @property
    def heading(self) -> str:
        """One line about the group, such as ``✗ 3 tests: UnbalancedEntry at journal.py:41``."""
        return self.group.heading(self.title, sure=self.sure)

    @cached_property
    def reason(self) -> str:
        """What its tests have in common, in one or two sentences, after that a change did not break them."""
        old = "Failed before your changes. " if self.group.since is Since.BEFORE else ""
        return " ".join(filter(None, (old + _reason(self.group, self.report), self.group.experiments)))

    @cached_property
    def _first(self) -> FirstSuspect:
        """The first suspect; while nobody asked for the ranking, that before a change of passing tests stays."""
        spectrum, before = without_uses(self._whole.spectrum), self._first_before
        rows = tuple([spectrum.rows[spectrum.failing_index[test]] for test in self.group.tests])
        if "report" not in vars(self) and not self._alone:
            if before is not None and self._knows_no_more and before.holds_for(spectrum, rows, self._technique):
                return before
            if (found := FirstSuspect.by_counts(spectrum, rows, self._technique)) is not None:
                return found
        return FirstSuspect.in_report(self.report, rows, self._technique)

    @property
    def last_first(self) -> FirstSuspect | None:
        """The first suspect, or that of the last state in which it was asked for; None where it never was."""
        return vars(self).get("_first", self._first_before)

    @property
    def _knows_no_more(self) -> bool:
        """Whether experiments, traces and searches have found nothing new since the last ranking."""
        now, before = self._program, self._program_before
        return now is before or (now is not None and before is not None and _findings(now) == _findings(before))

    def _ranked(self, before: RankedReport | None) -> RankedReport:
        last = without_uses(before.spectrum) if before else None
        view = some_failing(without_uses(self._whole.spectrum), self.group.tests, last)
        if before is not None and view is last and before.technique == self._technique and self._knows_no_more:
            return before
        try:
            return self._technique.localize(view, self._program, before or self._whole)
        except NothingToRank:  # these tests alone lack what the technique needs
            return self._whole

    def _raised(self) -> str:
        """The exception and where it was raised, if half of the tests have both; if not all do, how many."""
        spectrum, tests, where = self._whole.spectrum, self.group.covered, Counter[tuple[str, int]]()
        if spectrum.raised is not None:
            for test in tests:
                if (element := int(spectrum.raised[spectrum.failing_index[test]])) >= 0:
                    where[self._exceptions.get(test, ""), element] += 1
        (name, element), count = min(where.items(), key=lambda one: (-one[1], one[0]), default=(("", -1), 0))
        if element < 0 or 2 * count < len(tests):
            return ""
        place = spectrum.elements.location(element).short
        return self._by(count, f"{name or 'raised'} at {place}")

    def _first_suspect(self) -> str:
        """The exception of half of the tests, and the first suspect, since it is not known where that was raised."""
        names = Counter(name for test in self.group.covered if (name := self._exceptions.get(test, "")))
        name = min(names, key=lambda name: (-names[name], name), default="")
        # an exception that fewer tests raise says little of the group
        name = self._by(names[name], name) if 2 * names[name] >= len(self.group.covered) else ""
        element = -1 if self.group.idle else self._first.element
        suspect = self._whole.spectrum.elements.location(element).short if element >= 0 else ""
        return f"{name}, first suspect {suspect}" if name and suspect else name or suspect

    def _by(self, count: int, exception: str) -> str:
        """An exception, with how many of the tests it ended unless that is all of them."""
        tests = len(self.group.covered)
        return exception if count == tests else f"{count} with {exception}"


@dataclass(frozen=True, eq=False)
class GroupedRanking:
    """The failure groups of a run, each with its ranking."""

    # what a change broke first, and last what misses a module: this order needs no ranking, and is the same later
    groups: tuple[RankedGroup, ...]
    state: FailureGroups  # what the groups were computed from, and the groups of the previous run that ended
    fixed: tuple[str, ...] = ()  # the titles of groups none of whose tests fails any more
    # by number the last titles of former groups, which are part of others now, and of these others before that
    titles: Mapping[int, str] = field(default_factory=dict)

    def for_test(self, name: str) -> RankedGroup | None:
        """The group of a failing test.

        None for a test that did not fail.
        """
        return next((ranked for ranked in self.groups if name in ranked.group.tests), None)


def _findings(program: Program) -> tuple[object, ...]:
    return program.experiments, program.observations, program.slices, program.paths


def rank_groups(
    report: RankedReport,
    technique: Technique,
    program: Program | None = None,
    *,
    exceptions: Mapping[str, str] | None = None,
    decisions: GroupDecisions | None = None,
    previous: GroupedRanking | None = None,  # that of the previous state
    made: Mapping[int, RankedReport] | None = None,
    first_number: int = 1,  # the number of the first group where there are no previous ones
    since: Mapping[str, Since] | None = None,  # since when tests fail, as far as it is known
) -> GroupedRanking:
    """Group the failing tests of a ranking, each group with a ranking that is made when it is asked for."""
    spectrum = without_uses(report.spectrum)
    state = FailureGroups.from_spectrum(
        spectrum,
        previous.state if previous else None,
        decisions,
        first_number,
        since,
        program.experiments if program is not None else (),
        exceptions,
    )
    last = {one.group.number: one for one in previous.groups} if previous else {}
    reports = {number: one.last_report for number, one in last.items()} | dict(made or {})
    programs = {number: one.last_program for number, one in last.items()}
    ranked = [
        RankedGroup(
            group,
            report,
            technique,
            program,
            exceptions=exceptions,
            alone=len(state.groups) == 1,
            before=reports.get(group.number),
            first_before=last[group.number].last_first if group.number in last else None,
            program_before=program if group.number in (made or {}) else programs.get(group.number),
        )
        for group in state.groups
    ]

    def title(number: int) -> str:
        known = previous.titles.get(number) if previous else None
        return last[number].title if known is None else known

    joined = {group.number for group in state.former}
    joined |= {holder for number in joined if (holder := state.holder_of(number)) in last}
    fixed = tuple(title(ended.number) for ended in state.ended if ended.fixed)
    return GroupedRanking(tuple(ranked), state, fixed, {number: title(number) for number in sorted(joined)})


@lru_cache(maxsize=8)
def _is_python(elements: Elements) -> bool:
    return all(is_python_or_cython(path) for path in elements.files)


def _reason(group: FailureGroup, report: RankedReport) -> str:
    if group.idle:
        return f"{'They execute' if len(group.tests) > 1 else 'It executes'} nothing that may be a suspect."
    sentence = _shared(group, report, len(group.covered))
    if group.uncovered:
        plural = len(group.uncovered) > 1
        sentence += (
            f" {len(group.uncovered)} more, which {'execute' if plural else 'executes'} nothing that may be a suspect,"
            f" {'are' if plural else 'is'} counted here because the group is the largest: {_listed(group.uncovered)}."
        )
    return sentence


def _listed(names: tuple[str, ...]) -> str:
    """The first few names."""
    more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join([*names[:_NAMED], *more])


def _shared(group: FailureGroup, report: RankedReport, covered: int) -> str:
    """What all tests with coverage execute, and how many passing tests execute it too."""
    spectrum = some_failing(without_uses(report.spectrum), group.tests)
    columns = np.flatnonzero((spectrum.counts.ef == covered) & spectrum.candidates)
    passing, element = _least(columns, spectrum.counts.ep, report)
    what = f"execute {spectrum.elements.location(element).short}" if element >= 0 else ""
    if spectrum.edges is not None and spectrum.edges.kind is EdgeKind.ARC:
        edges = spectrum.edges
        every = spectrum.edge_hit_counts.ef == covered
        ways = np.flatnonzero(every & (edges.source > 0) & spectrum.candidate_edges)
        if len(ways):
            way = int(ways[np.argmin(spectrum.edge_hit_counts.ep[ways])])
            fewer = int(spectrum.edge_hit_counts.ep[way])
            path = spectrum.elements.files[edges.file[way]]
            leaves = spectrum.elements.at(path, int(edges.source[way]))
            if fewer < passing and leaves is not None:
                passing, what = fewer, f"go the same way from {spectrum.elements.location(leaves).short}"
                what += f" to line {int(edges.target[way])}" if 0 < edges.target[way] < 1 << 30 else ""
    if group.halves and what:
        one, other = sorted(group.halves)
        return (
            f"What these {covered} share, {many(passing, 'passing test')} execute too; two places, with"
            f" {one} and {other}, explain them."
        )
    if not what:
        return f"No statement is executed by all {covered}."
    if covered == 1:
        verb, _, rest = what.partition(" ")
        what = f"It {'executes' if verb == 'execute' else 'goes'} {rest}"
    else:
        what = f"{'Both' if covered == 2 else f'All {covered}'} {what}"
    does = "does" if passing == 1 else "do"
    return f"{what}; so {does} {many(passing, 'passing test')}." if passing else f"{what}, and no passing test does."


def _least(columns: Ints, passing: Ints, report: RankedReport) -> tuple[int, int]:
    """The fewest passing tests that execute one of some statements, and the best-ranked statement with so few."""
    if not len(columns):
        return report.spectrum.counts.passed + 1, -1
    fewest = passing[columns].min()
    equal = columns[passing[columns] == fewest]
    return int(fewest), int(equal[np.argmin(report.level[equal])])
