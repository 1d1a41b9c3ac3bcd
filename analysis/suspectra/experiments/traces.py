"""Traces of failing tests, with all their dependences; what failures depend on goes into the log at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from suspectra.base.cancellation import checked
from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.logs.failure_slices import add_slices
from suspectra.evidence.logs.per_test_log import Logged
from suspectra.experiments.dependences import KIND, trace_dependences
from suspectra.experiments.investigation import SuspicionSource
from suspectra.experiments.machine import Machine
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.safety import Safety
from suspectra.runs.failure_slice import FailureSlice
from suspectra_recorder.experiments.traces.trace_columns import MAX_NODES

if TYPE_CHECKING:
    from suspectra.dependences.trace import DependenceTrace

MAX_TRACED = 20
"""Failing tests that are traced at most, one after the other."""


@dataclass
class TraceInquiry:
    """Traces failing tests of a workspace."""

    workspace: Path  # the folder
    command: Sequence[str]  # what runs pytest: program and arguments, without tests
    tests: Sequence[FailingTest]  # in the order in which they are traced
    # the functions that are traced alone where a run is too long, and the sources that the trace has to fit
    suspects: SuspicionSource
    safety: Safety = field(default_factory=Safety)  # which tests run, and where
    values_shown: bool = True  # whether traces have values, besides how decisions came out
    most: int = MAX_NODES  # how many nodes a trace may have; a longer one is limited to the functions of suspects
    made: int = field(default=0, init=False)  # how many tests were traced
    problems: list[Problem] = field(default_factory=list, init=False)  # what kept tests from being traced

    def traces(self) -> Generator[DependenceTrace]:
        """Trace one test after the other.

        Raises EvidenceError when the log can't be written.
        """
        by_file: dict[str, list[FailingTest]] = {}
        for test in self.tests[:MAX_TRACED]:
            by_file.setdefault(test.file, []).append(test)
        with self.safety.folder(self.workspace) as folder:
            for file, tests in checked(by_file.items()):
                names = [test.name for test in tests]
                try:
                    machine = Machine(self.command, folder, file, names, (KIND,), self.safety.excluded, self.workspace)
                except EvidenceError as error:
                    self.problems.append(error.problem)
                    continue
                with machine:
                    try:
                        for test in tests:
                            yield from self._traced(machine, test)
                    finally:
                        notices = machine.notices  # all of them: runs may import more
                        self.problems += [one for one in notices if one not in self.problems]

    def _traced(self, machine: Machine, test: FailingTest) -> Generator[DependenceTrace]:
        try:
            trace = trace_dependences(
                machine,
                test.name,
                suspects=self.suspects.most_suspicious(test.name),
                most=self.most,
                recorded=self.suspects.digests,
                exception=test.exception,
            )
        except EvidenceError as error:
            self.problems.append(error.problem)
            return
        self.made += 1
        add_slices(self.workspace, [Logged(test.name, _slice_of(trace), machine.sources)])
        yield trace if self.values_shown else trace.without_values()


def _slice_of(trace: DependenceTrace) -> FailureSlice:
    """Find the lines that a failure depends on."""
    steps = trace.graph.distance([trace.failure])
    nearest: dict[tuple[str, int], int] = {}
    for node in ((steps >= 0) & ~trace.is_test).nonzero()[0].tolist():
        site, distance = trace.sites[trace.graph.site[node]], int(steps[node])
        for line in range(site.line, site.end_line + 1):
            nearest[site.file, line] = min(distance, nearest.get((site.file, line), distance))
    return FailureSlice(trace.test, nearest)
