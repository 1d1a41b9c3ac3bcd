"""A program that waits for requests: it is asked on a socket, and answers there in lines."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

from suspectra.base.cancellation import Token, check
from suspectra.base.errors import EvidenceError
from suspectra.processes.events import Event, Output, ProgramEnded, Started
from suspectra.processes.runner import LOOK_S, CommandToRun, run
from suspectra.processes.watchdog import Watchdog

END_S = 5.0
"""How long a process may take on a busy machine to read what it is sent, or to end once it is killed."""

_LAST_LINES = 15  # of the output of a process that did not start to wait


class WaitingProcess:
    """A program that inherits one end of a socket."""

    def __init__(
        self, program_for: Callable[[int], CommandToRun], notify: Callable[[Event], object] = lambda event: None
    ):
        self._notify = notify
        self._token, self._rest = Token(), b""
        self.printed = deque[str](maxlen=_LAST_LINES)  # the last lines of its output
        self.error: EvidenceError | None = None  # why it could not be started
        self._channel, theirs = socket.socketpair()
        self._channel.settimeout(LOOK_S)
        program = program_for(theirs.fileno())
        environment = dict(program.environment)
        self._watchdog = Watchdog(environment)
        program = replace(program, environment=environment, descriptors=(theirs.fileno(),))
        self._started = threading.Event()
        self._pid = 0  # while it runs
        self._thread = threading.Thread(target=self._run, args=[program], name="suspectra-waiting", daemon=True)
        self._thread.start()
        self._started.wait()
        theirs.close()

    def _run(self, program: CommandToRun) -> None:
        try:
            run(program, self._token, self._on_event)
        except EvidenceError as error:
            self.error = error
        self._started.set()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Started):
            self._pid = event.pid
        elif isinstance(event, Output):
            self.printed.extend(event.lines)
        elif isinstance(event, ProgramEnded):
            self._pid = 0
        self._started.set()
        self._notify(event)

    def send(self, what: object) -> None:
        """Ask.

        Raises OSError when it has ended.
        """
        self._channel.settimeout(END_S)
        try:
            self._channel.sendall(json.dumps(what).encode() + b"\n")
        finally:
            self._channel.settimeout(LOOK_S)

    def lines(self, seconds: float, look: Callable[[], object] = lambda: None) -> Iterator[bytes]:
        """Read what it answers, line by line.

        Raises EOFError when it ends. Raises TimeoutError when it takes too long. Raises Cancelled when the work is
        cancelled that waits.
        """
        while True:
            limit = time.monotonic() + seconds
            while b"\n" not in self._rest:
                check()
                look()
                try:
                    part = self._channel.recv(1 << 20)
                except TimeoutError:
                    if time.monotonic() > limit:
                        raise
                    continue
                except OSError:
                    part = b""
                if not part:
                    raise EOFError
                self._rest += part
            line, _, self._rest = self._rest.partition(b"\n")
            yield line

    def ended(self) -> None:
        """Wait a moment for its end, after which `error` and `printed` are complete."""
        self._thread.join(END_S)

    def close(self) -> None:
        """End it, and whatever it left running.

        Nothing is asked to end: whoever cancels does not wait for a process that is busy, or does not listen. It has
        nothing to tidy up, and its watchdog finds what it started.
        """
        self._channel.close()
        if self._pid and hasattr(os, "killpg"):  # at once: the watchdog may still be starting
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
        self._watchdog.kill()
        self._thread.join(END_S)
        self._token.cancelled = True
        self._watchdog.release()
