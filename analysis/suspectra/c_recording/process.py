"""Running one test's process: limits, a process group of its own, and the handler that keeps a crash's coverage."""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from suspectra.c_recording.case import Ending
from suspectra.errors import EvidenceError, Problem

GRACE = 1.0
"""Seconds between asking a process to end and killing it."""

MAX_OUTPUT = 64 << 20
"""Bytes a test may write to standard output and error."""

HANDLER = Path(__file__).with_name("crash_handler.c")
"""The source of the crash handler, for those who link it into their program."""


def run(
    argv: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    scratch: str,
    timeout: float | None,
    cancel: threading.Event,
) -> Ending:
    """Run a command to its end.

    Parameters
    ----------
    argv : sequence of str
        Program and arguments; no shell reads them.
    folder : str
        Working folder.
    environment : mapping of str to str
        The whole environment.
    scratch : str
        Folder for the output.
    timeout : float or None
        Seconds; then the process and all it started are asked to end, and killed if they do not.
    cancel : threading.Event
        Set to stop the process early.

    Returns
    -------
    Ending
        How it ended, and the beginning of what it wrote.

    Raises
    ------
    EvidenceError
        The command can't be started.
    """
    out, err = os.path.join(scratch, "stdout"), os.path.join(scratch, "stderr")
    begun = time.monotonic()
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        try:
            process = subprocess.Popen(
                argv,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            cause = f"it can't be started: {error}"
            raise EvidenceError(Problem(argv[0], "", cause, "build the tests, and check the command")) from None
    expired = cancelled = flooded = False
    with _Waiting(process) as waiting:
        while not waiting.ended(0.1):
            expired = timeout is not None and time.monotonic() - begun > timeout
            cancelled = cancel.is_set()
            flooded = os.path.getsize(out) + os.path.getsize(err) > MAX_OUTPUT
            if expired or cancelled or flooded:
                _end(process, waiting)
                break
    seconds = time.monotonic() - begun
    _clear_away(process.pid, asked=expired or cancelled or flooded)
    code = process.returncode
    number = -code if code < 0 else code - 128 if code in _SHELL_SIGNALS else 0
    return Ending(None if number else code, number, expired, cancelled, flooded, _head(out), _head(err), seconds)


_SHELL_SIGNALS = {128 + s for s in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)}


class _Waiting:
    """Waits for a process without polling, where the system can."""

    def __init__(self, process: subprocess.Popen[bytes]):
        self.process = process
        self.handle = -1
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self.handle = os.pidfd_open(process.pid)

    def __enter__(self) -> _Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        if self.handle >= 0:
            os.close(self.handle)

    def ended(self, seconds: float) -> bool:
        """Whether the process ended within the time given."""
        if self.handle < 0:
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                return False
            return True
        if not select.select([self.handle], [], [], seconds)[0]:
            return False
        self.process.wait()
        return True


def _end(process: subprocess.Popen[bytes], waiting: _Waiting) -> None:
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        if patience is None:
            process.wait()
        elif waiting.ended(patience):
            return


def _clear_away(group: int, asked: bool) -> None:
    """End what the process left behind, after time to write its profile; a second signal would cut that off."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, 0 if asked else signal.SIGTERM)
        until = time.monotonic() + GRACE
        while time.monotonic() < until:
            time.sleep(0.005)
            os.killpg(group, 0)
        os.killpg(group, signal.SIGKILL)


def _head(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(MAX_OUTPUT)


def memory_folder() -> str | None:
    """A folder in memory, where a test's profile costs least; None where there is none.

    Returns
    -------
    str or None
        ``/dev/shm`` where it can be written to.
    """
    return "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None


def build_crash_handler(folder: str | os.PathLike[str]) -> tuple[str | None, Problem | None]:
    """Compile the crash handler, once.

    Parameters
    ----------
    folder : path
        Where it is kept; one that only the user can write to, since it becomes part of the tests' processes.

    Returns
    -------
    path : str or None
        The shared object for ``LD_PRELOAD``, None where it can't be built.
    problem : Problem or None
        Why not.
    """
    source = HANDLER.read_bytes()
    built = Path(folder, f"crash-handler-{hashlib.sha256(source).hexdigest()[:16]}.so")
    if built.exists():
        return str(built), None
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        cause = "there is no C compiler to build the crash handler with, so tests that crash leave no coverage"
        return None, Problem("", "", cause, "install a C compiler")
    built.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=built.parent) as unfinished:
        library = os.path.join(unfinished, "crash-handler.so")
        command = [compiler, "-O1", "-shared", "-fPIC", "-o", library, str(HANDLER), "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            words = done.stderr.strip().partition("\n")[0] or compiler
            cause = f"the crash handler can't be built: {words}"
            return None, Problem("", "", cause, f"link {HANDLER} into the program with -DSUSPECTRA_LINKED instead")
        os.replace(library, built)
    return str(built), None
