"""The statements that runs of tests execute, as a machine has noted them, and the states before them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from suspectra.base.location import Location
from suspectra.experiments.altered_runs import Runs
from suspectra.experiments.repeated_test import LEAST_SECONDS, LEAST_STEPS, STEPS_FACTOR, TIME_FACTOR
from suspectra.experiments.run_answers import AlteredRunAnswer, answer_of, read_column
from suspectra.paths.path import Path
from suspectra.paths.searches.recorded_paths import MAX_EVENTS
from suspectra.paths.structure import structural_path
from suspectra_recorder.experiments.decisions.statement_marks import NOTHING, MarkedStatement
from suspectra_recorder.experiments.messages import MachineRunAnswer, MemoryChange, MemoryGraph, RunRequest

STATEMENTS: RunRequest = {"kind": "statements"}
"""The job that changes nothing, and notes the executed statements."""


class GivenInput(Runs):
    """Runs tests with another input than their own."""

    def __init__(self, runs: Runs, given: RunRequest):
        super().__init__()
        self._runs, self._given = runs, given
        self.workspace = runs.workspace

    def ask(
        self,
        test: str,
        jobs: Sequence[RunRequest],
        *,
        steps: int,
        seconds: float,
        end: float = math.inf,
        keep: bool = False,
        shared: bool = False,
        directly: bool = False,
    ) -> list[MachineRunAnswer]:
        """Run a test with the input once for each job."""
        given: list[RunRequest] = [{**job, "input": self._given} for job in jobs]
        return self._runs.ask(test, given, steps=steps, seconds=seconds, end=end, keep=keep)

    def close(self) -> None:
        """Do nothing: what runs the tests belongs to others."""


class RecordedRun(NamedTuple):
    """A run with the statements that it executed."""

    answer: AlteredRunAnswer  # how it ended
    path: Path  # the executed statements. Their numbers are those of `RecordedStatements.locations`


class RecordedStatements:
    """Records the statements that tests execute, with the same numbers in all runs."""

    def __init__(self) -> None:
        # where the statements are; of those that contain others, what is evaluated before these
        self.locations: list[Location] = []
        self._block: list[int] = []
        self._owner: list[int] = []
        self._first: dict[str, int] = {}

    def record(self, runs: Runs, test: str, seconds: float, end: float = math.inf) -> RecordedRun:
        """Run a test unaltered, and note what it executes.

        Raises TimeIsUp when it was not over by then.
        """
        (answer,) = runs.ask(test, [STATEMENTS], steps=MAX_EVENTS, seconds=seconds, end=end)
        return self.from_answer(answer)

    def from_answer(self, answer: MachineRunAnswer) -> RecordedRun:
        """Read what a machine answered to a job like `STATEMENTS`."""
        sources = answer.get("statements", ())
        numbers = np.full(max((first + len(points) for _, first, points in sources), default=0), -1, np.int64)
        for file, first, points in sources:
            own = self._first_of(file, [MarkedStatement(*point) for point in points])
            numbers[first : first + len(points)] = np.arange(own, own + len(points))
        executed = read_column(answer.get("executed", ""))
        calls, called_at = read_column(answer.get("calls", "")), read_column(answer.get("called_at", ""))
        path = structural_path(numbers[executed].tolist(), calls.tolist(), called_at.tolist(), self._block, self._owner)
        return RecordedRun(answer_of(answer), path)

    def _first_of(self, file: str, points: Sequence[MarkedStatement]) -> int:
        """The number of the first statement of a file."""
        if file not in self._first:
            first = self._first[file] = len(self.locations)
            self.locations += [Location(file, one.line, one.end_line) for one in points]
            self._block += [first + one.block for one in points]
            self._owner += [NOTHING if one.owner == NOTHING else first + one.owner for one in points]
        return self._first[file]


def state_before(
    runs: Runs, test: str, run: RecordedRun, point: int, changes: Sequence[MemoryChange] = ()
) -> tuple[AlteredRunAnswer, MemoryGraph | None]:
    """Read the state before an executed statement, or change it.

    None if it was not read.
    """
    job: RunRequest = {"kind": "memory", "point": point, "changes": list(changes)}
    steps = max(LEAST_STEPS, STEPS_FACTOR * len(run.path))
    seconds = max(LEAST_SECONDS, TIME_FACTOR * run.answer.seconds)
    (answer,) = runs.ask(test, [job], steps=steps, seconds=seconds)
    return answer_of(answer), answer.get("memory")
