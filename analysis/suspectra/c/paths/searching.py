"""What searches for paths of compiled programs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from suspectra.base.cancellation import Token
from suspectra.base.english import are, first_of, many
from suspectra.base.errors import Problem
from suspectra.c.paths.failing_run import CFailingRun
from suspectra.c.paths.traced_tests import TracedTests
from suspectra.paths.report import PathReport
from suspectra.paths.searches.search import PathOptions, PathSearchLimits
from suspectra.spectrum import Spectrum

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
    build: str  # the option of commands that names the build


class CPathSearcher(ABC):
    """Searches for a run that passes and goes nearly the way of a failing one."""

    def __init__(self, setting: CPathSetting):
        self.setting = setting  # what the search is about
        self.problems: list[Problem] = []  # what could not be done
        # nodes that are not compared, as they differ between two runs of the failing test
        self.left_out: frozenset[int] = frozenset()
        self.events = 0

    @abstractmethod
    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Search until nothing is left to be tried, or a limit is met.

        Raises EvidenceError when nothing can be found out about the test.
        """

    def failing_run(self) -> CFailingRun:
        """Run the failing test twice.

        Raises EvidenceError when it does not fail, records nothing, or is another run each time.
        """
        found = CFailingRun.from_test(self.setting.test, self.setting.tests)
        self.left_out, self.events = found.left_out, found.events
        return found

    def notes(self) -> Iterator[str]:
        """Say what was not compared."""
        known = (self.setting.tests.program.place(node) for node in self.left_out)
        places = sorted({place[1].short for place in known if place is not None})
        if places:
            yield (
                f"{many(len(places), 'line')} came out differently in two runs of {self.setting.test}, and "
                f"{are(len(places))} not compared: {first_of(places, _MAX_NAMED)}."
            )
