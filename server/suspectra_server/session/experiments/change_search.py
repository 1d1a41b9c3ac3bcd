"""Searching for the change that broke failing tests: running them again, in a copy, with some of the changes."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types as lsp

from suspectra.base.deadline import while_others_work
from suspectra.base.english import many
from suspectra.base.errors import SuspectraError
from suspectra.experiments.repeated_tests import FailingTest
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.client import Client
from suspectra_server.session.experiments.experiment_run import ExperimentRun, Shown, WorkOutcome
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Job
from suspectra_server.session.tests.processes import rerun_setup
from suspectra_server.session.trust import Trust

if TYPE_CHECKING:
    from suspectra.changes.isolation import IsolationStep


class _Known(NamedTuple):
    """What is known after a step of the search."""

    share: float  # of the time
    step: IsolationStep | None  # None at the end
    causes: tuple[str, ...]  # what was found, in sentences


@dataclass
class ChangeSearch:
    """The search for what broke some tests. What it finds is in the log of experiments when it ends."""

    client: Client
    experiments: ExperimentRun  # where it runs
    folder: Folder
    tests: tuple[FailingTest, ...]
    asked: bool = True  # whether the user has asked for it; otherwise what is found is only logged and marked
    title: str = field(default="searching for the change", init=False)
    _said: str = field(default="", init=False)  # what was found

    def run(self, trust: Trust, job: Job[object]) -> WorkOutcome:
        """Search, and publish each step; in the thread of experiments."""
        from suspectra.changes.baselines import older_texts
        from suspectra.changes.isolation import ChangeIsolation
        from suspectra.evidence.discovery import find_source

        root, settings = self.folder.root, self.folder.settings
        runs = 0
        try:
            setup = rerun_setup(trust, root, self.folder.pytest_command(), settings)
            baselines = older_texts(root, find_source(root))
            search = ChangeIsolation(
                setup=setup, tests=self.tests, baselines=baselines, seconds=while_others_work(settings.changes_seconds)
            )
            with closing(search.steps()) as steps:
                for step in steps:
                    job.check()
                    runs = step.runs
                    job.publish(_Known(search.share, step, tuple(map(str, search.causes))))
            runs = search.runs
            job.publish(_Known(1.0, None, tuple(map(str, search.causes))))
        except SuspectraError as error:
            return WorkOutcome(runs, problems=(error.problem,))
        return WorkOutcome(runs, search.complete, tuple(search.problems))

    def take(self, news: object) -> Shown | None:
        """Show the progress."""
        if not isinstance(news, _Known):
            return None
        self._said = " ".join(news.causes)
        if news.step is None:
            return None
        return Shown(self.tests[0].name, news.step.runs, news.share, plain(str(news.step), MAX_TEXT))

    def end(self, outcome: WorkOutcome) -> None:
        """Rank by what was found, and say it."""
        self.experiments.after_ranking(self.folder, lambda: self._notify(outcome))

    def _notify(self, outcome: WorkOutcome) -> None:
        if not self.asked:  # its lines are marked; a message after each save would be in the way
            if self._said:
                said = plain(f"{self.folder.root.name}: {self._said}", MAX_TEXT)
                self.client.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, said))
            return
        after = f"{'cancelled after ' if outcome.cancelled else ''}{many(outcome.runs, 'run')}"
        ended = outcome.complete or outcome.cancelled or outcome.problems
        more = "" if ended else "; the setting changesSeconds allows more"
        which = "it" if len(self.tests) == 1 else "them"
        text = self._said or f"No change was found that broke {which} ({after}{more})."
        problems = " ".join(f"{problem}." for problem in outcome.problems)
        kind = lsp.MessageType.Warning if outcome.problems and not self._said else lsp.MessageType.Info
        self.client.answer(plain(f"{text} {problems}".strip(), MAX_TEXT), kind)
        self.client.send_status()
