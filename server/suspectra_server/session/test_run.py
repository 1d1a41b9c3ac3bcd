"""Running the tests at the user's word, with a progress bar that can stop them."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from lsprotocol import types as lsp

from suspectra.recording.endings import in_words
from suspectra.recording.watchdog import Watchdog
from suspectra_server.protocol import State
from suspectra_server.session.client import Client
from suspectra_server.session.folder import Folder
from suspectra_server.session.jobs import Jobs
from suspectra_server.session.processes import start_process
from suspectra_server.session.run_output import Output, lines_of
from suspectra_server.session.run_progress import Counts, Events, ProgressBar
from suspectra_server.session.trust import Trust
from suspectra_server.text import many
from suspectra_server.timing import RUN_PROGRESS_S

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
    counts : Counts
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
        self._process: asyncio.subprocess.Process | None = None
        self._watchdog: Watchdog | None = None
        self._cancelled = False
        self._tests: Mapping[str, Sequence[str]] = {}
        self.counts = Counts()
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
        self.counts = Counts()
        for folder in folders:
            self.failures.pop(folder.uri, None)
        self._client.send_status()
        self._keep_running(asyncio.ensure_future(self._run()))

    def cancel(self) -> None:
        """Stop the tests."""
        self._cancelled = True
        self._end()

    def _end(self) -> None:
        if self._process and self._watchdog and self._process.returncode is None:
            self._watchdog.end()  # which does not need this loop to go on
            if os.name == "nt":
                self._process.terminate()

    def leave_out(self, folder: Folder) -> None:
        """The folder was removed: end its run, or don't begin it."""
        self._unranked.discard(folder)
        if self._folders and self._folders[0] is folder:
            self._end()
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
            shown, command, path, environ, watchdog = await self._files.run(
                lambda: (show(), *_prepared(find(), tests, Path(scratch)), *_watched_environment())
            )
            self._watchdog = watchdog
            ended = asyncio.Event()
            self.counts = Counts()
            progress.report(" ".join(shown), None)
            output = Output(
                lambda text: self._client.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, text))
            )
            following = asyncio.ensure_future(self._follow(Events(path), output, progress, ended))
            try:
                self._process = await start_process(
                    self._trust, (sys.executable, "-c", _SUSPECTRA, *command), folder.root, environ
                )
                if self._cancelled or folder.removed:
                    self._end()
                assert self._process.stdout is not None, "it was asked for"
                async for line in lines_of(self._process.stdout):
                    output.add(line)
                status = await self._process.wait()
                watchdog.release()
            except OSError as error:
                output.add(str(error))
                status = _USAGE
            finally:
                if (
                    self._process and self._process.returncode is None
                ):  # the loop is ending; the watchdog ends the tests
                    self._process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
                self._process = None
                ended.set()
                await following
                output.end()
        if self._cancelled:
            return False
        if status >= _USAGE:
            failure = _failure(shown, status, output.last)
            self.failures[folder.uri] = failure
            self._client.answer(failure, lsp.MessageType.Error)
        return status < _USAGE

    async def _follow(self, events: Events, output: Output, progress: ProgressBar, ended: asyncio.Event) -> None:
        """Say how the run gets on, until it has ended."""
        while not ended.is_set():
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(ended.wait(), RUN_PROGRESS_S)
            counts = await asyncio.to_thread(events.counts)
            if counts != self.counts:
                self.counts = counts
                self._client.send_status()
                progress.report(str(counts), counts.percentage)
            output.flush()


def _prepared(command: Sequence[str], tests: Sequence[str] | None, scratch: Path) -> tuple[list[str], Path]:
    """The arguments of the command line, and the file that will say how it gets on; in a worker thread."""
    events = scratch / "progress"
    events.touch()
    kind, *rest = command
    options = ["--progress", str(events)]
    if tests is not None:
        listing = scratch / "tests"
        listing.write_text("".join(f"{name}\n" for name in tests), "utf-8")
        options += ["--only", str(listing)]
    return [kind, *options, *rest], events


def _failure(command: Sequence[str], status: int, last: str) -> str:
    """Why the tests did not come to their end: what the command said last, which is why."""
    last = last.strip()
    if last.startswith("suspectra: "):
        return last.removeprefix("suspectra: ").removeprefix("error: ")
    return f"{' '.join(command)}: {in_words(status)}: {last or 'no output'}"


def _watched_environment() -> tuple[dict[str, str], Watchdog]:
    """The environment of a run, and who ends it should this server be gone; in a worker thread."""
    environ = environment()
    return environ, Watchdog(environ)


def environment() -> dict[str, str]:
    """The server's environment, with output as it comes.

    The programs of its interpreter come first if pytest is one of them. If it is not, then this environment is the
    server's alone, and its Python must not stand before the user's.
    """
    path = os.environ.get("PATH", os.defpath)
    if find_spec("pytest"):
        path = os.pathsep.join([os.path.dirname(sys.executable), path])
    return {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}
