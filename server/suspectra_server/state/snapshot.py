"""What the features read: a ranking, and where its suspects stand in the text. Immutable; a change makes a new one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from suspectra.errors import Problem
from suspectra.evidence.evidence import Evidence, MeasuredFile, TestResult
from suspectra.location import Location
from suspectra.recording.collection import CollectionError
from suspectra.report import Explanation, RankedReport, Subgraph, SubgraphReport, Suspect
from suspectra.spectrum import Elements
from suspectra.techniques.technique import Technique
from suspectra_server.protocol import State
from suspectra_server.state.documents import Placement

if TYPE_CHECKING:
    from suspectra_server.state.navigation import Guide

Place = tuple[str, int]  # a file, and a line of it as it was run


class Band(str, Enum):
    """How far up a suspect stands, by its average rank.

    Absolute ranks, because they say how much a reader will look at: most programmers give up after five suspects
    and nearly all after ten (Kochhar, Xia, Lo & Li 2016, "Practitioners' expectations on automated fault
    localization"). The mean over a tie, so that fifty lines that can't be told apart don't all shout.
    """

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @classmethod
    def of(cls, suspect: Suspect) -> Band:
        """The band of a suspect."""
        if suspect.rank_average <= 5:
            return cls.HIGH
        return cls.MEDIUM if suspect.rank_average <= 10 else cls.LOW


@dataclass(frozen=True, eq=False)
class Ranking:
    """The outcome of one localization: suspects in the lines of the run, or why there are none."""

    state: State
    message: str
    technique: Technique
    problems: tuple[Problem, ...] = ()
    evidence: Evidence | None = None
    report: RankedReport | None = None
    suspects: tuple[Suspect, ...] = ()
    collection_errors: tuple[CollectionError, ...] = ()
    inside: frozenset[str] = frozenset()  # files of tests and of collection errors that lie in the folder

    @classmethod
    def of(
        cls,
        technique: Technique,
        evidence: Evidence,
        report: RankedReport,
        problems: list[Problem],
        top: int,
        inside: frozenset[str] = frozenset(),
    ) -> Ranking:
        """The first `top` suspects of a report. A line that no failing test executes is none."""
        counts = report.spectrum.counts
        suspects = tuple(report.suspects_of(_executed(report, top)))
        message = f"{many(counts.failed, 'failing test')}, {many(counts.passed, 'passing test')}"
        errors = evidence.collection_errors
        if errors:
            message += f", {many(len(errors), 'collection error')}"
        return cls(State.READY, message, technique, tuple(problems), evidence, report, suspects, errors, inside)

    def with_trouble(self, newer: Ranking) -> Ranking:
        """The same ranking, kept as the last good one while newer evidence gives none."""
        return replace(
            self,
            state=newer.state,
            message=newer.message,
            problems=newer.problems,
            collection_errors=newer.collection_errors,
            inside=self.inside | newer.inside,
        )

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
        tests = self.evidence.tests if self.evidence else ()
        return {test.name: test for test in tests if test.verdict.failing}

    @cached_property
    def tied_beyond(self) -> int:
        """How many lines that failing tests execute are left out here only because the list ends within their tie."""
        if self.report is None or not self.suspects:
            return 0
        level, last = self.report.level, self.suspects[-1]
        tied = (level == level[last.element]) & (self.report.spectrum.counts.ef > 0)
        return int(tied.sum() - sum(suspect.rank_best == last.rank_best for suspect in self.suspects))

    def is_cut(self, suspect: Suspect) -> bool:
        """Whether others have the score of a suspect and are left out."""
        return bool(self.tied_beyond) and suspect.rank_best == self.suspects[-1].rank_best

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return self.report.spectrum.counts.passed if self.report is not None else 0

    @property
    def failed(self) -> int:
        """How many tests failed."""
        return self.report.spectrum.counts.failed if self.report is not None else 0

    def place_of(self, element: int) -> Place:
        """Where an element stands, in the lines of the run."""
        elements = self.report.spectrum.elements
        return elements.files[elements.file[element]], int(elements.line[element])

    def element_of(self, place: Place) -> int | None:
        """The element at a place."""
        return self.report.spectrum.elements.at(*place) if self.report is not None else None

    def suspect_at(self, file: str, line: int) -> Suspect | None:
        """The ranked statement that holds a line as it was run, if a failing test executes it."""
        if self.report is None or (element := self.report.spectrum.elements.at(file, line)) is None:
            return None
        if self.report.level[element] < 0 or not self.report.spectrum.counts.ef[element]:
            return None
        return self.report.suspect_of(element)

    def explain(self, suspect: Suspect) -> Explanation:
        """Why a suspect stands where it stands."""
        return self.report.explain(self.report.position_of(suspect.element))


@dataclass(frozen=True)
class Mark:
    """A suspect where it stands in the text now.

    Parameters
    ----------
    suspect : Suspect
        As ranked, in the lines of the run.
    first, last : int
        Lines now, counted from 0.
    start, end : int
        Columns in code points: the first character of the first line that is not blank, the end of the last line.
    line_end : int
        The end of the first line.
    examined : bool
        The reader is done with it, whether they looked at it or know it to be innocent.
    innocent : bool
    """

    suspect: Suspect
    first: int
    last: int
    start: int
    end: int
    line_end: int
    examined: bool
    innocent: bool = False

    @property
    def file(self) -> str:
        """The file, relative to the workspace folder."""
        return self.suspect.location.file

    @property
    def place(self) -> Place:
        """Its file and its first line as it was run."""
        return self.suspect.location.file, self.suspect.location.line

    @property
    def band(self) -> Band:
        """How far up it stands."""
        return Band.of(self.suspect)

    def holds(self, line: int) -> bool:
        """Whether a line, counted from 0, belongs to it."""
        return self.first <= line <= self.last


@dataclass(frozen=True)
class ErrorMark:
    """Something that kept tests from being collected, where it stands in the text now.

    Parameters
    ----------
    error : CollectionError
    line : int or None
        Counted from 0; None where the line was edited or its text was never seen.
    start, end : int
        Columns in code points, without the blanks around the text of the line.
    """

    error: CollectionError
    line: int | None = None
    start: int = 0
    end: int = 0

    @classmethod
    def of(cls, error: CollectionError, placement: Placement | None) -> ErrorMark:
        """The mark of an error, given where the lines of its file stand."""
        place = placement.place(Location(error.file, error.line, error.line)) if placement else None
        if place is None:
            return cls(error)
        text = placement.now[place[0]]
        return cls(error, place[0], len(text) - len(text.lstrip()), _end(text))


@dataclass(frozen=True)
class Region:
    """Statements one after the other that belong to one suspicious behaviour.

    Parameters
    ----------
    number : int
        Position of the subgraph in the report, counted from 1.
    subgraph : Subgraph
    part, parts : int
        Which of its regions this is, counted from 1, and how many there are.
    marks : tuple of Mark
        Of its statements, in the order of lines; none is examined.
    """

    number: int
    subgraph: Subgraph
    part: int
    parts: int
    marks: tuple[Mark, ...]

    @property
    def best(self) -> Mark:
        """Its most suspicious statement."""
        return min(self.marks, key=lambda mark: mark.suspect.rank_best)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A ranking laid over the texts as they are at one moment.

    Parameters
    ----------
    ranking : Ranking
    placements : mapping of str to Placement
        Of each file that holds a suspect or is open, where its text as run and its text now are known.
    examined, innocent : frozenset of (file, line as run)
    guide : Guide, optional
        Where to look next, once that is known.
    by_steps : bool
        Suspects stand in the order of expected steps, where these are known.
    errors : tuple of ErrorMark
        What kept tests from being collected.
    """

    ranking: Ranking
    placements: Mapping[str, Placement] = field(default_factory=dict)
    examined: frozenset[Place] = frozenset()
    innocent: frozenset[Place] = frozenset()
    guide: Guide | None = None
    by_steps: bool = False
    errors: tuple[ErrorMark, ...] = ()

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """The suspects that can be placed, best first. One whose lines were edited can't."""
        marks = [mark for suspect in self.ranking.suspects if (mark := self._mark(suspect))]
        if self.by_steps:
            marks.sort(key=self.place_in_order)
        return tuple(marks)

    def place_in_order(self, mark: Mark) -> tuple[float, int]:
        """What suspects are sorted by: expected steps where they are asked for and known, then rank."""
        steps = self.steps(mark.suspect.element) if self.by_steps else None
        return (float("inf") if self.by_steps and steps is None else steps or 0.0), mark.suspect.rank_best

    def steps(self, element: int) -> float | None:
        """Expected steps from the top of the ranking; None where they are not known, or beyond any number."""
        if self.guide is None or self.guide.steps is None:
            return None
        steps = float(self.guide.steps[element])
        return steps if math.isfinite(steps) else None

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The subgraphs that hold suspects, as regions of the text; a statement belongs to its best subgraph.

        Empty for a report without subgraphs.
        """
        report = self.ranking.report
        if not isinstance(report, SubgraphReport):
            return ()
        shown = {suspect.element for suspect in self.ranking.suspects}
        taken: set[int] = set()
        regions: list[Region] = []
        for number, subgraph in enumerate(report.subgraphs, 1):
            own = [element for element in subgraph.elements.tolist() if element not in taken]
            taken.update(own)
            if shown.isdisjoint(own):
                continue
            marks = [mark for element in own if (mark := self._mark(report.suspect_of(element))) and not mark.examined]
            runs = _runs(marks)
            regions += [Region(number, subgraph, i, len(runs), tuple(run)) for i, run in enumerate(runs, 1)]
        return tuple(regions)

    @cached_property
    def by_file(self) -> Mapping[str, tuple[Mark, ...]]:
        """The marks of each file, best first."""
        files: dict[str, list[Mark]] = {}
        for mark in self.marks:
            files.setdefault(mark.file, []).append(mark)
        return {file: tuple(marks) for file, marks in files.items()}

    @cached_property
    def unplaceable(self) -> Mapping[str, int]:
        """Files whose text as run was never seen or that are gone, with their numbers of suspects."""
        files: dict[str, int] = {}
        for suspect in self.ranking.suspects:
            if suspect.location.file not in self.placements:
                files[suspect.location.file] = files.get(suspect.location.file, 0) + 1
        return files

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """Files that hold suspects and are not as they were when the tests ran."""
        files = dict.fromkeys(suspect.location.file for suspect in self.ranking.suspects)
        return tuple(file for file in files if file not in self.placements or self.placements[file].changed)

    @property
    def state(self) -> State:
        """The ranking's state, or that the sources have moved on since."""
        return State.STALE if self.ranking.state is State.READY and self.changed else self.ranking.state

    @property
    def message(self) -> str:
        """One sentence for people."""
        if self.state is not State.STALE or self.ranking.state is State.STALE:
            return self.ranking.message
        files = self.changed[0] if len(self.changed) == 1 else f"{len(self.changed)} files with suspects"
        return f"{files} changed since the tests ran"

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the evidence, and which suspects can't be shown for it."""
        lost = tuple(
            Problem(
                file,
                "",
                f"it changed since the tests ran, so its {many(count, 'suspect')} can't be placed",
                "run the tests again",
            )
            for file, count in self.unplaceable.items()
        )
        return self.ranking.problems + lost

    def marks_at(self, file: str, line: int) -> tuple[Mark, ...]:
        """The marks on a line, counted from 0."""
        return tuple(mark for mark in self.by_file.get(file, ()) if mark.holds(line))

    def element_at(self, file: str, line: int) -> int | None:
        """The measured statement on a line, counted from 0."""
        placement, report = self.placements.get(file), self.ranking.report
        origin = placement.origin(line) if placement else None
        return report.spectrum.elements.at(file, origin) if origin and report is not None else None

    def suspect_at(self, file: str, line: int) -> Suspect | None:
        """The ranked statement on a line, counted from 0, marked or further down."""
        placement = self.placements.get(file)
        origin = placement.origin(line) if placement else None
        suspect = self.ranking.suspect_at(file, origin) if origin else None
        return suspect if suspect and placement.place(suspect.location) else None

    def _mark(self, suspect: Suspect) -> Mark | None:
        placement = self.placements.get(suspect.location.file)
        if placement is None or (lines := placement.place(suspect.location)) is None:
            return None
        first, last = lines
        text = placement.now[first]
        start = len(text) - len(text.lstrip())
        place = (suspect.location.file, suspect.location.line)
        innocent = place in self.innocent
        done = innocent or place in self.examined
        return Mark(suspect, first, last, start, _end(placement.now[last]), _end(text), done, innocent)


@lru_cache(maxsize=8)
def _by_path(elements: Elements) -> Mapping[str, MeasuredFile]:
    return {file.path: file for file in elements.versions}


def _executed(report: RankedReport, top: int) -> list[int]:
    """The first `top` elements that a failing test executes."""
    ef, wanted = report.spectrum.counts.ef, top
    while True:
        first = report.top(wanted)
        executed = first[ef[first] > 0][:top]
        if len(executed) == top or len(first) < wanted:
            return executed.tolist()
        wanted *= 8


def _runs(marks: list[Mark]) -> list[list[Mark]]:
    """Marks in the order of elements, parted where another statement stands between two."""
    runs: list[list[Mark]] = []
    for mark in marks:
        before = runs[-1][-1] if runs else None
        follows = before and before.file == mark.file and before.suspect.element + 1 == mark.suspect.element
        if follows and before.last <= mark.first:
            runs[-1].append(mark)
        else:
            runs.append([mark])
    return runs


def _end(line: str) -> int:
    return len(line.rstrip())


def many(count: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
