"""Comparing the values of failing tests with those of the passing ones most like them: each runs once, unaltered."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from lsprotocol import types as lsp

from suspectra.base.english import many
from suspectra.base.errors import Problem, SuspectraError
from suspectra.c.experiments.observing import CValueInquiry
from suspectra.c.paths.traced_project import TracedProject
from suspectra.evidence.evidence import Evidence
from suspectra.experiments.inquiry import InquiryProgress
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.suspicion import Suspicion
from suspectra.experiments.value_inquiry import ObservationInquiry, ValueInquiry
from suspectra_server.safe_text import plain
from suspectra_server.session.client import Client
from suspectra_server.session.experiments.experiment_run import ExperimentRun, Shown, WorkOutcome
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Job
from suspectra_server.session.tests.processes import build_of, rerun_setup
from suspectra_server.session.trust import Trust
from suspectra_server.timing import PROGRESS_S


@dataclass(frozen=True)
class ValueComparison:
    """Observations of failing and passing tests. They are in the log when it ends, which is evidence."""

    client: Client
    experiments: ExperimentRun  # where it runs
    folder: Folder
    evidence: Evidence  # of the recording in which the tests failed
    tests: tuple[FailingTest, ...]
    title: str = field(default="comparing values with passing tests", init=False)

    def run(self, trust: Trust, job: Job[object]) -> WorkOutcome:
        """Run the tests, and publish the progress; in the thread of experiments."""
        last = 0.0

        def notify(progress: InquiryProgress) -> None:
            nonlocal last
            if (now := time.monotonic()) - last >= PROGRESS_S:
                last = now
                job.publish(progress)

        runs = 0
        problems: list[Problem] = []
        complete = False
        try:
            observing = self._inquiry(trust, notify)
            with closing(observing.steps()) as observations:
                for _ in observations:
                    job.check()
                    runs += 1
            problems, complete = observing.problems, observing.complete
        except SuspectraError as error:
            problems = [*problems, error.problem]
        return WorkOutcome(runs, complete, tuple(dict.fromkeys(problems)))

    def _inquiry(self, trust: Trust, notify: Callable[[InquiryProgress], object]) -> ObservationInquiry:
        folder, suspicion = self.folder, Suspicion(self.evidence, everywhere=True)
        tests = {test.name: test for test in self.tests}
        in_turn, seconds = [tests[name] for name in suspicion.in_turn(tests)], folder.settings.investigation_seconds
        if build := folder.rankings.build:
            project = TracedProject(folder.root, build_of(trust, folder.root, build))
            return CValueInquiry(project=project, tests=in_turn, suspects=suspicion, notify=notify, seconds=seconds)
        setup = rerun_setup(trust, folder.root, folder.pytest_command(), folder.settings)
        return ValueInquiry(setup=setup, tests=in_turn, suspects=suspicion, notify=notify, seconds=seconds)

    def take(self, news: object) -> Shown | None:
        """Show the progress."""
        if not isinstance(news, InquiryProgress):
            return None
        return Shown(news.test, news.runs, news.share, f"test {news.number} of {news.total}: {news.test}")

    def end(self, outcome: WorkOutcome) -> None:
        """Rank with what was observed, and say what was found."""
        self.experiments.after_ranking(self.folder, lambda: self._notify(outcome))

    def _notify(self, outcome: WorkOutcome) -> None:
        """The user gave a command, so this is its answer in every client."""
        found = self.folder.snapshot.ranking.first_compared()
        runs = f"{'cancelled after ' if outcome.cancelled else ''}{many(outcome.runs, 'test')} observed"
        if found is None:
            done = outcome.complete or outcome.cancelled
            more = "" if done or outcome.problems else "; the setting investigationSeconds allows more"
            text = f"No values compare in all failing tests as in no passing one ({runs}{more})."
        else:
            lines, (place, sentence) = found
            more = f"One of {lines} such lines; " if lines > 1 else ""
            text = f"{place.file}:{place.line}: {sentence} {more}{runs}."
        problems = " ".join(f"{problem}." for problem in outcome.problems)
        kind = lsp.MessageType.Warning if outcome.problems and found is None else lsp.MessageType.Info
        self.client.answer(plain(f"{text} {problems}".strip()), kind)
