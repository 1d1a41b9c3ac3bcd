"""Running a failing test once more, with nothing altered, to learn what each of its values depends on."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from suspectra.base.errors import SuspectraError
from suspectra.evidence.evidence import Evidence
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.suspicion import Suspicion
from suspectra_server.session.experiments.experiment_run import Shown, WorkOutcome
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Job
from suspectra_server.session.tests.processes import rerun_setup
from suspectra_server.session.trust import Trust

if TYPE_CHECKING:
    from suspectra.dependences.trace import DependenceTrace


@dataclass
class Tracing:
    """A traced run of one failing test."""

    folder: Folder
    evidence: Evidence  # of the recording in which the test failed
    test: FailingTest
    title: str = field(default="tracing a failing test", init=False)
    trace: DependenceTrace | None = field(default=None, init=False)  # None until there is one
    outcome: WorkOutcome | None = field(default=None, init=False)  # None as long as the test runs

    def __post_init__(self) -> None:
        self._hides_values = self.folder.settings.experiments_hide_values

    def fits(self, folder: Folder, evidence: Evidence, test: str) -> bool:
        """Whether this is the trace of a test, with the same sources, and values only if they may be shown."""
        same = folder is self.folder and test == self.test.name and self.trace is not None
        allowed = self._hides_values == folder.settings.experiments_hide_values
        return same and allowed and versions(evidence) == versions(self.evidence)

    def run(self, trust: Trust, job: Job[object]) -> WorkOutcome:
        """Trace the test."""
        from suspectra.experiments.trace_inquiry import TraceInquiry

        folder = self.folder
        try:
            setup = rerun_setup(trust, folder.root, folder.pytest_command(), folder.settings)
            inquiry = TraceInquiry(setup, [self.test], Suspicion(self.evidence, everywhere=True))
            with closing(inquiry.steps()) as made:
                for trace in made:
                    job.publish(trace)
        except SuspectraError as error:
            return WorkOutcome(1, problems=(error.problem,))
        return WorkOutcome(1, inquiry.complete, tuple(inquiry.problems))

    def take(self, news: object) -> Shown | None:
        """Keep the trace."""
        from suspectra.dependences.trace import DependenceTrace

        if isinstance(news, DependenceTrace):
            self.trace = news
        return None

    def end(self, outcome: WorkOutcome) -> None:
        """Keep the problems for whoever asked."""
        self.outcome = outcome


def versions(evidence: Evidence) -> frozenset[tuple[str, str | None]]:
    """Which sources a recording is about."""
    return frozenset((file.path, file.digest) for file in evidence.files)


def is_of_sources(folder: Folder, evidence: Evidence) -> bool:
    """Whether a recording is about the sources that were recorded last in a folder of the workspace."""
    last = folder.snapshot.ranking.evidence
    return not folder.removed and last is not None and versions(last) == versions(evidence)
