"""An investigation: failing tests one after the other, each with its share of the time, and what comes of it."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from suspectra.errors import EvidenceError, Problem
from suspectra.evidence.experiments import read_experiments
from suspectra.experiment import Experiment
from suspectra.experiments.log import ExperimentLog
from suspectra.experiments.machine import FreshRuns, Machine
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra.experiments.switching import switches

CAN_FORK = hasattr(os, "fork")
"""Whether runs are children of a process that waits."""


class FailingTest(NamedTuple):
    """A test to be investigated.

    Parameters
    ----------
    name : str
        Its node id.
    file : str
        Its module, relative to the workspace.
    """

    name: str
    file: str


@dataclass(frozen=True)
class Progress:
    """How far an investigation is.

    Parameters
    ----------
    test : str
        Which test is being run.
    number, total : int
        Which one of how many that is, from 1.
    runs : int
        How many altered runs there were.
    share : float
        Of the time, how much is gone: from 0 to 1.
    """

    test: str
    number: int
    total: int
    runs: int
    share: float


@dataclass
class Investigation:
    """Experiments with failing tests of a workspace, within some time; what is found goes into the log at once.

    Parameters
    ----------
    workspace : Path
        The folder.
    command : sequence of str
        What runs pytest: program and arguments, without tests.
    tests : sequence of FailingTest
        In the order in which they are investigated.
    seconds : float
        For all of them.
    notify : callable
        Called with the progress before each experiment.

    Attributes
    ----------
    complete : bool
        Whether everything was tried with every test.
    problems : list of Problem
        What kept tests from being investigated, and what is different from a run by pytest itself.
    """

    workspace: Path
    command: Sequence[str]
    tests: Sequence[FailingTest]
    seconds: float
    notify: Callable[[Progress], object] = lambda progress: None
    complete: bool = field(default=False, init=False)
    problems: list[Problem] = field(default_factory=list, init=False)

    def experiments(self) -> Iterator[Experiment]:
        """Make the experiments that are not in the log yet.

        Yields
        ------
        Experiment
            As each is made.

        Raises
        ------
        EvidenceError
            When the log can't be written.
        """
        self.workspace = Path(os.path.realpath(self.workspace))
        began = time.monotonic()
        known = {experiment.key for experiment in read_experiments(self.workspace)[0]}
        left = Counter(test.file for test in self.tests)
        machines: dict[str, Machine | FreshRuns] = {}
        finished = runs = 0
        try:
            with ExperimentLog(self.workspace) as log:
                for number, test in enumerate(self.tests):
                    now = time.monotonic()
                    end = now + max(began + self.seconds - now, 0) / (len(self.tests) - number)
                    try:
                        repeated = self._repeated(test, machines)
                        for experiment in repeated.experiments(switches(repeated.trace), end, known):
                            log.add(experiment, repeated.trace.sources)
                            runs += 1
                            share = min((time.monotonic() - began) / self.seconds, 1.0)
                            self.notify(Progress(test.name, number + 1, len(self.tests), runs, share))
                            yield experiment
                        finished += repeated.complete
                    except EvidenceError as error:
                        self.problems.append(error.problem)
                    left[test.file] -= 1
                    if not left[test.file] and test.file in machines:
                        machines.pop(test.file).close()
            self.complete = finished == len(self.tests)
        finally:
            for machine in machines.values():
                machine.close()

    def _repeated(self, test: FailingTest, machines: dict[str, Machine | FreshRuns]) -> RepeatedTest:
        if test.file not in machines:
            machines[test.file] = self._machine(test.file)
            self.problems += machines[test.file].notices
        repeated = RepeatedTest(test.name, machines[test.file])
        if not len(repeated.trace.decisions):
            cause = f"{test.name} makes no decision in code that may be a suspect"
            raise EvidenceError(Problem("", "", cause, "record the tests again, or choose another test"))
        return repeated

    def _machine(self, file: str) -> Machine | FreshRuns:
        if not CAN_FORK:
            return FreshRuns(self.command, self.workspace, file)
        return Machine(self.command, self.workspace, file, [test.name for test in self.tests if test.file == file])
