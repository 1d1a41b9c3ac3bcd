"""Running failing tests again, when the user asks for it: one such work at a time.

Whatever is found out about failing tests is a `Work`, so there is one progress bar, one way to cancel it, and one place
for consent and trust. It takes as long as the user allows, so it has a thread for which neither rankings nor groups
wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from suspectra.base.errors import Problem
from suspectra_server.safe_text import plain
from suspectra_server.session.client import Client
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Job, Jobs
from suspectra_server.session.tests.progress_bar import ProgressBar
from suspectra_server.session.trust import Trust

log = logging.getLogger(__name__)

_KEY = "experiments"


@dataclass(frozen=True)
class Shown:
    """How far a work is, as the client shows it."""

    test: str  # which test is run
    runs: int  # how many runs there were
    share: float  # how much of the time is gone, from 0 to 1
    words: str  # the same in words
    found: str = ""  # what is known by now, in a few words; empty for nothing


@dataclass(frozen=True)
class WorkOutcome:
    """How a work ended."""

    runs: int  # how many runs there were
    complete: bool = False  # whether everything was tried
    problems: tuple[Problem, ...] = ()  # what kept tests from being run
    cancelled: bool = False  # whether the user stopped it


class Work(Protocol):
    """What is to be done with failing tests."""

    @property
    def folder(self) -> Folder:
        """Whose tests are run."""

    @property
    def title(self) -> str:
        """Of the progress bar."""

    def run(self, trust: Trust, job: Job[object]) -> WorkOutcome:
        """Do it, and publish news; in the thread of experiments."""

    def take(self, news: object) -> Shown | None:
        """Take news; in the loop. What the client is to show, if that has changed."""

    def end(self, outcome: WorkOutcome) -> None:
        """Take the outcome; in the loop. What was published before is all that there is."""


class ExperimentRun:
    """Does one work after the other. Belongs to the loop."""

    def __init__(self, client: Client, trust: Trust, jobs: Jobs, keep_running: Callable[[asyncio.Task[None]], None]):
        self._client = client
        self._trust = trust
        self._jobs = jobs
        self._keep_running = keep_running
        self._folder: Folder | None = None
        self._ended: asyncio.Future[WorkOutcome | None] | None = None  # None: the folder is gone
        self._task: asyncio.Task[None] | None = None
        self._gives_way = False  # whether nobody has asked for what runs
        self.shown: Shown | None = None  # how far the work is; None before its first news

    @property
    def running(self) -> bool:
        """Whether failing tests are run again."""
        return self._folder is not None

    @property
    def in_the_way(self) -> bool:
        """Whether nothing else can begin: the user has asked for what runs."""
        return self.running and not self._gives_way

    def start(self, work: Work, *, by_itself: bool = False) -> asyncio.Task[None]:
        """Begin, and return while tests run. A work that began `by_itself` gives way to the next one.

        Raises NotTrusted when the workspace is not trusted.
        """
        self._trust.require()
        self.give_way()
        before, self._gives_way = self._task, by_itself
        self._folder, self.shown = work.folder, None
        ended: asyncio.Future[WorkOutcome | None] = asyncio.get_running_loop().create_future()
        self._ended = ended
        self._client.send_status()
        if not by_itself:  # few clients that have a progress bar show it, and the answer may take a minute
            self._client.notify(f"{work.title[0].upper()}{work.title[1:]}…")
        task = self._task = asyncio.ensure_future(self._run(work, ended, before))
        self._keep_running(task)
        return task

    def cancel(self) -> None:
        """Stop; what was found so far is kept."""
        self._end(WorkOutcome(self.shown.runs if self.shown else 0, cancelled=True))

    def give_way(self) -> None:
        """Stop what nobody has asked for."""
        if self.running and self._gives_way:
            self.cancel()

    def leave_out(self, folder: Folder) -> None:
        """A folder was removed."""
        if self._folder is folder:
            self._end(None)

    def after_ranking(self, folder: Folder, then: Callable[[], None]) -> None:
        """Rank a folder again, and do something once that is done, whether or not the ranking is another one."""
        folder.rankings.rank()
        self._keep_running(asyncio.ensure_future(_when_ranked(folder, then)))

    def _end(self, outcome: WorkOutcome | None) -> None:
        self._jobs.cancel(_KEY)
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(outcome)

    async def _run(
        self, work: Work, ended: asyncio.Future[WorkOutcome | None], before: asyncio.Task[None] | None
    ) -> None:
        if before is not None and not before.done():  # it was cancelled
            await asyncio.wait([before])
            self._folder = work.folder
        # nobody has asked for a bar after each save
        title = None if self._gives_way else work.title
        progress = await ProgressBar.begin(self._client, self.cancel, title)
        taker = _Taker(self, work, progress, ended)
        outcome: WorkOutcome | None = None

        def do(job: Job[object]) -> object:
            return work.run(self._trust, job)

        try:
            if not ended.done():
                self._jobs.submit(_KEY, do, taker.take)
            outcome = await ended
        finally:
            self._jobs.cancel(_KEY)
            self._folder = self.shown = None
            progress.end("cancelled" if outcome is None or outcome.cancelled else "done")
            self._client.send_status()
        if outcome is not None:
            work.end(outcome)

    def show(self, shown: Shown) -> None:
        """Show how far the work is."""
        self.shown = shown
        self._client.send_status()


async def _when_ranked(folder: Folder, then: Callable[[], None]) -> None:
    await folder.rankings.settled()
    if not folder.removed:
        then()


class _Taker:
    """Takes what a work publishes."""

    def __init__(
        self, run: ExperimentRun, work: Work, bar: ProgressBar, ended: asyncio.Future[WorkOutcome | None]
    ) -> None:
        self._run, self._work, self._bar, self._ended = run, work, bar, ended

    def take(self, news: object) -> None:
        """Take news, the outcome, or the error of a defect."""
        if self._ended.done():
            return
        if isinstance(news, WorkOutcome):
            self._ended.set_result(news)
        elif isinstance(news, Exception):
            problem = Problem("", "", f"the experiments failed: {news}", "see the server's log, and report this")
            self._ended.set_result(WorkOutcome(0, problems=(problem,)))
        elif shown := self._work.take(news):
            self._bar.report(plain(shown.words), int(100 * shown.share))
            self._run.show(shown)
