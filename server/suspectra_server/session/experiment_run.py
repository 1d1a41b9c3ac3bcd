"""Running failing tests again with one thing altered, when the user asks for it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

from lsprotocol import types as lsp

from suspectra.errors import Problem, SuspectraError
from suspectra.evidence.evidence import Evidence
from suspectra.experiment import Experiment
from suspectra.experiments.investigation import Progress
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.location import Location
from suspectra.quantity import many
from suspectra.suspicion import Suspicion
from suspectra_server.session.client import Client
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Job, Jobs
from suspectra_server.session.processes import investigation_of
from suspectra_server.session.progress_bar import ProgressBar
from suspectra_server.session.project_tests import pytest_command
from suspectra_server.session.trust import Trust
from suspectra_server.text import MAX_TEXT, plain
from suspectra_server.timing import PROGRESS_S

log = logging.getLogger(__name__)

_KEY = "experiments"


@dataclass(frozen=True)
class Wanted:
    """What to find out.

    Parameters
    ----------
    folder : Folder
    evidence : Evidence
        Of the recording in which the tests failed.
    tests : tuple of FailingTest
    at : Location, optional
        The statement to alter; by default any.
    """

    folder: Folder
    evidence: Evidence
    tests: tuple[FailingTest, ...]
    at: Location | None = None


@dataclass(frozen=True)
class Made:
    """How experiments ended.

    Parameters
    ----------
    runs : int
        How many altered runs there were.
    complete : bool
        Whether everything was tried.
    problems : tuple of Problem
        What kept tests from being run.
    cancelled : bool
        Whether the user stopped them.
    """

    runs: int
    complete: bool = False
    problems: tuple[Problem, ...] = ()
    cancelled: bool = False


News: TypeAlias = Progress | Experiment | Made
"""What is heard of experiments; the last is `Made`."""


class ExperimentRun:
    """Makes experiments with the failing tests of one folder at a time. Belongs to the loop.

    What is found is in the log of experiments at once, which is evidence: the folder is ranked again as the log grows.

    Parameters
    ----------
    client : Client
    trust : Trust
    jobs : Jobs
        Where experiments are made. Neither rankings nor other long work wait for this thread.
    keep_running : callable
        Keeps a task alive.

    Attributes
    ----------
    progress : Progress, optional
        How far the experiments are; None before the first one.
    """

    def __init__(self, client: Client, trust: Trust, jobs: Jobs, keep_running: Callable[[asyncio.Task[None]], None]):
        self._client = client
        self._trust = trust
        self._jobs = jobs
        self._keep_running = keep_running
        self._wanted: Wanted | None = None
        self._ended: asyncio.Future[Made | None] | None = None  # None: the folder is gone
        self._unranked: dict[Folder, tuple[Wanted, Made]] = {}  # whose last experiments are not ranked yet
        self.progress: Progress | None = None

    @property
    def running(self) -> bool:
        """Whether experiments are being made."""
        return self._wanted is not None

    def start(self, wanted: Wanted) -> None:
        """Begin, and return while tests run.

        Raises
        ------
        NotTrusted
            When the workspace is not trusted.
        """
        self._trust.require()
        self._wanted = wanted
        self.progress = None
        self._ended = asyncio.get_running_loop().create_future()
        self._client.send_status()
        self._keep_running(asyncio.ensure_future(self._run(wanted, self._ended)))

    def cancel(self) -> None:
        """Stop; what was found so far is kept."""
        self._end(Made(self.progress.runs if self.progress else 0, cancelled=True))

    def leave_out(self, folder: Folder) -> None:
        """A folder was removed."""
        self._unranked.pop(folder, None)
        if self._wanted is not None and self._wanted.folder is folder:
            self._end(None)

    def ranked(self, folder: Folder) -> None:
        """Say what was found, once it is ranked."""
        if folder in self._unranked and not folder.rankings.busy:
            self._say(*self._unranked.pop(folder))

    def _end(self, made: Made | None) -> None:
        self._jobs.cancel(_KEY)
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(made)

    async def _run(self, wanted: Wanted, ended: asyncio.Future[Made | None]) -> None:
        folder = wanted.folder
        progress = await ProgressBar.begin(self._client, self.cancel, "trying what makes tests pass")
        made: Made | None = None
        try:
            if not ended.done():
                self._jobs.submit(
                    _KEY,
                    lambda job: _make(self._trust, wanted, job),
                    lambda news: self._take(news, folder, progress, ended),
                )
            made = await ended
        finally:
            self._jobs.cancel(_KEY)
            self._wanted = self.progress = None
            progress.end("cancelled" if made is None or made.cancelled else "done")
            self._client.send_status()
        if made is not None:
            self._unranked[folder] = wanted, made
            folder.rankings.rank()

    def _take(
        self,
        news: News | Exception,
        folder: Folder,
        bar: ProgressBar,
        ended: asyncio.Future[Made | None],
    ) -> None:
        match news:
            case Progress():
                self.progress = news
                test = f"test {news.number} of {news.total}: " if news.total > 1 else ""
                bar.report(plain(f"{many(news.runs, 'run')}, {test}{news.test}"), int(100 * news.share))
                self._client.send_status()
            case Experiment():
                found = lsp.LogMessageParams(lsp.MessageType.Info, plain(f"{folder.root.name}: {news}", MAX_TEXT))
                self._client.window_log_message(found)
            case Made() if not ended.done():
                ended.set_result(news)
            case Exception() if not ended.done():
                problem = Problem("", "", f"the experiments failed: {news}", "see the server's log, and report this")
                ended.set_result(Made(0, problems=(problem,)))

    def _say(self, wanted: Wanted, made: Made) -> None:
        """The user gave a command, so this is its answer in every client."""
        found = wanted.folder.snapshot.ranking.found_first(wanted.at)
        runs = f"{'cancelled after ' if made.cancelled else ''}{many(made.runs, 'altered run')}"
        if found is None:
            more = "" if made.complete or made.cancelled else "; the setting investigationSeconds allows more"
            where = f" on line {wanted.at.line} of {wanted.at.file}" if wanted.at else ""
            text = f"Nothing was found{where} that makes a failing test pass ({runs}{more})."
        else:
            lines, (place, sentence) = found
            where = f"{place.file}:{place.line}: {sentence}"
            text = f"{where} {f'One of {lines} such lines; ' if lines > 1 else ''}{runs}."
        problems = " ".join(f"{problem}." for problem in made.problems)
        warns = bool(made.problems) and found is None
        kind = lsp.MessageType.Warning if warns else lsp.MessageType.Info
        self._client.answer(f"{text} {problems}".strip(), kind)


def _make(trust: Trust, wanted: Wanted, job: Job[News]) -> News:
    """Make the experiments; in their thread. Only those that repair, and now and then the progress, are published."""
    runs, last = 0, 0.0

    def notify(progress: Progress) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= PROGRESS_S:
            last = now
            job.publish(progress)

    problems: list[Problem] = []
    complete = False
    try:
        folder = wanted.folder
        command = pytest_command(folder.root, folder.settings, folder.rankings.recorded_by)
        suspicion = Suspicion(wanted.evidence, everywhere=wanted.at is not None)
        tests = {test.name: test for test in wanted.tests}
        investigation = investigation_of(
            trust,
            folder.root,
            command,
            [tests[name] for name in suspicion.in_turn(tests)],
            settings=folder.settings,
            suspects=suspicion,
            at=wanted.at,
            notify=notify,
        )
        problems = investigation.problems
        with closing(investigation.experiments()) as experiments:
            for experiment in experiments:
                job.check()
                runs += 1
                if experiment.outcome.repairs:
                    job.publish(experiment)
        complete = investigation.complete
    except SuspectraError as error:
        problems = [*problems, error.problem]
    return Made(runs, complete, tuple(dict.fromkeys(problems)))
