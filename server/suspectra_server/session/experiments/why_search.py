"""Finding out why tests fail, for one answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types as lsp

from suspectra.base.deadline import while_others_work
from suspectra.base.errors import Problem, SuspectraError
from suspectra.evidence.evidence import Evidence
from suspectra.experiments.repeated_tests import FailingTest
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.client import Client
from suspectra_server.session.experiments.experiment_run import Shown, WorkOutcome
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Job
from suspectra_server.session.tests.processes import build_of, build_setup, rerun_setup
from suspectra_server.session.trust import Trust

if TYPE_CHECKING:
    from suspectra.why.answer import WhyAnswer
    from suspectra.why.inquiry import WhyInquiry


class WhyNews(NamedTuple):
    """What is known after a step."""

    sentence: str  # what is being done
    share: float
    answer: WhyAnswer


@dataclass
class WhySearch:
    """The search for an answer to why tests fail. Belongs to the loop."""

    client: Client
    folder: Folder
    evidence: Evidence  # of the recording in which the tests failed
    tests: tuple[FailingTest, ...]
    seconds: float | None = None  # how long it may take; by default as the settings say
    # called with what is known, and with what is done now
    on_news: Callable[[WhyAnswer, str], None] = field(default=lambda _answer, _sentence: None, kw_only=True)
    title: str = field(default="finding out why it fails", init=False)
    answer: WhyAnswer | None = field(default=None, init=False)  # what is known by now
    outcome: WorkOutcome | None = field(default=None, init=False)  # None as long as it lasts
    _steps: int = field(default=0, init=False)

    def run(self, trust: Trust, job: Job[object]) -> WorkOutcome:
        """Search, and publish each step; in the thread of experiments."""
        steps, problems = 0, list[Problem]()
        try:
            inquiry = self._inquiry(trust)
            problems = inquiry.problems
            with closing(inquiry.steps()) as sentences:
                for sentence in sentences:
                    steps += 1
                    job.publish(WhyNews(sentence, inquiry.share, inquiry.answer))
            job.publish(WhyNews("", 1.0, inquiry.answer))
        except SuspectraError as error:
            return WorkOutcome(steps, problems=tuple(dict.fromkeys([error.problem, *problems])))
        return WorkOutcome(steps, inquiry.complete, tuple(problems))

    def _inquiry(self, trust: Trust) -> WhyInquiry:
        from suspectra.changes.baselines import older_texts, revisions
        from suspectra.evidence.discovery import find_source
        from suspectra.evidence.named_tests import with_failing
        from suspectra.why.compiled import CompiledWhyInquiry
        from suspectra.why.inquiry import WhyInquiry

        folder, settings = self.folder, self.folder.settings
        evidence = with_failing(self.evidence, {test.name for test in self.tests})
        seconds = while_others_work(settings.why_seconds) if self.seconds is None else self.seconds
        if build := folder.rankings.build:
            return CompiledWhyInquiry(
                setup=build_setup(trust, folder.root, settings),
                evidence=evidence,
                failing=self.tests,
                baselines=revisions(folder.root),
                build=build_of(trust, folder.root, build),
                seconds=seconds,
            )
        return WhyInquiry(
            setup=rerun_setup(trust, folder.root, folder.pytest_command(), settings),
            evidence=evidence,
            failing=self.tests,
            baselines=older_texts(folder.root, find_source(folder.root)),
            seconds=seconds,
        )

    def take(self, news: object) -> Shown | None:
        """Take what a step has found."""
        if not isinstance(news, WhyNews):
            return None
        self.answer = news.answer
        self._steps += 1
        sentence = plain(news.sentence, MAX_TEXT)
        if sentence:
            line = plain(f"{self.folder.root.name}: {sentence}", MAX_TEXT)
            self.client.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, line))
            self.on_news(news.answer, sentence)
        return Shown(self.tests[0].name, self._steps, news.share, sentence, plain(news.answer.conclusion, MAX_TEXT))

    def end(self, outcome: WorkOutcome) -> None:
        """What was found is evidence, so the folder is ranked again; the command itself answers."""
        self.outcome = outcome
        self.folder.rankings.rank()
