"""What all inquiries have in common: tests run again, step by step, until something is known about a failure."""

from __future__ import annotations

import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from suspectra.base.errors import Problem
from suspectra.experiments.machine import Machine
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.experiments.safety import Safety
from suspectra.runs.experiment import Experiment
from suspectra.spectrum import Spectrum

MAX_SUSPECTS = 50
"""Statements whose functions are traced if a run is too long for a whole trace."""

Step = TypeVar("Step")
Question = TypeVar("Question")
Reply = TypeVar("Reply")


@dataclass
class RerunSetup:
    """How the tests of a workspace are run again."""

    workspace: Path  # the folder
    command: Sequence[str]  # what runs pytest: program and arguments, without tests
    safety: Safety = field(default_factory=Safety)  # which tests run, where, and what may be altered
    values_shown: bool = True  # whether results may contain values of the program, besides how decisions came out

    def __post_init__(self) -> None:
        self.workspace = Path(os.path.realpath(self.workspace))  # as tests name their files

    def folder(self) -> AbstractContextManager[Path]:
        """Provide the folder in which tests run.

        Raises EvidenceError when the workspace can't be copied.
        """
        return self.safety.folder(self.workspace)

    def repeated(
        self,
        folder: Path,
        tests: Sequence[FailingTest],
        kinds: Sequence[str],
        passing: Sequence[str] = (),
        *,
        forks: bool = False,
    ) -> RepeatedTests:
        """The tests, which start when they are first asked for."""
        excluded, original = self.safety.excluded, self.workspace
        return RepeatedTests(self.command, folder, tests, kinds, passing, excluded, original, forks=forks)

    def machine(
        self, folder: Path, file: str, tests: Sequence[str], kinds: Sequence[str], end: float = math.inf
    ) -> Machine:
        """A process that has collected some tests of a module.

        Raises EvidenceError when the tests can't be collected. Raises TimeIsUp when they are not collected in time.
        """
        return Machine(self.command, folder, file, tests, kinds, self.safety.excluded, self.workspace, end=end)


@dataclass(frozen=True)
class InquiryProgress:
    """How far an inquiry about several tests is."""

    test: str  # which test is being run
    # which one of how many that is, from 1
    number: int
    total: int
    runs: int  # how many runs there were
    share: float  # of the time, how much is gone: from 0 to 1


@dataclass(kw_only=True)
class Inquiry(ABC, Generic[Step]):
    """Runs tests again to find something out about a failure, within some time.

    Its work is cancelled by the token of the thread, as all long work (`suspectra.base.cancellation`).
    """

    seconds: float = math.inf  # for the whole
    complete: bool = field(default=False, init=False)  # whether nothing is left to be tried
    # what could not be done, and what is different from a run by pytest itself; each once
    problems: list[Problem] = field(default_factory=list, init=False)
    _began: float = field(default=0.0, init=False)

    @abstractmethod
    def steps(self) -> Generator[Step]:
        """Run the tests, and yield each time that more is known. What was found is kept, in whatever way this ends.

        Raises EvidenceError when nothing can be found out, or what was found can't be kept.
        """

    @property
    def elapsed(self) -> float:
        """How many seconds it has taken by now."""
        return time.monotonic() - self._began if self._began else 0.0

    @property
    def share(self) -> float:
        """How much of the time is gone, from 0 to 1."""
        return min(self.elapsed / self.seconds, 1.0)

    def begin(self) -> float:
        """Count the time from now on. The end of it, as `time.monotonic` has it."""
        self._began = time.monotonic()
        return self._began + self.seconds

    def patiently(
        self, ask: Callable[[Question], Reply], put_off: Callable[[float], None]
    ) -> Callable[[Question], Reply]:
        """Let the user take any time for an answer: what `put_off` is called with seconds for ends so much later."""

        def asked(question: Question) -> Reply:
            began = time.monotonic()
            try:
                return ask(question)
            finally:
                waited = time.monotonic() - began
                put_off(waited)
                self._began += waited

        return asked

    def note(self, problems: Iterable[Problem]) -> None:
        """Add problems that are not known yet."""
        self.problems[:] = dict.fromkeys([*self.problems, *problems])


class SuspicionSource(ABC):
    """Says where experiments are worth most."""

    groups: Sequence[Sequence[str]]  # the names of the failing tests of each failure group

    @abstractmethod
    def at(self, group: int, file: str, line: int) -> float:
        """How suspicious a statement is for a group.

        Only the relation to others has a meaning; 0 where no experiment is to be made.
        """

    @abstractmethod
    def turn(self, group: int, file: str, line: int) -> int:
        """When it is a statement's turn: 0 for those that come first, then one number for each function."""

    @abstractmethod
    def spectrum(self, group: int) -> Spectrum:
        """What the tests of a group, and all passing tests, execute."""

    def needed(self, group: int) -> Mapping[tuple[str, int], Sequence[str]]:
        """Values with which all failing tests of a group pass, as text, by the file and line that assigns them."""
        return {}

    @abstractmethod
    def lines_at_import(self, file: str) -> Collection[int]:
        """The statements of a file that run outside of tests, mostly while modules are imported."""

    @abstractmethod
    def seconds(self, test: str) -> float:
        """How long a test took when it was recorded; 0 where that is not known."""

    @property
    @abstractmethod
    def digests(self) -> Mapping[str, str | None]:
        """The digests that the sources had that failing tests execute, when these were recorded, by path."""

    def most_suspicious(self, test: str) -> list[tuple[str, int]]:
        """The statements whose functions are traced if the whole run of a test is too long.

        File and line, the most suspicious first, for the failure group of the test.
        """
        group = self.group_of(test)
        spectrum = self.spectrum(group)
        elements, executed = spectrum.elements, np.flatnonzero(spectrum.counts.ef > 0)
        places = [(elements.files[elements.file[one]], int(elements.line[one])) for one in executed.tolist()]
        at = {place: self.at(group, *place) for place in places}
        return [place for place in sorted(at, key=lambda place: -at[place])[:MAX_SUSPECTS] if at[place] > 0]

    def group_of(self, test: str) -> int:
        """The failure group that a failing test is in.

        An index into `groups`; the first one for a test that is in none.
        """
        return next((number for number, tests in enumerate(self.groups) if test in tests), 0)

    def failing_with(self, test: str) -> Sequence[FailingTest]:
        """The other failing tests of the failure group that a test is in, which execute a candidate."""
        return ()

    def reaches(self, group: int, test: str) -> bool:
        """Whether a failing test executes any candidate: one that fails in a fixture may not."""
        spectrum = self.spectrum(group)
        row = spectrum.test_index.get(test)
        return row is None or bool(spectrum.candidates[spectrum.rows[row]].any())

    @abstractmethod
    def read(self, file: str) -> bytes | None:
        """The source of a file.

        None if it can't be read.
        """

    @abstractmethod
    def update(self, made: Sequence[Experiment]) -> None:
        """Take results into account."""
