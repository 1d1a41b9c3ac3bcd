"""Running the tests when the user asks for it, with a progress bar that can cancel them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

from lsprotocol import types as lsp

from suspectra.cancellation import Token
from suspectra.errors import EvidenceError
from suspectra.processes.events import Ended, Output, TestProgress, Trouble
from suspectra.processes.runner import Program, Streams
from suspectra.processes.scratch import ScratchFolder
from suspectra.quantity import many
from suspectra.recording.endings import in_words
from suspectra_server.protocol import State
from suspectra_server.session.client import Client
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Jobs
from suspectra_server.session.processes import SUSPECTRA, environment, events_of
from suspectra_server.session.progress_bar import ProgressBar
from suspectra_server.session.run_log import RunLog
from suspectra_server.session.trust import Trust

log = logging.getLogger(__name__)

_USAGE = 2  # the first exit status of pytest that says that not all tests were run


class TestRun:
    """Runs the tests of folders, one folder after another, and one run at a time.

    Parameters
    ----------
    client : Client
    trust : Trust
    files : Jobs
        Where files are accessed.
    keep_running : callable
        Keeps a task alive.

    Attributes
    ----------
    progress : TestProgress
        The progress of the run in the present folder.
    failures : dict of str to str
        Why the last run of a folder failed, by the URI of the folder.
    """

    def __init__(self, client: Client, trust: Trust, files: Jobs, keep_running: Callable[[asyncio.Task[None]], None]):
        self._client = client
        self._trust = trust
        self._files = files
        self._keep_running = keep_running
        self._folders: list[Folder] = []
        self._token = Token()  # of the present folder's run
        self._cancelled = False
        self._tests: Mapping[str, Sequence[str]] = {}
        self.progress = TestProgress()
        self.failures: dict[str, str] = {}
        self._unranked: set[Folder] = set()  # whose tests have run, but are not ranked yet

    @property
    def running(self) -> bool:
        """Whether tests are running."""
        return bool(self._folders)

    def runs(self, folder: Folder) -> bool:
        """Whether the tests of a folder are running, or waiting for those of others."""
        return folder in self._folders

    async def start(self, folders: list[Folder], tests: Mapping[str, Sequence[str]]) -> None:
        """Start the tests, and return while they run.

        Parameters
        ----------
        folders : list of Folder
        tests : mapping of str to sequence of str
            Which tests to run of a folder, by its URI; all of them by default.

        Raises
        ------
        NotTrusted
            When the workspace is not trusted.
        """
        self._trust.require()
        self._folders = folders
        self._tests = tests
        self._cancelled = False
        self.progress = TestProgress()
        for folder in folders:
            self.failures.pop(folder.uri, None)
        self._client.send_status()
        self._keep_running(asyncio.ensure_future(self._run()))

    def cancel(self) -> None:
        """Stop the tests."""
        self._cancelled = True
        self._token.cancelled = True

    def leave_out(self, folder: Folder) -> None:
        """A folder was removed: end its run, or don't begin it."""
        self._unranked.discard(folder)
        if self._folders and self._folders[0] is folder:
            self._token.cancelled = True
        elif folder in self._folders:
            self._folders.remove(folder)

    def ranked(self, folder: Folder) -> None:
        """Show the outcome of a run, if the client does not show it by itself."""
        if folder not in self._unranked or folder.rankings.busy:
            return
        self._unranked.discard(folder)
        snapshot = folder.snapshot
        if not self._client.supports_status and snapshot.state is not State.ERROR:
            suspects = f": {many(len(snapshot.marks), 'suspect')}" if snapshot.marks else ""
            self._client.answer(f"{folder.root.name}: {snapshot.message}{suspects}")

    async def _run(self) -> None:
        progress = await ProgressBar.begin(self._client, self.cancel, "running tests")
        try:
            while self._folders and not self._cancelled:
                ended = await self._record(self._folders[0], progress)
                done = self._folders.pop(0)
                if ended and not done.removed:
                    self._unranked.add(done)
                done.rankings.rank()
        finally:
            self._folders = []
            progress.end("cancelled" if self._cancelled else "done")
            self._client.send_status()

    async def _record(self, folder: Folder, progress: ProgressBar) -> bool:
        """Run the tests of a folder, and return whether all were run."""
        with await self._files.run(ScratchFolder) as scratch:
            tests = self._tests.get(folder.uri)
            show, find = folder.test_arguments(), folder.test_arguments(chosen=tests is not None)
            shown, program = await self._files.run(lambda: (show(), _program(find(), tests, folder.root, scratch)))
            self._token = Token()
            if self._cancelled or folder.removed:
                return False
            self.progress = TestProgress()
            progress.report(" ".join(shown), None)
            log = RunLog(self._log)
            trouble, status = "", _USAGE
            try:
                async with aclosing(events_of(self._trust, program, self._token)) as events:
                    async for event in events:
                        match event:
                            case Output(lines):
                                log.add(lines)
                            case TestProgress():
                                self.progress = event
                                self._client.send_status()
                                progress.report(str(event), event.percentage)
                            case Trouble(text):
                                trouble = text
                            case Ended():
                                status = event.status
            except (EvidenceError, OSError) as error:
                trouble = str(error)
            finally:
                log.end()
        if self._cancelled:
            return False
        if status >= _USAGE:
            failure = trouble or f"{' '.join(shown)}: {in_words(status)}: {log.last.strip() or 'no output'}"
            self.failures[folder.uri] = failure
            self._client.answer(failure, lsp.MessageType.Error)
        return status < _USAGE

    def _log(self, text: str) -> None:
        self._client.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, text))


def _program(command: Sequence[str], tests: Sequence[str] | None, root: Path, scratch: Path) -> Program:
    """The program that records the tests; called in a worker thread."""
    progress = scratch / "progress"
    progress.touch()
    kind, *rest = command
    options = ["--progress", str(progress)]
    if tests is not None:
        listing = scratch / "tests"
        listing.write_text("".join(f"{name}\n" for name in tests), "utf-8")
        options += ["--only", str(listing)]
    arguments = (*SUSPECTRA, kind, *options, *rest)
    return Program(arguments, str(root), environment(), Streams.EVENTS, guarded=True, progress=progress)
