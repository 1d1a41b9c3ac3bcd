"""Running the tests at the user's word, with a progress bar that can stop them."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path

from lsprotocol import types as lsp

from suspectra.cancellation import Token
from suspectra.errors import EvidenceError
from suspectra.processes.events import Ended, Output, TestProgress, Trouble
from suspectra.processes.runner import Program, Streams
from suspectra.quantity import many
from suspectra.recording.endings import in_words
from suspectra_server.protocol import State
from suspectra_server.session.client import Client
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Jobs
from suspectra_server.session.processes import events_of
from suspectra_server.session.progress_bar import ProgressBar
from suspectra_server.session.run_log import RunLog
from suspectra_server.session.trust import Trust

log = logging.getLogger(__name__)

# -m and -c put the current folder first, where a project's suspectra.py or json.py would be taken for the real one
_SUSPECTRA = "import sys; sys.path[:1] = filter(None, sys.path[:1]); from suspectra.__main__ import main; main()"
_USAGE = 2  # from here on pytest's exit status says that no tests were run to their end


class TestRun:
    """At most one run of the tests at a time, folder after folder.

    Parameters
    ----------
    client : Client
    trust : Trust
    files : Jobs
        Where files are looked at.
    keep_running : callable
        Keeps a task alive.

    Attributes
    ----------
    progress : TestProgress
        How far the run of the present folder is.
    failures : dict of str to str
        Why the last run of a folder, by its URI, was not one that tests can be ranked from.
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
        self._unranked: set[Folder] = set()  # whose tests have run, but whose ranking is not there yet

    @property
    def running(self) -> bool:
        """Whether tests are running."""
        return bool(self._folders)

    def runs(self, folder: Folder) -> bool:
        """Whether the tests of a folder are running, or wait for others to end."""
        return folder in self._folders

    async def start(self, folders: list[Folder], tests: Mapping[str, Sequence[str]]) -> None:
        """Start, and come back while it runs.

        Parameters
        ----------
        folders : list of Folder
        tests : mapping of str to sequence of str
            Which tests to run of a folder, by its URI, where not all are.

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
        """The folder was removed: end its run, or don't begin it."""
        self._unranked.discard(folder)
        if self._folders and self._folders[0] is folder:
            self._token.cancelled = True
        elif folder in self._folders:
            self._folders.remove(folder)

    def ranked(self, folder: Folder) -> None:
        """Tell the user who ran the tests how it ended, where the client does not show it by itself."""
        if folder not in self._unranked or folder.busy:
            return
        self._unranked.discard(folder)
        snapshot = folder.snapshot
        if not self._client.takes_status and snapshot.state is not State.ERROR:
            suspects = f": {many(len(snapshot.marks), 'suspect')}" if snapshot.marks else ""
            self._client.answer(f"{folder.root.name}: {snapshot.message}{suspects}")

    async def _run(self) -> None:
        progress = await ProgressBar.begin(self._client, self.cancel)
        try:
            while self._folders and not self._cancelled:
                ended = await self._record(self._folders[0], progress)
                done = self._folders.pop(0)
                if ended and not done.removed:
                    self._unranked.add(done)
                done.rank()
        finally:
            self._folders = []
            progress.end("cancelled" if self._cancelled else "done")
            self._client.send_status()

    async def _record(self, folder: Folder, progress: ProgressBar) -> bool:
        """Run the tests of a folder; whether they came to their end."""
        with tempfile.TemporaryDirectory(prefix="suspectra-") as scratch:
            tests = self._tests.get(folder.uri)
            show, find = folder.test_arguments(), folder.test_arguments(chosen=tests is not None)
            shown, program = await self._files.run(
                lambda: (show(), _program(find(), tests, folder.root, Path(scratch)))
            )
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
    """What records the tests; in a worker thread."""
    progress = scratch / "progress"
    progress.touch()
    kind, *rest = command
    options = ["--progress", str(progress)]
    if tests is not None:
        listing = scratch / "tests"
        listing.write_text("".join(f"{name}\n" for name in tests), "utf-8")
        options += ["--only", str(listing)]
    arguments = (sys.executable, "-c", _SUSPECTRA, kind, *options, *rest)
    return Program(arguments, str(root), environment(), Streams.EVENTS, guarded=True, progress=progress)


def environment() -> dict[str, str]:
    """The server's environment, with output as it comes.

    The programs of its interpreter come first if pytest is one of them. If it is not, then this environment is the
    server's alone, and its Python must not stand before the user's.
    """
    path = os.environ.get("PATH", os.defpath)
    if find_spec("pytest"):
        path = os.pathsep.join([os.path.dirname(sys.executable), path])
    return {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}
