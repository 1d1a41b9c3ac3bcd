"""Ending the processes of a test run when the program that started it has ended for any reason.

A watchdog is a process that reads from a pipe of its program. When the program ends, even by SIGKILL, the kernel closes
the pipe, as no other process has its other end. Then the watchdog asks the remaining processes of the run to end, and
kills them after a while; or it kills them at once, if its program says so.

The processes of a run are recognized by a mark in their environment, which child processes inherit in any group or
session. Descendants of a marked process that cleared its environment are found by their parents. The watchdog
runs this file when it has something to end, so it uses only the standard library.

`PR_SET_PDEATHSIG` works only on Linux and misses grandchildren; a process group misses processes that leave it. Runs of
tests are asked to end first, so that fixtures can tidy up; machines of experiments are killed at once, since their
children are killed after each run anyway.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import suppress

VARIABLE = "SUSPECTRA_WATCHDOGS"
"""The environment variable with the marks of a process's watchdogs, innermost last."""

END_TIMEOUT_S = 3.0
"""For the processes of a run to end: after this time they are killed, and if they remain, left alone."""

_MARK_SIZE = 12

_CHECK_S = 0.05
"""Between two looks at which processes are left."""

_WAIT = """
import _signal, sys
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    if hasattr(_signal, name):
        _signal.signal(getattr(_signal, name), _signal.SIG_IGN)
word = sys.stdin.buffer.readline()
if word != b"done\\n":
    import runpy
    runpy.run_path(sys.argv[1])["end_all"](sys.argv[2], ask=word != b"kill\\n")
"""
"""What the process runs. Mostly a run ends by itself, and so this file is not even compiled."""

Process = tuple[int, int, bool]
"""Process id, that of the parent, and whether the process is marked."""


class Watchdog:
    """Watches over whatever is started with an environment, until it is released.

    Raises OSError when the watchdog can't be started.
    """

    def __init__(self, environ: MutableMapping[str, str]):
        self._environ = environ
        self._before = environ.get(VARIABLE)
        mark = os.urandom(_MARK_SIZE).hex()
        own = {name: value for name, value in os.environ.items() if name != VARIABLE}
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WAIT, __file__, mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=own,
            start_new_session=True,  # a signal that ends its program must not end it
        )
        assert process.stdin is not None
        self._process, self._pipe = process, process.stdin
        environ[VARIABLE] = f"{self._before}:{mark}" if self._before else mark

    def end(self) -> None:
        """End the run: ask first, and kill after `END_TIMEOUT_S`. Returns at once."""
        self._send(b"end\n")

    def kill(self) -> None:
        """Kill the run without asking. Returns at once."""
        self._send(b"kill\n")

    def release(self) -> None:
        """Stop watching, as the run has ended by itself; processes that it left running stay."""
        self._send(b"done\n")
        with suppress(OSError):
            self._pipe.close()
        if self._before is None:
            self._environ.pop(VARIABLE, None)
        else:
            self._environ[VARIABLE] = self._before

    def __enter__(self) -> Watchdog:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            self.end()
        self.release()

    def _send(self, word: bytes) -> None:
        with suppress(OSError, ValueError):  # it has ended already
            self._pipe.write(word)
            self._pipe.flush()


def _marked(mark: str) -> list[int]:
    """Find the processes of a run, with their descendants.

    Process ids, ascending, without this one.
    """
    processes = list(_from_proc(mark.encode()) if os.path.isdir("/proc/self") else _from_ps(mark))
    return sorted(_with_descendants(processes) - {os.getpid()})


def _from_proc(mark: bytes) -> Iterator[Process]:
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue  # it has ended
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                own = mark in file.read()
        except OSError:
            own = False  # it belongs to another user
        if state not in (b"Z", b"X"):
            yield int(name), int(parent), own


def _from_ps(mark: str) -> Iterator[Process]:
    """The same by ``ps``, for systems without /proc such as macOS."""
    options = ["-Aww", "-E"] if sys.platform == "darwin" else ["axeww"]
    command = ["ps", *options, "-o", "pid=,ppid=,stat=,command="]
    done = subprocess.run(command, capture_output=True, check=False)
    for line in done.stdout.decode(errors="replace").splitlines():
        number, parent, state, *rest = line.split(None, 3)
        if not state.startswith("Z"):
            yield int(number), int(parent), mark in "".join(rest)


def _with_descendants(processes: Iterable[Process]) -> set[int]:
    children: dict[int, list[int]] = {}
    found: set[int] = set()
    pending = []
    for number, parent, own in processes:
        children.setdefault(parent, []).append(number)
        if own:
            pending.append(number)
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            pending += children.get(number, ())
    return found


def end_all(mark: str, *, ask: bool) -> None:
    """Ask the processes of a run to end, and kill those that remain.

    Raises ValueError for what is not a mark: something short is in the environment of every process.
    """
    if len(mark) != 2 * _MARK_SIZE or mark.strip("0123456789abcdef"):
        raise ValueError(f"{mark} is not a mark")
    kill = getattr(signal, "SIGKILL", signal.SIGTERM)
    for number in (signal.SIGINT, kill) if ask else (kill,):
        end = time.monotonic() + END_TIMEOUT_S
        asked: set[int] = set()
        while (left := _marked(mark)) and time.monotonic() < end:
            for process in left:
                if process not in asked:
                    with suppress(OSError):
                        os.kill(process, number)
            asked.update(left)
            time.sleep(_CHECK_S)
        if not left:
            return
