"""What searches for paths of compiled programs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from suspectra.base.cancellation import Token
from suspectra.base.english import are, first_of, many
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.paths.flow import Flow, unsteady
from suspectra.c.paths.traced_run import CTracedRun
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.evidence.evidence import Verdict
from suspectra.paths.report import PathReport
from suspectra.paths.searches.search import PathOptions, PathSearchLimits
from suspectra.spectrum import Spectrum

_STEADY = 0.5  # the share of a failing run's events that must be the same each time
_MAX_NAMED = 3  # places that a sentence names


@dataclass(frozen=True)
class CPathSetting:
    """What a search for paths of a compiled program is about."""

    test: str  # the failing test
    tests: TracedTests  # runs it and the passing ones
    passing: Sequence[str]  # the names of passing tests, those first whose coverage is nearest
    spectrum: Spectrum  # which tests execute what
    options: PathOptions  # what the user has chosen
    token: Token  # cancel it to stop


class CPathSearcher(ABC):
    """Searches for a run that passes and goes nearly the way of a failing one."""

    def __init__(self, setting: CPathSetting):
        self.setting = setting  # what the search is about
        self.problems: list[Problem] = []  # what could not be done
        # nodes that are not compared, as they differ between two runs of the failing test
        self.left_out: frozenset[int] = frozenset()
        self.events, self.seconds = 0, 0.0

    @abstractmethod
    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Search until nothing is left to be tried, or a limit is met.

        Raises EvidenceError when nothing can be found out about the test.
        """

    def failing_run(self) -> CTracedRun:
        """Run the failing test twice.

        The first run. `left_out` and `events` are known afterwards.

        Raises EvidenceError when it does not fail, records nothing, or is another run each time.
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
        """Say what was not compared."""
        known = (self.setting.tests.program.place(node) for node in self.left_out)
        places = sorted({place[1].short for place in known if place is not None})
        if places:
            yield (
                f"{many(len(places), 'line')} came out differently in two runs of {self.setting.test}, and "
                f"{are(len(places))} not compared: {first_of(places, _MAX_NAMED)}."
            )
