"""Running the tests at the user's word, with a progress bar that can stop them."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import subprocess
import sys
import uuid
from collections import deque
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from suspectra.recording.endings import in_words
from suspectra_server.convert import LONGEST_MESSAGE, plain
from suspectra_server.protocol import State
from suspectra_server.snapshot import many

if TYPE_CHECKING:
    from suspectra_server.server import SuspectraServer
    from suspectra_server.workspace import Folder

log = logging.getLogger(__name__)

GRACE = 3.0  # seconds a test process has to end by itself after it was asked to
KEPT_LINES = 200  # of its output
_PERCENT = re.compile(r"\[\s*(\d{1,3})%\]")
# -m and -c put the current folder first, where a project's suspectra.py or json.py would be taken for the real one
_SUSPECTRA = "import sys; sys.path[:1] = filter(None, sys.path[:1]); from suspectra.cli import main; main()"
_USAGE = 2  # from here on pytest's exit status says that no tests were run to their end


class TestRun:
    """At most one run of the tests at a time, folder after folder."""

    def __init__(self, server: SuspectraServer):
        self._server = server
        self._folders: list[Folder] = []
        self._process: asyncio.subprocess.Process | None = None
        self._cancelled = False
        self._untold: set[Folder] = set()  # whose tests have run, but whose ranking is not there yet

    @property
    def running(self) -> bool:
        """Whether tests are running."""
        return bool(self._folders)

    def runs(self, folder: Folder) -> bool:
        """Whether the tests of a folder are running, or wait for others to end."""
        return folder in self._folders

    async def start(self, folders: list[Folder]) -> None:
        """Start, and come back while it runs."""
        self._folders = folders
        self._cancelled = False
        self._server.say_status()
        self._server.hold(asyncio.ensure_future(self._run()))

    def cancel(self) -> None:
        """Stop the tests."""
        self._cancelled = True
        self._end()

    def _end(self) -> None:
        if self._process and self._process.returncode is None:
            _signal(self._process, signal.SIGINT)
            asyncio.get_running_loop().call_later(GRACE, _kill, self._process)

    def leave_out(self, folder: Folder) -> None:
        """The folder was removed: end its run, or don't begin it."""
        self._untold.discard(folder)
        if self._folders and self._folders[0] is folder:
            self._end()
        elif folder in self._folders:
            self._folders.remove(folder)

    def ranked(self, folder: Folder) -> None:
        """Tell the user who ran the tests how it ended, where the client does not show it by itself."""
        if folder not in self._untold or folder.busy:
            return
        self._untold.discard(folder)
        snapshot = folder.snapshot
        if not self._server.takes_status and snapshot.state is not State.ERROR:
            suspects = f": {many(len(snapshot.marks), 'suspect')}" if snapshot.marks else ""
            self._server.answer(f"{folder.root.name}: {snapshot.message}{suspects}")

    async def _run(self) -> None:
        progress = await _Progress.begin(self._server, self.cancel)
        try:
            while self._folders and not self._cancelled:
                ended = await self._record(self._folders[0], progress)
                done = self._folders.pop(0)
                if ended and not done.removed:
                    self._untold.add(done)
                done.rank()
        finally:
            self._folders = []
            progress.end("cancelled" if self._cancelled else "done")
            self._server.say_status()

    async def _record(self, folder: Folder, progress: _Progress) -> bool:
        """Run the tests of a folder; whether they came to their end."""
        command, environ = await self._server.files.run(lambda: (folder.test_arguments, environment()))
        progress.report(" ".join(command), None)
        output: deque[str] = deque(maxlen=KEPT_LINES)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _SUSPECTRA, *command),
                cwd=folder.root,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                **_GROUP,
            )
            if self._cancelled:
                self.cancel()
            async for line in _lines(self._process.stdout):
                output.append(line)
                if match := _PERCENT.search(line):
                    progress.report(None, int(match[1]))
            status = await self._process.wait()
        except OSError as error:
            output.append(str(error))
            status = _USAGE
        finally:
            self._process = None
        text = "\n".join(plain(line, LONGEST_MESSAGE) for line in output)
        self._server.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, text))
        if self._cancelled:
            return False
        if status >= _USAGE:
            self._server.answer(_failure(command, status, output), lsp.MessageType.Error)
        return status < _USAGE


def _failure(command: Sequence[str], status: int, output: Iterable[str]) -> str:
    """Why the tests did not come to their end: what the command said last, which is why."""
    last = next((line.strip() for line in reversed([*output]) if line.strip()), "no output")
    if last.startswith("suspectra: "):
        return last.removeprefix("suspectra: ").removeprefix("error: ")
    return f"{' '.join(command)}: {in_words(status)}: {last}"


class _Progress:
    """The client's progress bar, or nothing where it has none."""

    def __init__(self, server: SuspectraServer, token: str | None):
        self._server = server
        self._token = token
        self._last: tuple[str | None, int | None] = (None, None)

    @classmethod
    async def begin(cls, server: SuspectraServer, cancel: object) -> _Progress:
        if not server.can("window.work_done_progress"):
            return cls(server, None)
        token = str(uuid.uuid4())
        try:
            await server.work_done_progress.create_async(token)
        except Exception as error:  # a client may decline
            log.info("no progress bar: %s", error)
            return cls(server, None)
        server.work_done_progress.begin(
            token, lsp.WorkDoneProgressBegin("Suspectra: running tests", cancellable=True, percentage=0)
        )
        server.work_done_progress.tokens[token].add_done_callback(lambda future: future.cancelled() and cancel())
        return cls(server, token)

    def report(self, message: str | None, percentage: int | None) -> None:
        if self._token and (message, percentage) != self._last:
            self._last = (message, percentage)
            report = lsp.WorkDoneProgressReport(cancellable=True, message=message, percentage=percentage)
            self._server.work_done_progress.report(self._token, report)

    def end(self, message: str) -> None:
        if self._token:
            self._server.work_done_progress.end(self._token, lsp.WorkDoneProgressEnd(message=message))
            self._server.work_done_progress.tokens.pop(self._token, None)


async def _lines(stream: asyncio.StreamReader) -> object:
    """Lines of output, overlong ones in pieces."""
    rest = b""
    while data := await stream.read(2**16):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace").rstrip("\r")
        if len(rest) > 2**16:
            yield rest.decode(errors="replace")
            rest = b""
    if rest:
        yield rest.decode(errors="replace")


def environment() -> dict[str, str]:
    """The server's environment, with output as it comes.

    The programs of its interpreter come first if pytest is one of them. If it is not, then this environment is the
    server's alone, and its Python must not stand before the user's.
    """
    path = os.environ.get("PATH", os.defpath)
    if find_spec("pytest"):
        path = os.pathsep.join([os.path.dirname(sys.executable), path])
    return {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}


# a group of its own, so that cancelling reaches the processes that the tests started too
_GROUP = (
    {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    if os.name == "nt"
    else {"start_new_session": True}
)


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    try:
        if os.name == "nt":
            process.terminate()
        else:
            os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
