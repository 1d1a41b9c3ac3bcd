"""Searching for the causes of one failure: running its test again with other states."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types as lsp

from suspectra.base.english import many
from suspectra.base.errors import SuspectraError
from suspectra.evidence.evidence import Evidence
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.suspicion import Suspicion
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.client import Client
from suspectra_server.session.experiments.experiment_run import Shown, WorkOutcome
from suspectra_server.session.experiments.tracing import is_of_sources
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Job
from suspectra_server.session.tests.processes import rerun_setup
from suspectra_server.session.trust import Trust

if TYPE_CHECKING:
    from suspectra.causes.judgements import Judgement
    from suspectra.causes.report import CauseReport


class Narrowed(NamedTuple):
    """What is known after a step of the search."""

    sentence: str
    share: float
    report: CauseReport


@dataclass
class CauseSearch:
    """The search for the causes of one failure, and what it has found by now. Belongs to the loop."""

    client: Client
    folder: Folder
    evidence: Evidence  # of the recording in which the test failed
    test: FailingTest
    seconds: float | None = None  # how long it may take; by default as the settings say
    judgements: tuple[Judgement, ...] = ()  # what the user knows of states
    title: str = field(default="searching for the cause", init=False)
    report: CauseReport | None = field(default=None, init=False)  # what is known by now
    sentence: str = field(default="", init=False)  # where the search goes on
    outcome: WorkOutcome | None = field(default=None, init=False)  # None as long as the search lasts

    def __post_init__(self) -> None:
        self._hides_values = self.folder.settings.experiments_hide_values

    @property
    def is_current(self) -> bool:
        """Whether it is about the sources that were recorded last, and has values only if they may be shown."""
        allowed = self._hides_values == self.folder.settings.experiments_hide_values
        return allowed and is_of_sources(self.folder, self.evidence)

    def run(self, trust: Trust, job: Job[object]) -> WorkOutcome:
        """Search, and publish each step; in the thread of experiments."""
        from suspectra.causes.inquiry import CauseInquiry

        folder, settings = self.folder, self.folder.settings
        seconds = settings.causes_seconds if self.seconds is None else self.seconds
        inquiry: CauseInquiry | None = None
        try:
            setup = rerun_setup(trust, folder.root, folder.pytest_command(), settings)
            suspicion = Suspicion(self.evidence, everywhere=True)
            inquiry = CauseInquiry(setup, self.test, suspicion, seconds=seconds, judgements=self.judgements)
            with closing(inquiry.steps()) as steps:
                for step in steps:
                    job.publish(Narrowed(str(step), inquiry.share, inquiry.report))
            job.publish(Narrowed("", 1.0, inquiry.report))
        except SuspectraError as error:
            left_out = () if inquiry is None else inquiry.problems  # which may be the reason
            return WorkOutcome(0, problems=tuple(dict.fromkeys((error.problem, *left_out))))
        return WorkOutcome(inquiry.report.alterations, inquiry.complete, tuple(inquiry.problems))

    def take(self, news: object) -> Shown | None:
        """Take what a step has found."""
        if not isinstance(news, Narrowed):
            return None
        self.report = news.report
        if news.sentence:
            self.sentence = plain(news.sentence, MAX_TEXT)
            line = plain(f"{self.folder.root.name}: {self.sentence}", MAX_TEXT)
            self.client.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, line))
        runs = news.report.alterations
        return Shown(self.test.name, runs, news.share, self.sentence, self.sentence)

    def end(self, outcome: WorkOutcome) -> None:
        """Say what was found: the user gave a command."""
        self.outcome = outcome
        roots = self.report.roots if self.report else ()
        runs = self.report.alterations if self.report else outcome.runs
        is_out_of_time = self.report is not None and not (outcome.complete or outcome.cancelled)
        until = " until the time was up" if is_out_of_time else ""
        after = f"{'cancelled after ' if outcome.cancelled else ''}{many(runs, 'altered run')}{until}"
        if roots:
            more = f", or one of {len(roots) - 1} more" if len(roots) > 1 else ""
            suits = "; a change there repairs the test and breaks none" if self.report and self.report.change else ""
            text = f"The cause is probably {roots[0]}{more}{suits} ({after})."
        elif self.sentence and not outcome.complete:
            text = f"{self.sentence[0].upper()}{self.sentence[1:]} ({after})."
        else:
            text = f"No cause was found ({after})."
        problems = " ".join(f"{problem}." for problem in outcome.problems)
        kind = lsp.MessageType.Warning if outcome.problems and not roots else lsp.MessageType.Info
        self.client.notify(plain(f"{text} {problems}".strip(), MAX_TEXT), kind)
        self.client.send_status()
