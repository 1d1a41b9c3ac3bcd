"""Traces of failing tests, with all their dependences; what failures depend on goes into the log at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from suspectra.base.cancellation import checked
from suspectra.base.deadline import TimeIsUp, seconds_until
from suspectra.base.errors import EvidenceError
from suspectra.dependences.trace import DependenceTrace
from suspectra.evidence.logs.failure_slices import add_slices
from suspectra.evidence.logs.per_test_log import Logged
from suspectra.experiments.dependences import KIND, TRACED_S, trace_dependences
from suspectra.experiments.inquiry import Inquiry, RerunSetup, SuspicionSource
from suspectra.experiments.machine import Machine
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.runs.reported_lines import FailureSlice
from suspectra_recorder.experiments.traces.trace_columns import MAX_NODES

MAX_TRACED = 20
"""Failing tests that are traced at most, one after the other."""


@dataclass
class TraceInquiry(Inquiry[DependenceTrace]):
    """Traces failing tests of a workspace."""

    setup: RerunSetup
    tests: Sequence[FailingTest]  # in the order in which they are traced
    # the functions that are traced alone where a run is too long, and the sources that the trace has to fit
    suspects: SuspicionSource
    most: int = MAX_NODES  # how many nodes a trace may have; a longer one is limited to the functions of suspects
    made: int = field(default=0, init=False)  # how many tests were traced

    def steps(self) -> Generator[DependenceTrace]:
        """Trace one test after the other.

        Raises EvidenceError when the log can't be written.
        """
        end, by_file = self.begin(), dict[str, list[FailingTest]]()
        for test in self.tests[:MAX_TRACED]:
            by_file.setdefault(test.file, []).append(test)
        with self.setup.folder() as folder:
            for file, tests in checked(by_file.items()):
                try:
                    machine = self.setup.machine(folder, file, [test.name for test in tests], (KIND,), end)
                except EvidenceError as error:
                    self.note([error.problem])
                    continue
                except TimeIsUp:
                    return
                with machine:
                    try:
                        for test in tests:
                            yield from self._traced(machine, test, end)
                    finally:
                        self.note(machine.notices)  # all of them: runs may import more
        self.complete = self.made == len(self.tests)

    def _traced(self, machine: Machine, test: FailingTest, end: float) -> Generator[DependenceTrace]:
        try:
            trace = trace_dependences(
                machine,
                test.name,
                seconds=seconds_until(end, TRACED_S),
                suspects=self.suspects.most_suspicious(test.name),
                most=self.most,
                recorded=self.suspects.digests,
                exception=test.exception,
            )
        except EvidenceError as error:
            self.note([error.problem])
            return
        except TimeIsUp:
            return
        self.made += 1
        add_slices(self.setup.workspace, [Logged(test.name, _slice_of(trace), machine.sources)])
        yield trace if self.setup.values_shown else trace.without_values()


def _slice_of(trace: DependenceTrace) -> FailureSlice:
    """Find the lines that a failure depends on."""
    steps = trace.graph.distance([trace.failure])
    nearest: dict[tuple[str, int], int] = {}
    for node in ((steps >= 0) & ~trace.is_test).nonzero()[0].tolist():
        site, distance = trace.sites[trace.graph.site[node]], int(steps[node])
        for line in range(site.line, site.end_line + 1):
            nearest[site.file, line] = min(distance, nearest.get((site.file, line), distance))
    return FailureSlice(trace.test, nearest)
