"""What all searches for paths have in common: what they are about, their limits, and how they report."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path as FilePath

from suspectra.errors import EvidenceError, Problem
from suspectra.experiment import Outcome
from suspectra.experiments.recorded_paths import MAX_EVENTS, Paths, RecordedPath
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.experiments.unusable import require_recorded_failure, unusable
from suspectra.paths.distance import parting
from suspectra.paths.path import Path
from suspectra.paths.report import PathReport

Suspiciousness = Callable[[str, int], float]
"""How suspicious a line of a file is, relative to the workspace: of two lines the more suspicious one has more."""


def nothing_known(file: str, line: int) -> float:
    """The suspiciousness of lines of which nothing is known.

    Parameters
    ----------
    file : str
        Relative to the workspace.
    line : int
        From 1.

    Returns
    -------
    float
        The same of all.

    Examples
    --------
    >>> nothing_known("cart.py", 8)
    0.0
    """
    return 0.0


class Order(str, Enum):
    """What makes a path near.

    Examples
    --------
    >>> Order("fewest") is Order.FEWEST
    True
    """

    FEWEST = "fewest"
    """Few events differ. Of paths that are generated with equally many, those differ first in what is suspicious."""
    LATEST = "latest"
    """The branches that come out differently are late in the failing run, as paper 001 orders them (Definition 4)."""


@dataclass(frozen=True)
class PathOptions:
    """What a user can choose besides the technique.

    Parameters
    ----------
    order : Order, optional
        What makes a path near.
    all_modules : bool, optional
        Whether states of modules that may do harm are altered too; see `suspectra.experiments.system_use`.
    ask : callable, optional
        Asks the user whether an outcome is right, for techniques that find inputs for which no test knows that. It gets
        the question, and gives None where the user does not know.

    Examples
    --------
    >>> PathOptions().order.value
    'fewest'
    """

    order: Order = Order.FEWEST
    all_modules: bool = False
    ask: Callable[[str], bool | None] | None = None


@dataclass
class PathSearchLimits:
    """How long to search.

    Parameters
    ----------
    end : float
        When to stop, as ``time.monotonic`` has it. While the user thinks about a question it is put off.
    candidates : int, optional
        How many runs to try or compare at most; each technique has a limit of its own.

    Examples
    --------
    >>> limits = PathSearchLimits(0.0, 20)
    >>> limits.candidates, limits.over
    (20, True)
    """

    end: float
    candidates: int | None = None

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.end


@dataclass(frozen=True)
class PathSetting:
    """What a search for paths is about.

    Parameters
    ----------
    test : FailingTest
        The failing test.
    tests : RepeatedTests
        Runs it and the passing ones; it was made for the kinds of runs that the technique needs.
    paths : Paths
        Records paths.
    passing : sequence of str
        The names of passing tests, those first whose coverage is nearest.
    options : PathOptions, optional
        What the user has chosen.
    workspace : Path, optional
        The folder whose log gets the experiments that are made; None for no log.
    suspiciousness : callable, optional
        Of lines, by all tests.

    Examples
    --------
    >>> test = FailingTest("test_cart.py::test_free", "test_cart.py")
    >>> setting = PathSetting(test, RepeatedTests([], folder, [test]), Paths(folder), passing=["test_price"])
    >>> setting.options.order.value, setting.preferred_first("cart.py", 8)
    ('fewest', 0.0)
    """

    test: FailingTest
    tests: RepeatedTests
    paths: Paths
    passing: Sequence[str]
    options: PathOptions = field(default_factory=PathOptions)
    workspace: FilePath | None = None
    suspiciousness: Suspiciousness = nothing_known

    def preferred_first(self, file: str, line: int) -> float:
        """What orders decisions that can be turned, besides how late they are made.

        Parameters
        ----------
        file : str
            Relative to the workspace.
        line : int
            Of the decision.

        Returns
        -------
        float
            The more, the sooner it is turned: its suspiciousness, or nothing with the order of paper 001.
        """
        return self.suspiciousness(file, line) if self.options.order is Order.FEWEST else 0.0


class PathSearcher(ABC):
    """Searches for a run that passes and goes nearly the way of a failing one.

    Parameters
    ----------
    setting : PathSetting
        What the search is about.

    Attributes
    ----------
    problems : list of Problem
        What could not be done.

    Examples
    --------
    A search that only counts the decisions and calls of the failing test, and of one that passes:

    >>> from types import SimpleNamespace
    >>> from suspectra.experiments.answers import Answer
    >>> class Count(PathSearcher):
    ...     def search(self, limits):
    ...         yield len(self.failing_run()), len(self.record(self.setting.passing[0]).path)
    >>> class Known(Paths):
    ...     def record(self, runs, test, seconds, end, keep):
    ...         return RecordedPath(Answer(Outcome.FAILED, 0.1, ""), Path.from_events([(0, -1, -1), (1, 0, 1)]))
    >>> test, machines = FailingTest("test_free", "test_cart.py"), SimpleNamespace(machine=lambda name, end: None)
    >>> searcher = Count(PathSetting(test, machines, Known(folder), ["test_price"]))
    >>> list(searcher.search(PathSearchLimits(end=0.0)))
    [(2, 2)]
    """

    def __init__(self, setting: PathSetting):
        self.setting = setting
        self.problems: list[Problem] = []

    @abstractmethod
    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Search until nothing is left to be tried, or a limit is met.

        Parameters
        ----------
        limits : PathSearchLimits
            When to stop.

        Returns
        -------
        generator of PathReport
            All that is known, each time that there is more. The last one says whether the search is complete.

        Raises
        ------
        EvidenceError
            When nothing can be found out about the test.
        """

    def record(self, test: str, end: float = math.inf, *, keep: bool = False) -> RecordedPath:
        """Run a test unaltered, and note its path.

        Parameters
        ----------
        test : str
            Its name.
        end : float
            When the test has to be over, as ``time.monotonic`` has it.
        keep : bool
            See :meth:`~suspectra.experiments.runs.Runs.ask`.

        Returns
        -------
        RecordedPath
            However the test ends.

        Raises
        ------
        TimeIsUp
            When it was not over by then.
        """
        return self.setting.paths.record(self.setting.tests.machine(test, end), test, TRACE_S, end, keep)

    def failing_run(self) -> Path:
        """Record the path of the failing test twice.

        Returns
        -------
        Path
            The same both times.

        Raises
        ------
        EvidenceError
            When it passes, fails with another exception than recorded, takes another path each time, or executes
            nothing of the program.
        """
        name = self.setting.test.name
        first, again = self.record(name), self.record(name)
        if first.answer.outcome is not Outcome.FAILED:
            raise unusable(name, first.answer.outcome, seconds=TRACE_S, decisions=MAX_EVENTS)
        require_recorded_failure(name, self.setting.test.exception, first.answer)
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


@dataclass
class RunningSearch(ABC):
    """A search for paths while it goes on: what is known, and since when.

    Attributes
    ----------
    problems : list of Problem
        What could not be done, and what is different from other runs of the tests.

    Examples
    --------
    >>> @dataclass
    ... class Search(RunningSearch):
    ...     def nothing(self):
    ...         return PathReport("nearest-path", "test_a", (), None, (), 0, False, 0.0)
    ...     def reports(self):
    ...         limits = self.begin(30.0)
    ...         is_right = self.asking(lambda question: time.sleep(0.01) or question == "1 + 1 gives 2: right?", limits)
    ...         before = limits.end
    ...         yield from self.follow(iter([replace(self.nothing(), complete=is_right("1 + 1 gives 2: right?"))]))
    ...         print("the time of the answer does not count:", limits.end > before)
    >>> search = Search()
    >>> search.report.complete, [report.complete for report in search.reports()], search.report.complete
    the time of the answer does not count: True
    (False, [True], True)
    """

    problems: list[Problem] = field(default_factory=list, init=False)
    _known: PathReport | None = field(default=None, init=False)
    _began: float = field(default=0.0, init=False)

    @abstractmethod
    def nothing(self) -> PathReport:
        """What is known before the search.

        Returns
        -------
        PathReport
            About the test, without any place.
        """

    def begin(self, seconds: float) -> PathSearchLimits:
        """Count the time from now on.

        Parameters
        ----------
        seconds : float
            For the search.

        Returns
        -------
        PathSearchLimits
            Its limits.
        """
        self._began = time.monotonic()
        return PathSearchLimits(self._began + seconds)

    def asking(
        self, ask: Callable[[str], bool | None] | None, limits: PathSearchLimits
    ) -> Callable[[str], bool | None] | None:
        """Ask the user, who may take any time.

        Parameters
        ----------
        ask : callable or None
            See `PathOptions`.
        limits : PathSearchLimits
            Those of the search.

        Returns
        -------
        callable or None
            Asks the same, and puts the end of the search off for as long as the answer takes.
        """
        if ask is None:
            return None

        def patiently(question: str) -> bool | None:
            asked = time.monotonic()
            try:
                return ask(question)
            finally:
                waited = time.monotonic() - asked
                limits.end += waited
                self._began += waited

        return patiently

    def follow(self, reports: Iterator[PathReport]) -> Generator[PathReport]:
        """Keep what a search reports.

        Parameters
        ----------
        reports : iterator of PathReport
            As `PathSearcher.search` gives them.

        Yields
        ------
        PathReport
            The same, with the time that it took.
        """
        for known in reports:
            self._known = known
            yield self.report

    @property
    def report(self) -> PathReport:
        """What is known so far."""
        seconds = time.monotonic() - self._began if self._began else 0.0
        return replace(self._known or self.nothing(), seconds=seconds)
