"""Why not this line: a statement against the first suspect."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.base.english import many
from suspectra.distinctions.executions import Executions, Pair
from suspectra.distinctions.function_flow import FunctionFlows
from suspectra.distinctions.tie import Tie
from suspectra.program import Program
from suspectra.report import RankedReport
from suspectra.spectrum import Spectrum, without_uses

_SHOWN = 2  # witnesses of each kind


class Standing(str, Enum):
    """How a statement compares with the first suspect."""

    FIRST = "first"  # it is the first suspect
    TIED = "tied"  # its score is that of the first suspect
    BEHIND = "behind"
    NOT_FAILING = "not executed by a failing test"
    NOT_EXECUTED = "not executed"


@dataclass(frozen=True, eq=False)
class SuspectComparison:
    """A statement against the first suspect; the first suspect itself against the one behind it."""

    report: RankedReport  # the ranking
    # the statement, and what it is compared with; -1 where there is nothing else
    element: int
    rival: int
    standing: Standing  # the comparison
    reason: str  # the first key that differs, in one sentence; empty without a rival
    # passing tests that execute the statement, and those of them that do not execute the rival
    passing: int
    apart: int
    passing_witnesses: tuple[Pair, ...]  # some of the latter: those most like a failing test that executes the rival
    failing_apart: int  # failing tests that execute the rival and not the statement
    failing_witnesses: tuple[int, ...]  # some of these, those that execute least: row numbers
    # where a failing test that comes nearest goes another way: the statement there, and the line it does not go to
    turn: tuple[int, int | None] | None = None
    entered: bool = True  # whether a failing test executes any statement of the function
    imported: bool = False  # whether the statement ran while its module was imported, which belongs to no test
    elsewhere: int = 0  # failing tests of other failure groups that execute the statement

    @classmethod
    def from_report(
        cls,
        report: RankedReport,
        element: int,
        program: Program | None = None,
        at_import: Ints | None = None,
        elsewhere: int = 0,  # failing tests of other failure groups, not in this ranking, that execute the statement
    ) -> SuspectComparison:
        """Compare a statement with the first suspect.

        Raises ValueError when the element is not a candidate.
        """
        spectrum, level = report.spectrum, report.level
        if level[element] < 0:
            raise ValueError(f"element {element} is not a candidate")
        first, second = [*report.top(2).tolist(), -1, -1][:2]
        rival = second if element == first else first
        executions, counts = Executions(without_uses(spectrum)), spectrum.counts
        standing = _standing(report, element, first)
        better, worse = (element, rival) if element == first else (rival, element)
        reason = report.technique.difference(report, better, worse) if rival >= 0 else ""
        own, other = _executing(spectrum, element), _executing(spectrum, rival)
        failing_with_rival = np.flatnonzero(spectrum.failed & other)
        apart = np.flatnonzero(~spectrum.failed & own & ~other)
        without = np.flatnonzero(spectrum.failed & other & ~own)
        turn, entered = None, True
        if not counts.ef[element]:
            turn, entered = _turn(report, program, element), _entered(report, element)
        return cls(
            report,
            element,
            rival,
            standing,
            reason,
            int(counts.ep[element]),
            len(apart),
            tuple(executions.most_alike(failing_with_rival, apart, _SHOWN)),
            len(without),
            _smallest(executions, without),
            turn,
            entered,
            at_import is not None and element in at_import,
            elsewhere,
        )

    @property
    def tie(self) -> Tie | None:
        """The tie that the statement shares with others; None where it has its score alone."""
        if not self.report.spectrum.counts.ef[self.element]:
            return None
        tie = Tie.from_report(self.report, self.element)
        return tie if len(tie.members) > 1 else None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer, most important sentence first."""
        elements = self.report.spectrum.elements
        name = elements.location(self.element).short
        rank = self.report.suspect_of(self.element)
        ranks = f"rank {rank.rank_best}" if rank.tied == 1 else f"ranks {rank.rank_best} to {rank.rank_worst}"
        if self.standing in (Standing.NOT_FAILING, Standing.NOT_EXECUTED):
            return (*self._not_executed(name), *self._turning())
        if self.standing is Standing.FIRST:
            alone = self.rival < 0
            after = "" if alone else f", and {elements.location(self.rival).short} the next statement"
            return (f"{name} is the first suspect{after}.", *([] if alone else [self.reason]))
        other = elements.location(self.rival).short
        ranks_of_both = f"{name} is at {ranks}; the first suspect is {other}."
        if self.standing is Standing.TIED:
            ranks_of_both = f"{name}, at {ranks}, has the score of the first suspect, {other}."
        return (ranks_of_both, self.reason, *self._witnessed(name, other))

    def _not_executed(self, name: str) -> tuple[str, ...]:
        if self.elsewhere:
            others = f"{many(self.elsewhere, 'failing test')} of other groups {'does' if self.elsewhere == 1 else 'do'}"
            return (f"No failing test of this group executes {name}, but {others}.",)
        only = "It can be at fault only because it is not executed."
        if self.imported and not self.passing:
            return (f"{name} ran while its module was imported. That belongs to no test, so no test makes it suspect.",)
        if self.standing is Standing.NOT_EXECUTED:
            return (f"No test executes {name}, so tests say nothing of it. {only}",)
        passing = f"{many(self.passing, 'passing test')} {'executes' if self.passing == 1 else 'execute'} it."
        return (f"No failing test executes {name}, and {passing} {only}",)

    def _turning(self) -> tuple[str, ...]:
        elements = self.report.spectrum.elements
        if self.turn is not None:
            decision, line = self.turn
            way = f"goes on to line {line}" if line else "leaves the function there"
            return (f"Failing tests come as near as {elements.location(decision).short}, from where none {way}.",)
        name = elements.function_name(self.element)
        return (f"No failing test executes any of {name}.",) if name and not self.entered else ()

    def _witnessed(self, name: str, other: str) -> tuple[str, ...]:
        tests, found = self.report.spectrum.tests, []
        if self.apart:
            executes = "executes" if self.passing == 1 else "execute"
            pair = self.passing_witnesses[0]
            of_them = "it does" if self.passing == 1 else f"{self.apart} of them do"
            if self.apart == self.passing > 1:
                of_them = "they do"
            like = f"{100 * pair.similarity:.0f} % of what it and the failing {tests[pair.failing]} execute is the same"
            found.append(f"{many(self.passing, 'passing test')} {executes} {name}, and {of_them} not execute {other}.")
            found.append(f"The nearest of these is {tests[pair.passing]}: {like}.")
        if self.failing_apart:
            names = " and ".join(tests[test] for test in self.failing_witnesses)
            more = self.failing_apart - len(self.failing_witnesses)
            verb = "executes" if self.failing_apart == 1 else "execute"
            found.append(
                f"{many(self.failing_apart, 'failing test')} {verb} {other} and not {name}: {names}"
                f"{f' and {more} more' if more else ''}."
            )
        return tuple(found)


def _executing(spectrum: Spectrum, element: int) -> Bools:
    """Whether each test executes an element, or reads what it defines; none executes -1."""
    executing = np.zeros(len(spectrum.tests), bool)
    if element >= 0:
        executing[spectrum.tests_executing(element)] = True
    return executing


def _standing(report: RankedReport, element: int, first: int) -> Standing:
    counts, ties, level = report.spectrum.counts, report.tie_of_level, report.level
    if not counts.ef[element]:
        return Standing.NOT_FAILING if counts.ep[element] else Standing.NOT_EXECUTED
    if element == first:
        return Standing.FIRST
    return Standing.TIED if ties[level[element]] == ties[level[first]] else Standing.BEHIND


def _smallest(executions: Executions, tests: Ints) -> tuple[int, ...]:
    """Those that execute least, then by name."""
    size, names = executions.size, executions.spectrum.tests
    return tuple(sorted(tests.tolist(), key=lambda test: (size[test], names[test]))[:_SHOWN])


def _turn(report: RankedReport, program: Program | None, element: int) -> tuple[int, int | None] | None:
    """The nearest statement before an element that a failing test executes, and the way that none goes from there."""
    flow, ef = FunctionFlows(report.spectrum, program).for_element(element), report.spectrum.counts.ef
    if flow is None:
        return None
    for way in flow.before(element):
        own = flow.elements[way.source]
        if own and ef[own[-1]]:
            return own[-1], way.line
    return None


def _entered(report: RankedReport, element: int) -> bool:
    elements, ef = report.spectrum.elements, report.spectrum.counts.ef
    function = elements.function[element]
    return function < 0 or bool(ef[elements.function == function].any())
