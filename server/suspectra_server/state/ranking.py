"""The outcome of one localization: suspects in the lines of the run, and how high each is ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from suspectra.base.english import many
from suspectra.base.errors import Problem
from suspectra.base.location import Location
from suspectra.evidence.evidence import Evidence, TestResult
from suspectra.evidence.failures import failure_sentence
from suspectra.report import Explanation, RankedReport, Suspect
from suspectra.report.functions import MAX_LINES
from suspectra.runs.measured_file import MeasuredFile
from suspectra.spectrum import Elements, Spectrum
from suspectra.techniques.experiments.investigation import repairs_in_words
from suspectra.techniques.experiments.mutant_results import mutant_results
from suspectra.techniques.experiments.repairs import Repair
from suspectra.techniques.experiments.repairs import repairs as repairs_of
from suspectra.techniques.experiments.value_predicates import separating_in_words
from suspectra.techniques.technique import Technique
from suspectra_recorder.log.collection import CUT_OFF, CollectionError
from suspectra_recorder.log.stack import FailedLine, Stack
from suspectra_server.messages import FolderState, SuspicionLevel
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.state.documents import DocumentVersion
from suspectra_server.state.fix import MutantFix
from suspectra_server.state.group import Group
from suspectra_server.state.undo import Undo, undos_at

RecordedLine = tuple[str, int]  # a file, and a line of it as it was run


def suspicion_level(suspect: Suspect) -> SuspicionLevel:
    """How far up a suspect is ranked, by its average rank.

    Absolute ranks, because they say how much a reader will look at: most programmers give up after five suspects
    and nearly all after ten (Kochhar, Xia, Lo & Li 2016, "Practitioners' expectations on automated fault
    localization"). The mean over a tie, so that fifty tied lines are not all high.
    """
    if suspect.rank_average <= 5:
        return "high"
    return "medium" if suspect.rank_average <= 10 else "low"


@dataclass(frozen=True, eq=False)
class Ranking:
    """The outcome of one localization: suspects in the lines of the run, or why there are none."""

    state: FolderState
    message: str
    technique: Technique
    problems: tuple[Problem, ...] = ()
    evidence: Evidence | None = None
    report: RankedReport | None = None
    suspects: tuple[Suspect, ...] = ()
    collection_errors: tuple[CollectionError, ...] = ()
    inside: frozenset[str] = frozenset()  # files of tests and of collection errors that lie in the folder
    preliminary: bool = False  # a better one of the same evidence is being made
    groups: tuple[Group, ...] = ()  # of failing tests, where there are several
    group: Group | None = None  # the one that is ranked
    shared: str = ""  # what its tests have in common
    whole: RankedReport | None = None  # the ranking over all groups
    every: Spectrum | None = None  # of all failing tests, where they are not ranked anew yet
    fixed: tuple[str, ...] = ()  # the titles of groups whose tests have passed since the last run

    @classmethod
    def from_report(
        cls,
        technique: Technique,
        evidence: Evidence,
        report: RankedReport,
        problems: list[Problem],
        top: int,
        inside: frozenset[str] = frozenset(),
    ) -> Ranking:
        """`top` suspects of a report, in the order of a reader; a line that no failing test executes is no suspect."""
        suspects = tuple(report.suspects_of(report.reading_order(top).tolist()))
        errors, message = evidence.collection_errors, _message(report, evidence)
        return cls(FolderState.READY, message, technique, tuple(problems), evidence, report, suspects, errors, inside)

    def for_group(
        self, group: Group, groups: tuple[Group, ...], report: RankedReport, shared: str, top: int
    ) -> Ranking:
        """The ranking of one of several failure groups, instead of that over all failing tests."""
        certainty = "" if group.sure else "perhaps "
        among = f" in {certainty}{len(groups)} groups"
        return replace(
            self,
            message=_message(self.ranked, self.evidence, among) if self.evidence else self.message,
            report=report,
            suspects=tuple(report.suspects_of(report.reading_order(top).tolist())),
            groups=groups,
            group=group,
            shared=shared,
            whole=self.over_all,
        )

    def after_runs(self, evidence: Evidence, every: Spectrum, group: Group, report: RankedReport, top: int) -> Ranking:
        """The ranking of a failure group after tests ran again, to be shown until all groups are found anew."""
        return replace(
            self,
            evidence=evidence,
            every=every,
            group=group,
            groups=tuple(group if one.number == group.number else one for one in self.groups),
            report=report,
            suspects=tuple(report.suspects_of(report.reading_order(top).tolist())),
            collection_errors=evidence.collection_errors,
            fixed=(),
            preliminary=True,
        )

    def until(self, technique: Technique) -> Ranking:
        """The same ranking, to be shown until that of another technique is made."""
        message = f"{self.message}; by {self.technique.name} until {technique.name} is computed"
        return replace(self, message=message, preliminary=True)

    def is_of_same_run(self, other: Ranking) -> bool:
        """Whether both were made from the same outcomes, of which one may have been read in more detail."""
        mine, others = self.evidence, other.evidence
        return mine is not None and others is not None and mine.tests == others.tests  # their durations differ

    def holds_after(self, newer: Ranking) -> bool:
        """Whether it may be shown on with a newer one without suspects: no test that failed in it has passed since."""
        known = newer.evidence is not None and newer.evidence.tests
        return not known or self.failing.keys() <= newer.failing.keys()

    def with_state_of(self, newer: Ranking) -> Ranking:
        """The same ranking as the last good one, with the state and problems of a newer one without suspects."""
        return replace(
            self,
            state=newer.state,
            message=newer.message,
            problems=newer.problems,
            collection_errors=newer.collection_errors,
            inside=self.inside | newer.inside,
            preliminary=False,
        )

    @property
    def ranked(self) -> RankedReport:
        """The report, for callers that have an element or a suspect of it.

        Raises LookupError when nothing was ranked.
        """
        if self.report is None:
            raise LookupError("nothing was ranked")
        return self.report

    @property
    def over_all(self) -> RankedReport:
        """The report over all failing tests, under the same condition as `ranked`."""
        return self.ranked if self.whole is None else self.whole

    @property
    def spectrum_over_all(self) -> Spectrum:
        """The spectrum of all failing tests, under the same condition as `ranked`."""
        return self.over_all.spectrum if self.every is None else self.every

    @property
    def elements(self) -> Elements:
        """The elements of the report, under the same condition as `ranked`."""
        return self.ranked.spectrum.elements

    @property
    def without(self) -> tuple[str, ...]:
        """The kinds of evidence that the ranking had to do without."""
        return self.report.without if self.report is not None else ()

    def reason(self, suspect: Suspect) -> str:
        """Why a suspect ranks before the next ones, in one sentence; empty where the counts of tests say it."""
        return self.ranked.technique.reason(self.ranked, suspect.element)

    @cached_property
    def files(self) -> Mapping[str, MeasuredFile]:
        """The measured files by path."""
        return _by_path(self.evidence.elements) if self.evidence else {}

    @cached_property
    def tests(self) -> Mapping[str, TestResult]:
        """The tests by name."""
        return {test.name: test for test in self.evidence.tests} if self.evidence else {}

    @cached_property
    def failing(self) -> Mapping[str, TestResult]:
        """The tests that failed, by name."""
        return {test.name: test for test in self.evidence.failing} if self.evidence else {}

    @cached_property
    def uncovered(self) -> tuple[str, ...]:
        """The names of failing tests that execute nothing that may be a suspect."""
        if self.report is None:
            return ()
        spectrum = self.spectrum_over_all
        rows = spectrum.failing_index.items()
        return tuple(name for name, row in rows if not spectrum.candidates[spectrum.rows[row]].any())

    @cached_property
    def failed_lines(self) -> tuple[tuple[str, Stack, FailedLine], ...]:
        """The lines of test code in the folder in which failing tests failed, with the name and stack of each test."""
        stacks = self.evidence.stacks if self.evidence else {}
        return tuple(
            (test, stack, line)
            for test in self.failing
            if (stack := stacks.get(test))
            for line in stack.failed_lines
            if line.file in self.inside
        )

    @cached_property
    def other_versions(self) -> tuple[DocumentVersion, ...]:
        """The files that need not be measured but have lines to show: of collection errors, and of failed tests."""
        failed = (DocumentVersion.for_test_line(line) for _, _, line in self.failed_lines)
        return tuple(dict.fromkeys([*map(DocumentVersion.for_error, self.collection_errors), *failed]))

    @cached_property
    def findings(self) -> Mapping[int, tuple[str, ...]]:
        """What runs that Suspectra made itself say about statements, in sentences, by element: repairs come first."""
        repairs, compared = self.repairs, self.compared
        return {element: (*repairs.get(element, ()), *compared.get(element, ())) for element in {**repairs, **compared}}

    @cached_property
    def compared(self) -> Mapping[int, tuple[str, ...]]:
        """How values compare at a statement in all failing tests and in no passing one, in sentences, by element."""
        if self.report is None or self.evidence is None or not self.evidence.observations:
            return {}
        found = separating_in_words(self.evidence.observations, self.report.spectrum)
        return {element: tuple(plain(sentence, MAX_TEXT) for sentence in several) for element, several in found.items()}

    @cached_property
    def repairs(self) -> Mapping[int, tuple[str, ...]]:
        """What alterations of a statement make failing tests pass, in sentences, by element."""
        return {
            element: tuple(
                plain(sentence, MAX_TEXT) for sentence in repairs_in_words(found, element, self.ranked.spectrum)
            )
            for element, found in self._repairs.items()
        }

    def repaired_at(self, suspect: Suspect) -> int:
        """How many failing tests pass with the best alteration of a suspect."""
        return max((repair.repaired for repair in self._repairs.get(suspect.element, ())), default=0)

    @cached_property
    def _repairs(self) -> Mapping[int, tuple[Repair, ...]]:
        if self.report is None or self.evidence is None or not self.evidence.experiments:
            return {}
        return repairs_of(self.evidence.experiments, self.report.spectrum)

    def tie_of(self, suspect: Suspect) -> int:
        """The number of the tie that the tests leave a suspect in, whatever else puts it in order."""
        return int(self.ranked.ties_of([suspect.element])[0])

    @cached_property
    def fixes(self) -> Mapping[int, tuple[MutantFix, ...]]:
        """Mutants that repair all failing tests and break no passing one, by element."""
        if self.report is None or self.evidence is None or not self.evidence.experiments:
            return {}
        spectrum = self.report.spectrum
        found = {
            element: tuple(fix for result in results if (fix := MutantFix.for_result(result, element, spectrum)))
            for element, results in mutant_results(self.evidence.experiments, spectrum).items()
        }
        return {element: several for element, several in found.items() if several}

    @cached_property
    def undos(self) -> Mapping[int, tuple[Undo, ...]]:
        """Changes of the user without which failing tests pass, by element."""
        made = self.evidence.experiments if self.evidence is not None else ()
        found = {
            element: undos_at(made, [one for repair in several for one in repair.found])
            for element, several in self._repairs.items()
        }
        return {element: several for element, several in found.items() if several}

    def first_repair(self, at: Location | None = None) -> tuple[int, tuple[Location, str]] | None:
        """How many statements have repairs; the location and the sentence of the first of these in the ranking.

        Only that statement counts if its location is given.
        """
        only = None if at is None else self.element_of((at.file, at.line))
        return self._first_of({one: said for one, said in self.repairs.items() if at is None or one == only})

    def first_compared(self) -> tuple[int, tuple[Location, str]] | None:
        """How many statements have values that compare so; the first of these in the ranking."""
        return self._first_of(self.compared)

    def _first_of(self, found: Mapping[int, tuple[str, ...]]) -> tuple[int, tuple[Location, str]] | None:
        if not found:
            return None
        level = self.ranked.level
        best = min(found, key=lambda element: (level[element], element))
        return len(found), (self.elements.location(best), found[best][0])

    def failed_in(self, suspect: Suspect) -> str:
        """How many tests failed in a suspect, and by what; empty where none did."""
        if self.evidence is None:
            return ""
        return plain(failure_sentence(self.evidence, self.ranked.spectrum, suspect.element), MAX_TEXT)

    def calls_of(self, test: str) -> list[str]:
        """The calls that were active when a test failed, the innermost first."""
        stack = self.evidence.stacks.get(test) if self.evidence else None
        return [plain(str(frame)) for frame in reversed(stack.frames)] if stack is not None else []

    def function_rank(self, suspect: Suspect) -> int:
        """The rank of the function of a suspect that failing tests execute, the best of a tie."""
        shown = self._function_ranks.get(suspect.element)
        return int(self.ranked.function_ranks([suspect.element])[0]) if shown is None else shown

    @cached_property
    def _function_ranks(self) -> Mapping[int, int]:
        elements = [suspect.element for suspect in self.suspects]
        return dict(zip(elements, self.ranked.function_ranks(elements).tolist(), strict=True))

    def leads(self, suspect: Suspect) -> bool:
        """Whether no shown suspect comes before it, but for those with its score: it begins a first function."""
        return suspect.element in self._leading

    @cached_property
    def _leading(self) -> frozenset[int]:
        best: dict[tuple[str, int], int] = {}
        leading = []
        for suspect in self.suspects:
            function = suspect.location.file, int(self.elements.function[suspect.element])
            first = best.setdefault(function, suspect.rank_best)
            if self.function_rank(suspect) == 1 and suspect.rank_best == first:
                leading.append(suspect.element)
        return frozenset(leading)

    def is_behind(self, suspect: Suspect) -> bool:
        """Whether a shown suspect comes after the first ones of all functions."""
        return suspect.element in self._behind

    @cached_property
    def _behind(self) -> frozenset[int]:
        seen: Counter[tuple[str, int]] = Counter()
        behind = []
        for suspect in self.suspects:
            function = suspect.location.file, int(self.elements.function[suspect.element])
            seen[function] += 1
            if seen[function] > MAX_LINES:
                behind.append(suspect.element)
        return frozenset(behind)

    def tied_beyond(self, suspect: Suspect) -> int:
        """How many lines that failing tests execute have the rank of a shown suspect and are not shown themselves."""
        if suspect.rank_best not in self._shown_at:
            return 0
        tied = self.ranked.top(suspect.rank_worst)[suspect.rank_best - 1 :]
        executed = np.count_nonzero(self.ranked.spectrum.counts.ef[tied])
        return int(executed - self._shown_at[suspect.rank_best])

    @cached_property
    def _shown_at(self) -> Counter[int]:
        return Counter(suspect.rank_best for suspect in self.suspects)

    @property
    def passed(self) -> int:
        """How many tests passed."""
        if self.report is not None:
            return self.report.spectrum.counts.passed
        tests = self.evidence.tests if self.evidence is not None else ()  # where none failed, there is no report
        return sum(test.verdict.counted and not test.verdict.failing for test in tests)

    @property
    def failed(self) -> int:
        """How many tests failed."""
        return self.spectrum_over_all.counts.failed if self.report is not None else len(self.failing)

    def recorded_line(self, element: int) -> RecordedLine:
        """The file and the line of an element, as it was run."""
        elements = self.elements
        return elements.files[elements.file[element]], int(elements.line[element])

    def element_of(self, line: RecordedLine) -> int | None:
        """The element on a line."""
        return self.report.spectrum.elements.at(*line) if self.report is not None else None

    def with_function(self, element: int) -> list[int]:
        """The statements of the function of one; at module level those of the file that are in no function."""
        elements = self.elements
        same = (elements.function == elements.function[element]) & (elements.file == elements.file[element])
        return [int(one) for one in np.flatnonzero(same)]

    def suspect_at(self, file: str, line: int) -> Suspect | None:
        """The ranked statement that contains a line as it was run, if a failing test executes it."""
        if self.report is None or (element := self.report.spectrum.elements.at(file, line)) is None:
            return None
        if self.report.level[element] < 0 or not self.report.spectrum.counts.ef[element]:
            return None
        return self.report.suspect_of(element)

    def shares_score(self, suspect: Suspect) -> bool:
        """Whether the tests leave another suspect equal to one, whatever else puts them in order."""
        return suspect.element in self._tied

    @cached_property
    def _tied(self) -> frozenset[int]:
        """The shown suspects whose score another shown one has."""
        report, elements = self.report, [suspect.element for suspect in self.suspects]
        if report is None:
            return frozenset()
        ties = report.ties_of(elements).tolist()
        size = Counter(ties)
        return frozenset(element for element, tie in zip(elements, ties, strict=True) if size[tie] > 1)

    def explain(self, suspect: Suspect) -> Explanation:
        """Why a suspect has its rank."""
        return self.ranked.explain(self.ranked.position_of(suspect.element))


def _message(report: RankedReport, evidence: Evidence, among: str = "") -> str:
    counts, errors = report.spectrum.counts, evidence.collection_errors
    of_nodes = sum(bool(error.collector) for error in errors)
    message = f"{many(counts.failed, 'failing test')}{among}, {many(counts.passed, 'passing test')}"
    message += f", {many(of_nodes, 'collection error')}" if of_nodes else ""
    of_runs = [error for error in errors if not error.collector]
    said = [error.message if error.exception == CUT_OFF else "the test run failed" for error in of_runs]
    return "; ".join(dict.fromkeys([message, *said]))


@lru_cache(maxsize=8)
def _by_path(elements: Elements) -> Mapping[str, MeasuredFile]:
    return {file.path: file for file in elements.versions if isinstance(file, MeasuredFile)}
