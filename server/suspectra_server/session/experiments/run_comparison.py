"""Comparing a failing test with a run that passes, by one of the techniques that search for paths."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import TimeoutError as NoAnswer
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types as lsp

from suspectra.base.cancellation import Cancelled, check
from suspectra.base.english import many
from suspectra.base.errors import SuspectraError
from suspectra.evidence.evidence import Evidence
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.localizer import Localizer
from suspectra.paths.report import PathReport
from suspectra.paths.searches.techniques import ASKING, DEFAULT
from suspectra.processes.runner import LOOK_S
from suspectra.techniques import make_technique
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.client import Client
from suspectra_server.session.experiments.experiment_run import Shown, WorkOutcome
from suspectra_server.session.experiments.tracing import is_of_sources
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Job
from suspectra_server.session.tests.processes import build_of, rerun_setup
from suspectra_server.session.trust import Trust

if TYPE_CHECKING:
    from suspectra.c.paths.inquiry import CPathInquiry
    from suspectra.paths.searches.executed_lines import ExecutedLine
    from suspectra.paths.searches.inquiry import PathInquiry
    from suspectra.report import RankedReport

_RIGHT, _WRONG = "Right", "Wrong"


def compiled_searches() -> frozenset[str]:
    """The techniques that compare or alter runs of compiled programs."""
    from suspectra.c.paths.inquiry import SEARCHERS

    return frozenset(SEARCHERS)


class ComparedLines(NamedTuple):
    """What both tests execute."""

    failing: list[ExecutedLine]  # in the order of the run
    passing: list[ExecutedLine]
    common: int  # how many lines both execute before they go on at different ones


@dataclass
class RunComparison:
    """The comparison of one failing test with runs that pass, and what is known by now. Belongs to the loop."""

    client: Client
    folder: Folder
    evidence: Evidence  # of the recording in which the test failed
    test: FailingTest
    technique: str = DEFAULT  # how to search for the run that passes
    title: str = field(default="comparing with a passing run", init=False)
    report: PathReport | None = field(default=None, init=False)  # what is known by now
    # what both tests execute; None as long as that is not known
    lines: ComparedLines | None = field(default=None, init=False)
    outcome: WorkOutcome | None = field(default=None, init=False)  # None as long as tests run

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    @property
    def is_current(self) -> bool:
        """Whether it is about the sources that were recorded last."""
        return is_of_sources(self.folder, self.evidence)

    def run(self, trust: Trust, job: Job[object]) -> WorkOutcome:
        """Compare paths, then note the lines of both tests; in the thread of experiments."""
        from suspectra.paths.searches.executed_lines import common_lines
        from suspectra.paths.searches.inquiry import PathInquiry

        try:
            ranking = Localizer(make_technique("ochiai")).update(self.evidence)
            inquiry = self._inquiry(trust, ranking)
            with closing(inquiry.steps()) as reports:
                for report in reports:
                    job.publish(report)
            report = inquiry.report
            job.publish(report)
            if (
                isinstance(inquiry, PathInquiry)
                and report.other is not None
                and report.other in ranking.spectrum.test_index
            ):
                failing, passing = inquiry.executed_lines(self.test.name, report.other)
                job.publish(ComparedLines(failing, passing, common_lines(failing, passing)))
        except SuspectraError as error:
            return WorkOutcome(0, problems=(error.problem,))
        return WorkOutcome(report.candidates, inquiry.complete, tuple(inquiry.problems))

    def _inquiry(self, trust: Trust, ranking: RankedReport) -> PathInquiry | CPathInquiry:
        from suspectra.c.paths.inquiry import CPathInquiry
        from suspectra.paths.searches.inquiry import PathInquiry
        from suspectra.paths.searches.search import PathOptions

        folder, settings = self.folder, self.folder.settings
        if build := folder.rankings.build:
            return CPathInquiry(
                workspace=folder.root,
                build=build_of(trust, folder.root, build),
                test=self.test,
                spectrum=ranking.spectrum,
                seconds=settings.paths_seconds,
                technique=self.technique,
            )
        setup = rerun_setup(trust, folder.root, folder.pytest_command(), settings)
        return PathInquiry(
            setup,
            ranking.suspiciousness,
            test=self.test,
            spectrum=ranking.spectrum,
            seconds=settings.paths_seconds,
            technique=self.technique,
            options=PathOptions(ask=self._asking() if self.technique in ASKING else None),
        )

    def _asking(self) -> Callable[[str], bool | None]:
        """Ask the user in the client, from the thread of experiments, until a question is closed without an answer."""
        closed = False

        def ask(question: str) -> bool | None:
            nonlocal closed
            if closed:
                return None
            actions = [lsp.MessageActionItem(_RIGHT), lsp.MessageActionItem(_WRONG)]
            params = lsp.ShowMessageRequestParams(lsp.MessageType.Info, plain(question, MAX_TEXT), actions)
            asking = self.client.window_show_message_request_async(params)
            answer = asyncio.run_coroutine_threadsafe(asking, self._loop)
            while True:
                try:
                    chosen = answer.result(LOOK_S)
                    break
                except NoAnswer:
                    try:
                        check()
                    except Cancelled:
                        answer.cancel()
                        raise
            closed = chosen is None
            return None if chosen is None else chosen.title == _RIGHT

        return ask

    def take(self, news: object) -> Shown | None:
        """Take what is known."""
        if isinstance(news, ComparedLines):
            self.lines = news
        if not isinstance(news, PathReport):
            return None
        self.report = news
        share = min(news.seconds / self.folder.settings.paths_seconds, 1.0)
        words = self._counted(news.candidates)
        return Shown(self.test.name, news.candidates, share, words, plain(news.summary, MAX_TEXT))

    def end(self, outcome: WorkOutcome) -> None:
        """Say what was found: the user gave a command."""
        self.outcome = outcome
        report = self.report
        after = f"{'cancelled after ' if outcome.cancelled else ''}{self._counted(report.candidates if report else 0)}"
        notes = report.notes if report else ()
        if report is not None and not report.similar:
            text, notes = (
                f"No similar test passes ({after}).",
                notes[:1],
            )  # it makes no difference what others were left
        elif report is not None and report.found:
            text = f"{report.summary.removesuffix('.')} ({after})."
        else:
            text = f"No run was found that passes and shows the difference ({after})."
        sentences = [text, *notes, *(f"{problem}." for problem in outcome.problems)]
        told = report is not None and report.found and report.similar
        kind = lsp.MessageType.Info if told else lsp.MessageType.Warning
        self.client.answer(plain(" ".join(sentences), MAX_TEXT), kind)
        self.client.send_status()

    def _counted(self, candidates: int) -> str:
        compares = self.technique in ("nearest-path", "cause-transitions")
        return f"{many(candidates, 'passing test')} compared" if compares else f"{many(candidates, 'path')} tried"
