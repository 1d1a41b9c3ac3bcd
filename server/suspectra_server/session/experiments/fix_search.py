"""Searching fixes: running failing tests again with changes of the source, and keeping those that all tests accept."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types as lsp

from suspectra.base.deadline import while_others_work
from suspectra.base.english import many
from suspectra.base.errors import Problem, SuspectraError
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.named_tests import with_failing
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.experiments.suspicion import Suspicion
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.client import Client
from suspectra_server.session.experiments.experiment_run import Shown, WorkOutcome
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Job
from suspectra_server.session.tests.processes import rerun_setup
from suspectra_server.session.trust import Trust

if TYPE_CHECKING:
    from suspectra.fixes.apart import Apart
    from suspectra.fixes.fix import Fix


class FoundFix(NamedTuple):
    """A fix, when it is found."""

    fix: Fix
    difference: str  # what it changes, as a unified difference
    tried: int
    share: float


class FoundApart(NamedTuple):
    """What tells the likeliest fixes apart."""

    by_fix: Mapping[Fix, Apart]


@dataclass(eq=False)
class FixSearch:
    """A search for fixes, and what it has found by now. Belongs to the loop."""

    client: Client
    folder: Folder
    evidence: Evidence  # of the recording in which the tests failed
    tests: tuple[FailingTest, ...]
    seconds: float | None = None  # how long it may take; by default as the settings say
    title: str = field(default="searching for a fix", init=False)
    found: dict[Fix, str] = field(default_factory=dict, init=False)  # each with its difference
    apart: Mapping[Fix, Apart] = field(default_factory=dict, init=False)
    outcome: WorkOutcome | None = field(default=None, init=False)  # None as long as the search lasts

    def run(self, trust: Trust, job: Job[object]) -> WorkOutcome:
        """Search, and publish each fix; in the thread of experiments."""
        from suspectra.changes.baselines import changes_since_pass
        from suspectra.evidence.discovery import find_source
        from suspectra.fixes.diff import difference
        from suspectra.fixes.search import FixInquiry

        folder, settings = self.folder, self.folder.settings
        problems: list[Problem] = []
        tried, complete = 0, False
        try:
            setup = rerun_setup(trust, folder.root, folder.pytest_command(), settings)
            seconds = while_others_work(settings.fix_seconds) if self.seconds is None else self.seconds
            names = {test.name for test in self.tests}
            suspicion = Suspicion(with_failing(self.evidence, names), everywhere=True)
            changes = partial(changes_since_pass, folder.root, find_source(folder.root))
            inquiry = FixInquiry(
                setup,
                self.tests,
                suspicion,
                changes=changes,
                failed_before=self.evidence.failed_before,
                seconds=seconds,
            )
            problems = inquiry.problems
            with closing(inquiry.steps()) as steps:
                for fix in steps:
                    job.publish(FoundFix(fix, difference(fix.candidates, suspicion.read), inquiry.tried, inquiry.share))
            job.publish(FoundApart(dict(inquiry.apart)))
            tried, complete = inquiry.tried, inquiry.complete
        except SuspectraError as error:
            problems = [*problems, error.problem]
        return WorkOutcome(tried, complete, tuple(dict.fromkeys(problems)))

    @property
    def ordered(self) -> list[Fix]:
        """What was found, the likeliest first."""
        from suspectra.fixes.fix import in_order

        return in_order(list(self.found))

    def take(self, news: object) -> Shown | None:
        """Keep a fix, and show how far the search is."""
        if isinstance(news, FoundApart):
            self.apart = news.by_fix
        if not isinstance(news, FoundFix):
            return None
        self.found[news.fix] = news.difference
        words = f"{many(len(self.found), 'change')} found, {many(news.tried, 'run')}"
        return Shown(self.tests[0].name, news.tried, news.share, words, words)

    def end(self, outcome: WorkOutcome) -> None:
        """Say so where nothing was found; fixes are shown by who asked for them."""
        self.outcome = outcome
        if not self.found:
            more = "" if outcome.complete or outcome.cancelled else "; the setting fixSeconds allows more"
            problems = " ".join(f"{problem}." for problem in outcome.problems)
            text = f"No change was found with which the failing tests pass ({many(outcome.runs, 'run')}{more})."
            kind = lsp.MessageType.Warning if outcome.problems else lsp.MessageType.Info
            self.client.answer(plain(f"{text} {problems}".strip(), MAX_TEXT), kind)
        self.client.send_status()
