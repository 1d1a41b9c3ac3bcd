"""What all searches for paths have in common: what they are about, their limits, and how they report."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path as FilePath

from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.logs.path_reports import add_report
from suspectra.experiments.inquiry import Inquiry
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.experiments.run_answers import AlteredRunAnswer
from suspectra.experiments.unusable_tests import require_recorded_failure, unusable
from suspectra.paths.distance import parting
from suspectra.paths.path import Path
from suspectra.paths.report import PathReport
from suspectra.paths.searches.recorded_paths import MAX_EVENTS, Paths, RecordedPath
from suspectra.runs.experiment import ExperimentOutcome
from suspectra.spectrum import Spectrum

Suspiciousness = Callable[[str, int], float]
"""How suspicious a line of a file is, relative to the workspace: of two lines the more suspicious one has more."""


def nothing_known(file: str, line: int) -> float:
    """The suspiciousness of lines of which nothing is known."""
    return 0.0


class Nearness(str, Enum):
    """What makes a path near."""

    FEWEST = "fewest"
    """Few events differ. Of paths that are generated with equally many, those differ first in what is suspicious."""
    LATEST = "latest"
    """The branches that come out differently are late in the failing run, as paper 001 orders them (Definition 4)."""


@dataclass(frozen=True)
class PathOptions:
    """What a user can choose besides the technique."""

    order: Nearness | None = None  # what makes a path near; None for what suits a technique
    # asks the user whether an outcome is right, for techniques that find inputs for which no test knows that
    ask: Callable[[str], bool | None] | None = None


@dataclass
class PathSearchLimits:
    """How long to search."""

    end: float  # when to stop, as `time.monotonic` has it. While the user thinks about a question it is put off
    candidates: int | None = None  # how many runs to try or compare at most; each technique has a limit of its own

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.end

    def put_off(self, seconds: float) -> None:
        """Stop so much later."""
        self.end += seconds


@dataclass(frozen=True)
class PathSetting:
    """What a search for paths is about."""

    test: FailingTest
    tests: RepeatedTests  # runs it and the passing ones; it was made for the kinds of runs that the technique needs
    paths: Paths  # records paths
    passing: Sequence[str]  # the names of passing tests, those first whose coverage is nearest
    options: PathOptions = field(default_factory=PathOptions)  # what the user has chosen
    workspace: FilePath | None = None  # the folder whose log gets the experiments that are made; None for no log
    suspiciousness: Suspiciousness = nothing_known  # of lines, by all tests

    def preferred_first(self, file: str, line: int) -> float:
        """What orders decisions that can be turned, besides how late they are made.

        The more, the sooner it is turned: its suspiciousness, or nothing with the order of paper 001.
        """
        return self.suspiciousness(file, line) if self.options.order is not Nearness.LATEST else 0.0


class PathSearcher(ABC):
    """Searches for a run that passes and goes nearly the way of a failing one."""

    def __init__(self, setting: PathSetting):
        self.setting = setting  # what the search is about
        self.problems: list[Problem] = []  # what could not be done

    @abstractmethod
    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Search until nothing is left to be tried, or a limit is met.

        All that is known, each time that there is more. The last one says whether the search is complete.

        Raises EvidenceError when nothing can be found out about the test.
        """

    def record(self, test: str, end: float = math.inf, *, keep: bool = False) -> RecordedPath:
        """Run a test unaltered, and note its path.

        Raises TimeIsUp when it was not over by then.
        """
        return self.setting.paths.record(self.setting.tests.machine(test, end), test, TRACE_S, end, keep)

    def require_failure(self, answer: AlteredRunAnswer) -> None:
        """Refuse a failing test that ended in another way than it was recorded.

        Raises EvidenceError with how it ended.
        """
        name = self.setting.test.name
        if answer.outcome is not ExperimentOutcome.FAILED:
            raise unusable(name, answer.outcome, seconds=TRACE_S, decisions=MAX_EVENTS)
        require_recorded_failure(name, self.setting.test.exception, answer)

    def failing_run(self) -> Path:
        """Record the path of the failing test twice.

        Raises EvidenceError when it passes, fails with another exception than recorded, takes another path each time,
        or executes nothing of the program.
        """
        name = self.setting.test.name
        first, again = self.record(name), self.record(name)
        self.require_failure(first.answer)
        if not len(first.path):
            cause = f"{name} makes no decision in the program, and calls none of its functions"
            cure = "choose a test that executes code of the workspace"
        elif (differs := parting(first.path, again.path)) is not None:
            place = min(differs.position, len(first.path) - 1)
            where = self.setting.paths.places[int(first.path.statement[place])].location.short
            cause = f"two runs of {name} take different paths, from {where} on"
            cure = "let it not depend on time, chance, threads or what ran before"
        else:
            return first.path
        raise EvidenceError(Problem("", "", cause, cure))


@dataclass(kw_only=True)
class SearchInquiry(Inquiry[PathReport]):
    """Asks for a run that passes and goes nearly the way of a failing test, by a technique that searches for paths."""

    test: FailingTest  # the test that fails
    spectrum: Spectrum  # which tests execute what
    technique: str  # its name
    options: PathOptions = field(default_factory=PathOptions)  # what else the user has chosen
    seconds: float = 30.0
    _known: PathReport | None = field(default=None, init=False)

    @property
    def report(self) -> PathReport:
        """What is known so far."""
        nothing = PathReport(self.technique, self.test.name, (), None, (), 0, False, 0.0)
        return replace(self._known or nothing, seconds=self.elapsed)

    def follow(self, reports: Generator[PathReport]) -> Generator[PathReport]:
        """Keep what a search reports."""
        with closing(reports):
            for known in reports:
                self._known, self.complete = known, known.complete
                yield self.report

    def keep(self, workspace: FilePath, sources: Mapping[str, str]) -> None:
        """Add what was found to the log of a workspace.

        Raises EvidenceError when the log can't be written.
        """
        add_report(workspace, self.test.name, self.technique, self.report.lines, sources)
