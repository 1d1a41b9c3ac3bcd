"""Running a program to its end, with everything that it starts.

All programs of a workspace are executed by this module: a test command, one test of a C program, a program that lists
its tests. Progress is reported as events (:mod:`suspectra.processes.events`).

It runs a program in the calling thread, and a token cancels it from any other. Progress comes from a file to which each
process of a run appends lines, never from what is printed: a pipe would not reach the workers of pytest-xdist, and
would block tests while its reader is slow.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from queue import Empty, Queue
from typing import IO, Any, TypeAlias

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.processes.events import Event, Output, ProgramEnded, ProgressFile, Started, Stopped
from suspectra.processes.watchdog import Watchdog

GRACE_S = 1.0
"""Between asking a program, or what it left behind, to end and killing it: tests need time to clean up."""

LOOK_S = 0.1
"""Between two checks of the limits, the token and the progress: short for people, and costs nothing."""

MAX_OUTPUT = 64 << 20
"""Bytes that a program may write to standard output and error if they are kept."""

_MAX_CHUNK, _MAX_CHUNKS = 1 << 16, 8  # bytes read at once, and the queue's length in such chunks
_WINDOWS = os.name == "nt"
_SHELL_SIGNALS = {
    128 + int(number) for name in ("SEGV", "BUS", "FPE", "ILL", "ABRT") if (number := getattr(signal, f"SIG{name}", 0))
}


class Streams(Enum):
    """Where the output of a program goes."""

    TERMINAL = "terminal"
    """To the output of this process. The program also gets its input and the user's interrupts."""
    STDERR = "stderr"
    """The same, but everything goes to standard error."""
    EVENTS = "events"
    """Into :class:`~suspectra.processes.events.Output` events, errors included."""
    KEPT = "kept"
    """Into the :class:`~suspectra.processes.events.ProgramEnded`, up to `MAX_OUTPUT`; beyond, the program is ended."""


@dataclass(frozen=True)
class CommandToRun:
    """A program to run, and how to run it."""

    arguments: tuple[str, ...]  # program and arguments; they are not passed to a shell
    folder: str  # the working folder
    environment: Mapping[str, str]  # the whole environment
    streams: Streams = Streams.KEPT  # where its output goes
    timeout: float | None = None  # time limit in seconds, after which it is ended
    guarded: bool = False  # whether it gets a watchdog
    progress: Path | None = None  # the file to which lines are added as its tests end; see suspectra_recorder.progress
    # descriptors of this process that it inherits, under the same numbers; only where programs inherit any
    descriptors: tuple[int, ...] = ()
    cure: str = "check the command"  # what the user can do if it can't be started

    @property
    def grouped(self) -> bool:
        """Whether it runs in a process group of its own, separate from the terminal."""
        return self.streams in (Streams.EVENTS, Streams.KEPT)


def run(
    program: CommandToRun, token: Token | None = None, notify: Callable[[Event], object] = lambda event: None
) -> ProgramEnded:
    """Run a program to its end.

    The last event.

    Raises EvidenceError when it can't be started.
    """
    environment = dict(program.environment)
    watchdog = Watchdog(environment) if program.guarded else None
    try:
        with _files(program.streams) as streams:
            ended = _Run(program, token or Token(), notify, watchdog).run(environment, streams)
    except BaseException:
        if watchdog is not None:
            watchdog.end()
        raise
    finally:
        if watchdog is not None:
            watchdog.release()
    notify(ended)
    return ended


_Streams: TypeAlias = dict[str, Any]


@contextmanager
def _files(streams: Streams) -> Iterator[_Streams]:
    """The streams of the program that differ from those of this process."""
    if streams is Streams.TERMINAL:
        yield {}
    elif streams is Streams.STDERR:
        yield {"stdout": 2}
    elif streams is Streams.EVENTS:
        yield {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    else:
        folder = memory_folder()
        with tempfile.TemporaryFile(dir=folder) as stdout, tempfile.TemporaryFile(dir=folder) as stderr:
            yield {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr}


class _Run:
    """One run of a program."""

    def __init__(
        self, program: CommandToRun, token: Token, notify: Callable[[Event], object], watchdog: Watchdog | None
    ):
        self._program, self._token, self._notify, self._watchdog = program, token, notify, watchdog
        self._progress = ProgressFile(program.progress) if program.progress else None
        self._messages: Queue[Started | Output | None] = Queue(_MAX_CHUNKS)  # None after its end
        self._stopped: Stopped | None = None
        self._kill_at = float("inf")

    def run(self, environment: Mapping[str, str], streams: _Streams) -> ProgramEnded:
        """Run the program from start to end."""
        begun = time.monotonic()
        process = self._start(environment, streams)
        self._messages.put(Started(process.pid))
        kept = [streams["stdout"], streams["stderr"]] if self._program.streams is Streams.KEPT else []
        threading.Thread(target=self._wait, args=[process], name="suspectra-process", daemon=True).start()
        interrupted = self._follow(process, kept, begun)
        seconds = time.monotonic() - begun
        if self._program.grouped and self._watchdog is None and not _WINDOWS:
            _clear_away(process.pid, asked=self._stopped is not None)
        self._report_progress()
        code = process.returncode
        number = -code if code < 0 else code - 128 if code in _SHELL_SIGNALS else 0
        stdout, stderr = map(_head, kept) if kept else (b"", b"")
        return ProgramEnded(None if number else code, number, self._stopped, interrupted, stdout, stderr, seconds)

    def _start(self, environment: Mapping[str, str], streams: _Streams) -> subprocess.Popen[bytes]:
        program = self._program
        group: dict[str, Any] = {}
        if program.grouped and _WINDOWS:
            group["creationflags"] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        elif program.grouped:
            group["start_new_session"] = True
        if program.descriptors:
            group["pass_fds"] = program.descriptors
        try:
            return subprocess.Popen(program.arguments, cwd=program.folder, env=environment, **streams, **group)
        except (OSError, ValueError) as error:
            cause = f"it can't be started: {getattr(error, 'strerror', None) or error}"
            raise EvidenceError(Problem(program.arguments[0], "", cause, program.cure)) from None

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """Wait, in a thread of its own, for the end of the program and of its output."""
        reading = None
        if process.stdout is not None:
            reading = threading.Thread(target=self._read, args=[process.stdout], name="suspectra-output", daemon=True)
            reading.start()
        process.wait()
        if reading is not None:
            reading.join(GRACE_S)  # a process that it left running may keep the pipe open for ever
        self._messages.put(None)

    def _read(self, stream: IO[bytes]) -> None:
        rest = b""
        with stream:
            while data := os.read(stream.fileno(), _MAX_CHUNK):
                *lines, rest = (rest + data).split(b"\n")
                if len(rest) > _MAX_CHUNK:
                    lines.append(rest)
                    rest = b""
                if lines:
                    self._messages.put(_output(lines))
        if rest:
            self._messages.put(_output([rest]))

    def _follow(self, process: subprocess.Popen[bytes], kept: list[IO[bytes]], begun: float) -> bool:
        """Report events and check limits until the program has ended; return whether the user interrupted it."""
        interrupted, next_check = False, begun + LOOK_S
        while True:
            try:
                with suppress(Empty):
                    message = self._messages.get(timeout=max(0.0, next_check - time.monotonic()))
                    if message is None:
                        return interrupted
                    self._notify(message)
                if time.monotonic() >= next_check:
                    self._report_progress()
                    self._check_limits(process, kept, begun)
                    next_check = time.monotonic() + LOOK_S
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt) and not self._program.grouped:
                    interrupted = True  # the terminal interrupted the program too: let it end by itself
                    continue
                self._end(process, kill=True)
                raise

    def _check_limits(self, process: subprocess.Popen[bytes], kept: list[IO[bytes]], begun: float) -> None:
        now = time.monotonic()
        if self._stopped is not None:
            if now > self._kill_at:
                self._kill_at = float("inf")
                self._end(process, kill=True)
        elif reason := self._reason_to_stop(kept, now - begun):
            self._stopped, self._kill_at = reason, now + GRACE_S
            self._end(process, kill=False)

    def _reason_to_stop(self, kept: list[IO[bytes]], seconds: float) -> Stopped | None:
        if self._token.cancelled:
            return Stopped.CANCELLED
        if self._program.timeout is not None and seconds > self._program.timeout:
            return Stopped.TIMEOUT
        return Stopped.OUTPUT if sum(os.fstat(file.fileno()).st_size for file in kept) > MAX_OUTPUT else None

    def _end(self, process: subprocess.Popen[bytes], kill: bool) -> None:
        """Ask the program, with all it started, to end, or kill it."""
        if self._watchdog is not None:
            self._watchdog.end()  # it asks and kills by itself, without this thread
        if _WINDOWS:
            process.terminate()
        elif self._watchdog is None:
            number = signal.SIGKILL if kill else signal.SIGTERM
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number) if self._program.grouped else process.send_signal(number)

    def _report_progress(self) -> None:
        if self._progress is not None:
            for event in self._progress.news():
                self._notify(event)


def _output(lines: list[bytes]) -> Output:
    return Output(tuple([line.decode(errors="replace").rstrip("\r") for line in lines]))


def _clear_away(group: int, asked: bool) -> None:
    """End what a program left behind, with time to write profiles, which a second signal would interrupt."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, 0 if asked else signal.SIGTERM)
        until = time.monotonic() + GRACE_S
        while time.monotonic() < until:
            time.sleep(0.005)
            os.killpg(group, 0)
        os.killpg(group, signal.SIGKILL)


def _head(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(MAX_OUTPUT)


def memory_folder() -> str | None:
    """Return a folder in memory, in which profiles and output are cheapest; None if there is none.

    `/dev/shm` if it is writable.
    """
    return "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None
