"""Trying changes that an agent proposes: running tests with each, without touching a file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from suspectra.base.errors import Problem, SuspectraError
from suspectra.evidence.evidence import Evidence
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.suspicion import Suspicion
from suspectra_server.session.experiments.experiment_run import Shown, WorkOutcome
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Job
from suspectra_server.session.tests.processes import rerun_setup
from suspectra_server.session.trust import Trust

if TYPE_CHECKING:
    from suspectra.fixes.trial import JudgedPatch


@dataclass(eq=False)
class PatchTrials:
    """Some changes on trial. Belongs to the loop."""

    folder: Folder
    evidence: Evidence
    tests: tuple[FailingTest, ...]
    patches: Mapping[str, str]  # unified differences by name
    seconds: float
    title: str = field(default="trying changes", init=False)
    judged: list[JudgedPatch] = field(default_factory=list, init=False)
    outcome: WorkOutcome | None = field(default=None, init=False)

    def run(self, trust: Trust, job: Job[object]) -> WorkOutcome:
        """Try them, and publish what each does; in the thread of experiments."""
        from suspectra.fixes.trial import PatchTrial

        folder, settings = self.folder, self.folder.settings
        problems: list[Problem] = []
        complete = False
        try:
            setup = rerun_setup(trust, folder.root, folder.pytest_command(), settings)
            suspicion = Suspicion(self.evidence, everywhere=True)
            trial = PatchTrial(setup, self.tests, suspicion, self.patches, seconds=self.seconds)
            problems = trial.problems
            with closing(trial.steps()) as steps:
                for one in steps:
                    job.publish(one)
            complete = trial.complete
        except SuspectraError as error:
            problems = [*problems, error.problem]
        return WorkOutcome(0, complete, tuple(dict.fromkeys(problems)))

    def take(self, news: object) -> Shown | None:
        """Keep what a change does."""
        from suspectra.fixes.trial import JudgedPatch

        if not isinstance(news, JudgedPatch):
            return None
        self.judged.append(news)
        done = len(self.judged)
        words = f"{done} of {len(self.patches)} changes"
        return Shown(self.tests[0].name, done, done / len(self.patches), words)

    def end(self, outcome: WorkOutcome) -> None:
        """Keep how it ended: who asked gets the answer."""
        self.outcome = outcome
