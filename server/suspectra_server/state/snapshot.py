"""What the features read: a ranking, and where its suspects are in the present texts. Immutable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from suspectra.base.english import many
from suspectra.base.errors import Problem
from suspectra.program.languages import is_c
from suspectra.report import Subgraph, SubgraphReport, Suspect
from suspectra_server.messages import FolderState
from suspectra_server.state.documents import Placement
from suspectra_server.state.marks import ErrorMark, FailureMark, Mark, end_of
from suspectra_server.state.navigation import NavigationModel
from suspectra_server.state.ranking import Ranking, RecordedLine


@dataclass(frozen=True)
class Region:
    """Consecutive statements of one suspicious behaviour."""

    number: int  # position of the subgraph in the report, counted from 1
    subgraph: Subgraph
    part: int  # the number of this region in its behaviour, counted from 1
    parts: int  # how many regions the behaviour has
    marks: tuple[Mark, ...]  # of its statements, in the order of lines; none is examined

    @property
    def best(self) -> Mark:
        """Its most suspicious statement."""
        return min(self.marks, key=lambda mark: mark.suspect.rank_best)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A ranking, and the present texts at one moment."""

    ranking: Ranking
    # of each file that has a suspect or is open, if its text as run and its present text are known
    placements: Mapping[str, Placement] = field(default_factory=dict)
    examined: frozenset[RecordedLine] = frozenset()
    innocent: frozenset[RecordedLine] = frozenset()
    navigation: NavigationModel | None = None  # where to look next, once that is computed
    by_steps: bool = False  # whether suspects are in the order of expected steps, where these are known
    errors: tuple[ErrorMark, ...] = ()  # what kept tests from being collected
    failures: tuple[FailureMark, ...] = ()  # the failing tests of all groups at the lines in which they failed
    # for suspects in a tie what would tell it apart, in one sentence, by element
    next_steps: Mapping[int, str] = field(default_factory=dict)
    saved: str = ""  # a source that was saved, and whose tests have not all run since; empty for none

    def differs_from(self, other: Snapshot) -> bool:
        """Whether there is any difference to show."""
        same = self.ranking is other.ranking and self.navigation is other.navigation
        names = ("placements", "examined", "innocent", "by_steps", "errors", "failures", "next_steps", "saved")
        return not (same and all(getattr(self, name) == getattr(other, name) for name in names))

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """The suspects that can be placed, in the order of a reader. One whose lines were edited can't."""
        marks = self._with_statements([mark for suspect in self.ranking.suspects if (mark := self._mark(suspect))])
        if self.by_steps:
            marks.sort(key=self.sort_key)
        return tuple(marks)

    def _with_statements(self, marks: list[Mark]) -> list[Mark]:
        """Marks without the lines of C that only open or close a function or a block, unless it has no others.

        gcov counts them, and nobody looks for a fault there.
        """
        statements = [mark for mark in marks if not self._only_opens_or_closes(mark)]
        if len(statements) == len(marks):
            return marks
        there = {(mark.file, mark.suspect.function) for mark in statements}
        kept = {mark.suspect.element for mark in statements}
        return [m for m in marks if m.suspect.element in kept or (m.file, m.suspect.function) not in there]

    def _only_opens_or_closes(self, mark: Mark) -> bool:
        if not is_c(mark.file):
            return False
        text = self.placements[mark.file].now[mark.first].strip()
        elements = self.ranking.elements
        function = int(elements.function[mark.suspect.element])
        opens = function >= 0 and elements.functions[function].line == mark.suspect.location.line and ";" not in text
        return opens or not text.strip("{}(); \t")

    def sort_key(self, mark: Mark) -> tuple[float, int]:
        """The key by which marks of several folders are merged, each in the order of a reader.

        Expected steps if the settings say so, then rank; else functions with their best statements, then the others.
        """
        if not self.by_steps:
            return float(self.ranking.is_behind(mark.suspect)), self.ranking.function_rank(mark.suspect)
        steps = self.steps(mark.suspect.element)
        return float("inf") if steps is None else steps, mark.suspect.rank_best

    def steps(self, element: int) -> float | None:
        """Expected steps from the top of the ranking; None where they are not known, or beyond any number."""
        if self.navigation is None or self.navigation.steps is None:
            return None
        steps = float(self.navigation.steps[element])
        return steps if math.isfinite(steps) else None

    @cached_property
    def unexplained(self) -> tuple[str, ...]:
        """The failing tests, of those whose suspects are listed, that execute none of these."""
        explained = {test for suspect in self.ranking.suspects for test in suspect.failing_tests}
        group = self.ranking.group
        # the tests of one of several groups share what they execute, or the user has put them together
        tests = group.uncovered if group else self.ranking.failing
        return tuple(test for test in tests if test not in explained) if explained else ()

    @cached_property
    def failure_of(self) -> Mapping[str, FailureMark]:
        """Of each failing test the mark at its own line, or else the one in the helper in which it failed."""
        return {mark.test: mark for mark in reversed(self.failures)}

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The subgraphs with suspects, as regions of the text; a statement belongs to its best subgraph.

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
    def first(self) -> tuple[Mark, ...]:
        """The first statement of each function of the best rank, of what is not examined."""
        open_ones = [mark for mark in self.marks if not mark.examined]
        best = min((self.ranking.function_rank(mark.suspect) for mark in open_ones), default=0)
        functions: dict[tuple[str, str], Mark] = {}
        for mark in open_ones:
            if self.ranking.function_rank(mark.suspect) == best:
                functions.setdefault((mark.file, mark.suspect.function), mark)
        return tuple(functions.values())

    @cached_property
    def by_file(self) -> Mapping[str, tuple[Mark, ...]]:
        """The marks of each file, best first."""
        files: dict[str, list[Mark]] = {}
        for mark in sorted(self.marks, key=lambda mark: mark.suspect.rank_best):
            files.setdefault(mark.file, []).append(mark)
        return {file: tuple(marks) for file, marks in files.items()}

    @cached_property
    def unplaceable(self) -> Mapping[str, int]:
        """Files that are gone or whose text as run was never read, with their numbers of suspects."""
        files: dict[str, int] = {}
        for suspect in self.ranking.suspects:
            if suspect.location.file not in self.placements:
                files[suspect.location.file] = files.get(suspect.location.file, 0) + 1
        return files

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """Files with suspects that have changed since the tests ran."""
        files = dict.fromkeys(suspect.location.file for suspect in self.ranking.suspects)
        return tuple(file for file in files if file not in self.placements or self.placements[file].changed)

    @property
    def state(self) -> FolderState:
        """The state of the ranking, or `STALE` if sources have changed since."""
        ranked, evidence = self.ranking.state, self.ranking.evidence
        if ranked is FolderState.READY and (self.saved or self.changed):
            return FolderState.STALE
        # what keeps tests from running must be said; that nothing can be ranked so far, or that the user has stopped a
        # run, need not
        broken = any(mark.error.file or not mark.error.is_cut_off for mark in self.errors)
        unranked = ranked is FolderState.ERROR and evidence is not None and not broken
        old = self.saved or self._repaired
        return FolderState.STALE if old and (unranked or ranked is FolderState.NO_FAILING_TESTS) else ranked

    @property
    def _repaired(self) -> str:
        """A file that could not be parsed when tests were collected, and can be now; empty for none."""
        shown = {mark.error for mark in self.errors}
        return next((error.file for error in self.ranking.collection_errors if error not in shown), "")

    @property
    def message(self) -> str:
        """One sentence for people."""
        if self.state is not FolderState.STALE or self.ranking.state is FolderState.STALE:
            return self.ranking.message
        if self.saved:
            return f"{self.saved} was saved since, and not all tests that it can affect have run"
        if self._repaired and not self.changed:
            return f"{self._repaired} was repaired since. Run the tests again"
        files = self.changed[0] if len(self.changed) == 1 else f"{len(self.changed)} files with suspects"
        return f"{files} changed since the tests ran"

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the evidence, and which suspects can't be shown."""
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
        return tuple(mark for mark in self.by_file.get(file, ()) if mark.contains(line))

    def element_at(self, file: str, line: int) -> int | None:
        """The measured statement on a line, counted from 0."""
        placement, report = self.placements.get(file), self.ranking.report
        origin = placement.origin(line) if placement else None
        return report.spectrum.elements.at(file, origin) if origin and report is not None else None

    def suspect_at(self, file: str, line: int) -> Suspect | None:
        """The ranked statement on a line, counted from 0, marked or further down in the ranking."""
        placement = self.placements.get(file)
        origin = placement.origin(line) if placement else None
        suspect = self.ranking.suspect_at(file, origin) if origin else None
        return suspect if suspect and placement and placement.current_lines(suspect.location) else None

    def _mark(self, suspect: Suspect) -> Mark | None:
        placement = self.placements.get(suspect.location.file)
        if placement is None or (lines := placement.current_lines(suspect.location)) is None:
            return None
        first, last = lines
        text = placement.now[first]
        start = len(text) - len(text.lstrip())
        place = (suspect.location.file, suspect.location.line)
        innocent = place in self.innocent
        done = innocent or place in self.examined
        return Mark(suspect, first, last, start, end_of(placement.now[last]), end_of(text), done, innocent)


def _runs(marks: list[Mark]) -> list[list[Mark]]:
    """Split marks in the order of elements into runs without another statement in between."""
    runs: list[list[Mark]] = []
    for mark in marks:
        before = runs[-1][-1] if runs else None
        if (
            before is not None
            and before.file == mark.file
            and before.suspect.element + 1 == mark.suspect.element
            and before.last <= mark.first
        ):
            runs[-1].append(mark)
        else:
            runs.append([mark])
    return runs
