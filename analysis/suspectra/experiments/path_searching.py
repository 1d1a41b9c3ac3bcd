"""What all searches for paths have in common: what they are about, their limits, and how they report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path as FilePath

from suspectra.errors import EvidenceError, Problem
from suspectra.experiment import Outcome
from suspectra.experiments.recorded_paths import MAX_EVENTS, Paths, RecordedPath
from suspectra.experiments.repeated_test import TRACE_S
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.experiments.unusable import unusable
from suspectra.paths.distance import parting
from suspectra.paths.path import Path
from suspectra.paths.report import PathReport


class Order(str, Enum):
    """What makes a path near.

    Examples
    --------
    >>> Order("fewest") is Order.FEWEST
    True
    """

    FEWEST = "fewest"
    """Few events differ."""
    LATEST = "latest"
    """The branches that come out differently are late in the failing run, as paper 001 orders them (Definition 4)."""


@dataclass(frozen=True)
class PathOptions:
    """What a user can choose besides the technique.

    Parameters
    ----------
    order : Order, optional
        What makes a path near, for techniques that compare given runs.
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


@dataclass(frozen=True)
class PathSearchLimits:
    """How long to search.

    Parameters
    ----------
    end : float
        When to stop, as ``time.monotonic`` has it.
    candidates : int, optional
        How many runs to try or compare at most; each technique has a limit of its own.

    Examples
    --------
    >>> PathSearchLimits(0.0, 20).candidates
    20
    """

    end: float
    candidates: int | None = None


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

    Examples
    --------
    >>> test = FailingTest("test_cart.py::test_free", "test_cart.py")
    >>> setting = PathSetting(test, RepeatedTests([], folder, [test]), Paths(folder), passing=["test_price"])
    >>> setting.options.order.value
    'fewest'
    """

    test: FailingTest
    tests: RepeatedTests
    paths: Paths
    passing: Sequence[str]
    options: PathOptions = field(default_factory=PathOptions)
    workspace: FilePath | None = None


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
    >>> from suspectra.experiments.runs import Answer
    >>> class Count(PathSearcher):
    ...     def search(self, limits):
    ...         yield len(self.failing_run()), len(self.record(self.setting.passing[0]).path)
    >>> class Known(Paths):
    ...     def record(self, runs, test, seconds):
    ...         return RecordedPath(Answer(Outcome.FAILED, 0.1, ""), Path.from_events([(0, -1, -1), (1, 0, 1)]))
    >>> test, machines = FailingTest("test_free", "test_cart.py"), SimpleNamespace(machine=lambda name: None)
    >>> searcher = Count(PathSetting(test, machines, Known(folder), ["test_price"]))
    >>> list(searcher.search(PathSearchLimits(end=0.0)))
    [(2, 2)]
    """

    def __init__(self, setting: PathSetting):
        self.setting = setting
        self.problems: list[Problem] = []

    @abstractmethod
    def search(self, limits: PathSearchLimits) -> Iterator[PathReport]:
        """Search until nothing is left to be tried, or a limit is met.

        Parameters
        ----------
        limits : PathSearchLimits
            When to stop.

        Returns
        -------
        iterator of PathReport
            All that is known, each time that there is more. The last one says whether the search is complete.

        Raises
        ------
        EvidenceError
            When nothing can be found out about the test.
        """

    def record(self, test: str) -> RecordedPath:
        """Run a test unaltered, and note its path.

        Parameters
        ----------
        test : str
            Its name.

        Returns
        -------
        RecordedPath
            However the test ends.
        """
        return self.setting.paths.record(self.setting.tests.machine(test), test, TRACE_S)

    def failing_run(self) -> Path:
        """Record the path of the failing test twice.

        Returns
        -------
        Path
            The same both times.

        Raises
        ------
        EvidenceError
            When it passes, takes another path each time, or executes nothing of the program.
        """
        name = self.setting.test.name
        first, again = self.record(name), self.record(name)
        if first.answer.outcome is not Outcome.FAILED:
            raise unusable(name, first.answer.outcome, seconds=TRACE_S, decisions=MAX_EVENTS)
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
