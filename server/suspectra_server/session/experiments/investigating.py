"""Finding out what would make failing tests pass: running them again with one thing altered."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from lsprotocol import types as lsp

from suspectra.base.english import many
from suspectra.base.errors import Problem, SuspectraError
from suspectra.base.location import Location
from suspectra.c.experiments.switching import CSwitchInquiry
from suspectra.c.paths.traced_project import TracedProject
from suspectra.evidence.evidence import Evidence
from suspectra.experiments.experiment_inquiry import ExperimentInquiry
from suspectra.experiments.inquiry import InquiryProgress
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.suspicion import Suspicion
from suspectra.runs.experiment import Experiment
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.client import Client
from suspectra_server.session.experiments.experiment_run import ExperimentRun, Shown, WorkOutcome
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Job
from suspectra_server.session.tests.processes import build_of, rerun_setup
from suspectra_server.session.trust import Trust
from suspectra_server.timing import PROGRESS_S


@dataclass(eq=False)
class Investigating:
    """An investigation. What is found is in the log of experiments at once, which is evidence: the folder is ranked
    again as the log grows.
    """

    client: Client
    experiments: ExperimentRun  # where it runs
    folder: Folder
    evidence: Evidence  # of the recording in which the tests failed
    tests: tuple[FailingTest, ...]
    at: Location | None = None  # the statement to alter; by default any
    seconds: float | None = None  # how long it may take; by default as the settings say
    outcome: WorkOutcome | None = field(default=None, init=False)  # None as long as it lasts
    title: str = field(default="trying what makes tests pass", init=False)

    def run(self, trust: Trust, job: Job[object]) -> WorkOutcome:
        """Make the experiments. Only those that repair, and now and then the progress, are published."""
        runs, last = 0, 0.0

        def notify(progress: InquiryProgress) -> None:
            nonlocal last
            if (now := time.monotonic()) - last >= PROGRESS_S:
                last = now
                job.publish(progress)

        problems: list[Problem] = []
        complete = False
        try:
            investigation = self.inquiry(trust, notify)
            problems = investigation.problems
            with closing(investigation.steps()) as experiments:
                for experiment in experiments:
                    job.check()
                    runs += 1
                    if experiment.outcome.repairs:
                        job.publish(experiment)
            complete = investigation.complete
        except SuspectraError as error:
            problems = [*problems, error.problem]
        return WorkOutcome(runs, complete, tuple(dict.fromkeys(problems)))

    def inquiry(self, trust: Trust, notify: Callable[[InquiryProgress], object]) -> ExperimentInquiry | CSwitchInquiry:
        """The experiments that the settings allow; for a worker thread.

        Raises NotTrusted when the workspace is not trusted. Raises UsageError when there is no interpreter for the
        tests.
        """
        folder, settings = self.folder, self.folder.settings
        seconds = settings.investigation_seconds if self.seconds is None else self.seconds
        tests = {test.name: test for test in self.tests}
        if build := folder.rankings.build:
            suspicion = Suspicion(self.evidence, everywhere=True)
            project = TracedProject(folder.root, build_of(trust, folder.root, build))
            in_turn = [tests[name] for name in suspicion.in_turn(tests)]
            return CSwitchInquiry(
                project=project, tests=in_turn, suspects=suspicion, notify=notify, seconds=seconds, at=self.at
            )
        suspicion = Suspicion(self.evidence, everywhere=self.at is not None)
        return ExperimentInquiry(
            rerun_setup(trust, folder.root, folder.pytest_command(), settings),
            [tests[name] for name in suspicion.in_turn(tests)],
            suspicion,
            notify,
            at=self.at,
            forks=settings.experiments_forks,
            seconds=seconds,
        )

    def take(self, news: object) -> Shown | None:
        """Log a finding, or show the progress."""
        if isinstance(news, Experiment):
            found = plain(f"{self.folder.root.name}: {news}", MAX_TEXT)
            self.client.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, found))
            return None
        if not isinstance(news, InquiryProgress):
            return None
        test = f"test {news.number} of {news.total}: " if news.total > 1 else ""
        return Shown(news.test, news.runs, news.share, f"{many(news.runs, 'run')}, {test}{news.test}")

    def end(self, outcome: WorkOutcome) -> None:
        """Rank by all findings, and say what was found."""
        self.outcome = outcome
        self.experiments.after_ranking(self.folder, lambda: self._notify(outcome))

    def _notify(self, outcome: WorkOutcome) -> None:
        """The user gave a command, so this is its answer in every client."""
        found = self.folder.snapshot.ranking.first_repair(self.at)
        runs = f"{'cancelled after ' if outcome.cancelled else ''}{many(outcome.runs, 'altered run')}"
        if found is None:
            done = outcome.complete or outcome.cancelled
            more = "" if done else "; the setting investigationSeconds allows more"
            where = f" on line {self.at.line} of {self.at.file}" if self.at else ""
            text = f"Nothing was found{where} that makes a failing test pass ({runs}{more})."
        else:
            lines, (place, sentence) = found
            where = f"{place.file}:{place.line}: {sentence}"
            text = f"{where} {f'One of {lines} such lines; ' if lines > 1 else ''}{runs}."
        problems = " ".join(f"{problem}." for problem in outcome.problems)
        warns = bool(outcome.problems) and found is None
        kind = lsp.MessageType.Warning if warns else lsp.MessageType.Info
        self.client.answer(f"{text} {problems}".strip(), kind)
