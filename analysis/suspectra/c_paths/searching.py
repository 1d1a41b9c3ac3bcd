"""What searches for paths of compiled programs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from suspectra.c_paths.flow import Flow, unsteady
from suspectra.c_paths.traced_run import TracedRun
from suspectra.c_paths.traced_tests import TracedTests
from suspectra.cancellation import Token
from suspectra.errors import EvidenceError, Problem
from suspectra.evidence.evidence import Verdict
from suspectra.experiments.path_searching import PathOptions, PathSearchLimits
from suspectra.paths.report import PathReport
from suspectra.quantity import are, first_of, many
from suspectra.spectrum import Spectrum

_STEADY = 0.5  # the share of a failing run's events that must be the same each time
_MAX_NAMED = 3  # places that a sentence names


@dataclass(frozen=True)
class CPathSetting:
    """What a search for paths of a compiled program is about.

    Parameters
    ----------
    test : str
        The failing test.
    tests : TracedTests
        Runs it and the passing ones.
    passing : sequence of str
        The names of passing tests, those first whose coverage is nearest.
    spectrum : Spectrum
        Which tests execute what.
    options : PathOptions
        What the user has chosen.
    token : Token
        Cancel it to stop.

    Examples
    --------
    >>> from suspectra.c_paths.traced_program import TracedProgram
    >>> tests = TracedTests([], TracedProgram(folder), Token())
    >>> spectrum = Spectrum.from_matrix([[1], [1]], failed=[True, False])
    >>> CPathSetting("t1", tests, ["t2"], spectrum, PathOptions(), Token()).test
    't1'
    """

    test: str
    tests: TracedTests
    passing: Sequence[str]
    spectrum: Spectrum
    options: PathOptions
    token: Token


class CPathSearcher(ABC):
    """Searches for a run that passes and goes nearly the way of a failing one.

    Parameters
    ----------
    setting : CPathSetting
        What the search is about.

    Attributes
    ----------
    problems : list of Problem
        What could not be done.
    left_out : frozenset of int
        Nodes that are not compared, as they differ between two runs of the failing test.
    events : int
        How many decisions and calls of the failing run are compared.
    seconds : float
        How long the failing run took.

    Examples
    --------
    >>> from suspectra.c_paths.nearest import CNearestPath
    >>> from suspectra.c_paths.traced_program import TracedProgram
    >>> from suspectra.c_recording.case import CCase
    >>> tests = TracedTests([CCase("t1", ("false",), ".")], TracedProgram(folder), Token())
    >>> spectrum = Spectrum.from_matrix([[1], [1]], failed=[True, False])
    >>> searcher = CNearestPath(CPathSetting("t1", tests, ["t2"], spectrum, PathOptions(), Token()))
    >>> list(searcher.notes())
    []
    >>> searcher.failing_run()
    Traceback (most recent call last):
    suspectra.errors.EvidenceError: t1 executes nothing that was compiled to record its path. Fix: …
    """

    def __init__(self, setting: CPathSetting):
        self.setting = setting
        self.problems: list[Problem] = []
        self.left_out: frozenset[int] = frozenset()
        self.events, self.seconds = 0, 0.0

    @abstractmethod
    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Search until nothing is left to be tried, or a limit is met.

        Parameters
        ----------
        limits : PathSearchLimits
            When to stop.

        Returns
        -------
        iterator of PathReport
            All that is known, each time that there is more.

        Raises
        ------
        EvidenceError
            When nothing can be found out about the test.
        """

    def failing_run(self) -> TracedRun:
        """Run the failing test twice.

        Returns
        -------
        TracedRun
            The first run. `left_out` and `events` are known afterwards.

        Raises
        ------
        EvidenceError
            When it does not fail, records nothing, or is another run each time.
        """
        name, tests = self.setting.test, self.setting.tests
        first, again = tests.run(name), tests.run(name)
        self.seconds = max(first.seconds, again.seconds)
        if not (first.verdict.failing and again.verdict.failing):
            ended = first.verdict if not first.verdict.failing else again.verdict
            words = "passes" if ended is Verdict.PASSED else "is skipped"
            cause, cure = f"{name} {words} in the build that records paths", "record the tests again"
        elif not len(first.run):
            cause = f"{name} executes nothing that was compiled to record its path"
            cure = "name the build folder of its program, and let that record; programs of other builds are not traced"
        else:
            self.left_out = unsteady(tests.program, first.run, again.run)
            flow = Flow(tests.program, [first.run])
            every, self.events = len(flow.path(first.run)), len(flow.path(first.run, self.left_out))
            if every and self.events >= _STEADY * every:
                return first.run
            cause = f"{name} makes no decision in the workspace, and calls none of its functions"
            cure = "choose a test that executes code of the workspace"
            if every:
                cause = f"two runs of {name} take different paths: {self.events:,} of {every:,} events are the same"
                cure = "let it not depend on time, chance, threads or what ran before"
        raise EvidenceError(Problem("", "", cause, cure))

    def notes(self) -> Iterator[str]:
        """Say what was not compared.

        Yields
        ------
        str
            A sentence.
        """
        known = (self.setting.tests.program.place(node) for node in self.left_out)
        places = sorted({place[1].short for place in known if place is not None})
        if places:
            yield (
                f"{many(len(places), 'line')} came out differently in two runs of {self.setting.test}, and "
                f"{are(len(places))} not compared: {first_of(places, _MAX_NAMED)}."
            )
