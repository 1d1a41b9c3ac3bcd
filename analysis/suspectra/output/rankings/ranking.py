"""The common input of all writers: a ranking with its evidence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypedDict

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.base.english import many, share
from suspectra.base.errors import Problem
from suspectra.evidence.evidence import Evidence
from suspectra.failure_groups.ranking import RankedGroup
from suspectra.report import RankedReport, Suspect, changed_words
from suspectra.report.functions import MAX_LINES, SuspectFunction
from suspectra.spectrum import Counts, is_only_read
from suspectra.techniques.all_evidence import EvidenceReport
from suspectra.techniques.experiments.investigation import InvestigationReport
from suspectra.techniques.formulas import in_words

MAX_SCORE = sys.float_info.max


class RankingEntry(TypedDict):
    """A listed suspect, with the field names of the JSON output."""

    file: str
    line: int
    end_line: int
    function: str
    score: float
    reason: str
    rank_best: int
    rank_average: float
    rank_worst: int
    standard_rank: float
    ef: int
    ep: int
    nf: int
    np: int
    failing_tests: list[str]
    changed: int
    changed_by_git: int
    only_read: bool


class FunctionEntry(TypedDict):
    """A listed function with its first statements, with the field names of the JSON output."""

    file: str
    function: str
    score: float
    rank_best: int
    rank_worst: int
    raised: int
    tied: int
    statements: int
    suspects: list[RankingEntry]


@dataclass(frozen=True, eq=False)
class Listing:
    """A ranking to write."""

    report: RankedReport  # the ranking
    evidence: Evidence  # the evidence of the ranking
    problems: tuple[Problem, ...]  # the problems of the evidence and of the ranking
    top: int | None = None  # how many suspects to list, None for all
    # the failure groups, each with its own ranking; empty where failing tests were not grouped
    groups: tuple[RankedGroup, ...] = ()
    run_again: tuple[str, ...] = ()  # the command that runs the tests again; empty where that is not known
    verbose: bool = False  # whether a table has scores, counts and what breaks ties, or a plain sentence for a suspect
    by_line: bool = False  # whether a list for people is of statements, and not of functions with their first ones

    @property
    def sections(self) -> list[tuple[RankedGroup, Listing]]:
        """A listing for each failure group, if there are several, of what its tests execute."""
        if len(self.groups) < 2:
            return []
        return [(group, self.for_group(group, self.top)) for group in self.groups]

    def for_group(self, group: RankedGroup, top: int | None = None) -> Listing:
        """List what the tests of a failure group execute.

        Empty if its tests execute no suspect.
        """
        suspected = group.report.spectrum.suspected
        return replace(self, report=group.report, groups=(), top=suspected if top is None else min(top, suspected))

    def group_ranks(self) -> tuple[Ints, Ints]:
        """Find for each element the failure group in which it ranks best, and its rank there.

        Both of shape (elements,).
        """
        number, rank, _ = self._in_groups
        return number, rank

    @cached_property
    def _in_groups(self) -> tuple[Ints, Ints, Ints]:
        """The group in which each element ranks best, 0 for none, with its rank there and its place in that list."""
        size = len(self.report.spectrum.elements)
        number, place = np.zeros(size, np.int64), np.zeros(size, np.int64)
        best = np.full(size, np.iinfo(np.int64).max)
        for one in self.groups:
            own = one.report
            executed = np.flatnonzero((own.spectrum.counts.ef > 0) & (own.level >= 0))
            above = np.concatenate([[0], np.cumsum(np.bincount(own.level[own.level >= 0]))])
            rank = above[own.level[executed]] + 1
            better = rank < best[executed]
            chosen = executed[better]
            number[chosen], best[chosen], place[chosen] = one.group.number, rank[better], own.position[chosen]
        return number, best, place

    @cached_property
    def order(self) -> Ints:
        """The listed statements: of several failure groups those of the first one come first."""
        if len(self.groups) < 2:
            return self.report.order if self.top is None else self.report.top(self.top)
        return self._by_group[: self.top]

    @cached_property
    def _by_group(self) -> Ints:
        """All statements, group by group, each where it ranks best; then those that no failing test executes."""
        turns = {one.group.number: turn for turn, one in enumerate(self.groups)}
        number, _, place = self._in_groups
        order = self.report.order
        turn = np.array([turns.get(of, len(turns)) for of in number[order].tolist()], np.int64)
        return order[np.lexsort((place[order], turn))]

    @property
    def extent(self) -> str:
        """How much of the ranking is listed, as a sentence."""
        if self.sections:
            most = many(self.top or len(self.report), "statement" if self.by_line else "function")
            return f"At most {most} of each of the {len(self.groups)} failure groups are listed."
        if self.by_line:
            return f"{self.shown:,} of {len(self.report):,} statements {'is' if self.shown == 1 else 'are'} listed."
        functions, listed = len(self.report.function_levels), self._listed_functions
        if listed == functions:
            every = "The only function" if functions == 1 else f"All {functions:,} functions"
            return f"{every} that failing tests run {'is' if functions == 1 else 'are'} listed."
        return f"{listed} of {functions:,} functions that failing tests run {'is' if listed == 1 else 'are'} listed."

    @property
    def _listed_functions(self) -> int:
        functions = len(self.report.function_levels)
        return min(self.top or functions, functions)

    @property
    def tied_beyond(self) -> int:
        """How many statements that are not listed have the same rank as the last one that is."""
        if not 0 < self.shown < len(self.report):
            return 0
        if len(self.groups) < 2:
            return int(self.report.rank_worst[self.shown - 1]) - self.shown
        number, rank = self.group_ranks()
        last, others = self.order[-1], self._by_group[self.shown :]
        return int(np.count_nonzero((number[others] == number[last]) & (rank[others] == rank[last])))

    @property
    def cut(self) -> str:
        """A remark if the list of statements ends within a tie, else empty."""
        return _more(self.tied_beyond)

    @property
    def functions_cut(self) -> str:
        """A remark if the list of functions ends within a tie, else empty."""
        return _more(self.functions_tied_beyond)

    @property
    def functions_tied_beyond(self) -> int:
        """How many functions that are not listed have the same rank as the last one that is."""
        levels = np.sort(self.report.function_levels.level)
        top = len(levels) if self.top is None else self.top
        return int(np.count_nonzero(levels[top:] == levels[top - 1])) if 0 < top < len(levels) else 0

    @property
    def notices(self) -> tuple[Problem, ...]:
        """The collection errors, then the problems."""
        return (*(error.problem() for error in self.evidence.collection_errors), *self.problems)

    @property
    def ranked_as_changed(self) -> Bools:
        """Whether the ranking says of each element that it changed, shape (elements,)."""
        return self.report.spectrum.changed_for > 0

    def beside_counts(self, entry: RankingEntry) -> str:
        """The reason of a suspect, empty where it only repeats the counts."""
        counts = in_words(entry["ef"], entry["ep"], self.report.spectrum.counts, only_read=entry["only_read"])
        return entry["reason"] if entry["reason"] != counts else ""

    @property
    def shown(self) -> int:
        """How many suspects are listed."""
        return len(self.report) if self.top is None else min(self.top, len(self.report))

    def entries(self) -> Iterator[RankingEntry]:
        """Iterate over the listed suspects, best first, with the field names of the JSON output.

        Whole columns are converted to Python numbers at once, as a report has as many entries as the project has
        statements.
        """
        report, spectrum = self.report, self.report.spectrum
        elements, counts = spectrum.elements, spectrum.counts
        order = self.order
        at = slice(len(order)) if len(self.groups) < 2 else report.position[order]
        columns = (
            order,
            elements.file[order],
            elements.line[order],
            elements.end_line[order],
            elements.function[order],
            report.scores[at].clip(-MAX_SCORE, MAX_SCORE),
            report.rank_best[at],
            report.rank_average[at],
            report.rank_worst[at],
            report.standard_rank[at],
            counts.ef[order],
            counts.ep[order],
            counts.nf[order],
            counts.np[order],
            spectrum.changed_for[order],
            spectrum.changed_by_git_for[order],
        )
        for (
            element,
            file,
            line,
            end_line,
            function,
            score,
            best,
            average,
            worst,
            standard,
            ef,
            ep,
            nf,
            rest,
            changed,
            by_git,
        ) in zip(*(column.tolist() for column in columns), strict=True):
            only_read = is_only_read(spectrum, element)
            yield {
                "file": elements.files[file],
                "line": line,
                "end_line": end_line,
                "function": elements.functions[function].name if function >= 0 else "",
                "score": score,
                "reason": report.technique.reason(report, element) or _counted(ef, ep, counts, only_read),
                "rank_best": best,
                "rank_average": average,
                "rank_worst": worst,
                "standard_rank": standard,
                "ef": ef,
                "ep": ep,
                "nf": nf,
                "np": rest,
                "failing_tests": list(spectrum.failing_tests(element)),
                "changed": changed,
                "changed_by_git": by_git,
                "only_read": only_read,
            }

    def functions(self) -> Iterator[FunctionEntry]:
        """Iterate over the listed functions, best first, each with its first statements."""
        for one, first in self._functions():
            yield {
                "file": one.file,
                "function": one.name,
                "score": min(max(one.score, -MAX_SCORE), MAX_SCORE),
                "rank_best": one.rank_best,
                "rank_worst": one.rank_worst,
                "raised": one.raised,
                "tied": one.tied,
                "statements": len(one.elements),
                "suspects": [self._entry(suspect) for suspect in self.report.suspects_of(first)],
            }

    def _functions(self) -> Iterator[tuple[SuspectFunction, tuple[int, ...]]]:
        """The listed functions with their first statements; of several failure groups those of the first come first."""
        if len(self.groups) < 2:
            yield from ((one, one.elements[:MAX_LINES]) for one in self.report.functions(self.top))
            return
        turn = np.empty(len(self.report.level), np.int64)
        turn[self._by_group] = np.arange(len(self._by_group))
        own = [(one, tuple(sorted(one.elements, key=turn.__getitem__))) for one in self.report.functions()]
        own.sort(key=lambda pair: turn[pair[1][0]])
        yield from ((one, elements[:MAX_LINES]) for one, elements in own[: self.top])

    def _entry(self, suspect: Suspect) -> RankingEntry:
        """A statement of a function; why it is the first of its tie is no reason, as functions have their own order."""
        report, element = self.report, suspect.element
        level, ties = int(report.level[element]), report.tie_of_level
        reason = (
            "" if ties[level : level + 2].tolist() == 2 * [ties[level]] else report.technique.reason(report, element)
        )
        counted = _counted(suspect.ef, suspect.ep, report.spectrum.counts, suspect.only_read)
        return {
            "file": suspect.location.file,
            "line": suspect.location.line,
            "end_line": suspect.location.end_line,
            "function": suspect.function,
            "score": min(max(suspect.score, -MAX_SCORE), MAX_SCORE),
            "reason": reason or counted,
            "rank_best": suspect.rank_best,
            "rank_average": suspect.rank_average,
            "rank_worst": suspect.rank_worst,
            "standard_rank": suspect.standard_rank,
            "ef": suspect.ef,
            "ep": suspect.ep,
            "nf": suspect.nf,
            "np": suspect.np,
            "failing_tests": list(suspect.failing_tests),
            "changed": suspect.changed,
            "changed_by_git": suspect.changed_by_git,
            "only_read": suspect.only_read,
        }

    def in_one_sentence(self, entry: RankingEntry) -> str:
        """Say of a suspect that it changed, and which tests run it."""
        counts = in_words(entry["ef"], entry["ep"], self.report.spectrum.counts, only_read=entry["only_read"])
        if not (badge := change_in_words(entry)):
            return counts
        return f"{badge[0].upper()}{badge[1:]}; {counts[0].lower()}{counts[1:]}"

    def finding(self, entry: RankingEntry) -> str:
        """What says more about a suspect than tests and changes: mostly an experiment; empty for nothing.

        Why it comes before others with the same score is no finding.
        """
        report = self.report
        if isinstance(report, InvestigationReport):
            element = report.spectrum.elements.at(entry["file"], entry["line"])
            return report.in_words(element)[0] if element is not None and element in report.repairs else ""
        return "" if isinstance(report, EvidenceReport) else self.beside_counts(entry)


def _more(count: int) -> str:
    return f"and {count} more of the same rank" if count else ""


def function_in_words(entry: FunctionEntry) -> str:
    """Name a function, and say what its rank follows from besides the score."""
    name = entry["function"] or f"{entry['file'].rpartition('/')[2]}, outside of functions"
    failing = max(entry["raised"], *(one["ef"] + one["nf"] for one in entry["suspects"][:1]), 1)
    raised = f"{share(entry['raised'], failing, 'failing test')} failed in it" if entry["raised"] else ""
    return " · ".join(filter(None, (name, f"{entry['tied']} lines tied" if entry["tied"] > 1 else "", raised)))


def change_in_words(entry: RankingEntry) -> str:
    """Say that a suspect changed before failing tests failed.

    Without a capital or a stop; empty where no change is known.
    """
    return changed_words(entry["changed"], entry["ef"], entry["ef"] + entry["nf"], entry["changed_by_git"])


def _counted(ef: int, ep: int, counts: Counts, only_read: bool) -> str:
    """The counts as a sentence, where a failing test is among them."""
    return in_words(ef, ep, counts, only_read=only_read) if ef else ""


def group_head(ranked: RankedGroup) -> dict[str, object]:
    """A failure group without its ranking, for JSON."""
    return {
        "id": ranked.group.number,
        "title": ranked.title,
        "reason": ranked.reason,
        "since": ranked.group.since.value,
        "sure": ranked.sure,
        "tests": ranked.group.tests,
        "uncovered": ranked.group.uncovered,
    }
