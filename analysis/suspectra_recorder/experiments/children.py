"""The children of a machine: one for each request, ended when it has answered, or takes too long, or nobody waits."""

from __future__ import annotations

import json
import math
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from suspectra_recorder.experiments.exchange import UNMADE, Greeting, Job, Request, RunAnswer
from suspectra_recorder.experiments.forks import Forks
from suspectra_recorder.experiments.limits import be_alone, limit
from suspectra_recorder.experiments.switchboard import SPENT
from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins

_CHUNK = 1 << 16


class _Run(Protocol):
    """Runs one job of a request in the process that calls it, and gives the answer."""

    def __call__(self, request: Request, job: Job, again: bool = False) -> RunAnswer:
        """Run a test, which has been run in this process before if `again`."""


class Children:
    r"""Answers requests, one after the other.

    Parameters
    ----------
    channel : int
        The descriptor of the socket they come from.
    run : _Run
        Runs one job of a request in the process that calls it, and gives the answer.
    seconds : callable, optional
        How long a run of a request may take; by default as long as the request says.

    Examples
    --------
    >>> ours, theirs = socket.socketpair()
    >>> children = Children(theirs.detach(), lambda request, job, again=False: {})
    >>> ours.shutdown(socket.SHUT_WR)  # there is no request
    >>> children.serve({"tests": ["test_price.py::test_vat"], "errors": []})
    >>> ours.recv(1000)
    b'{"tests": ["test_price.py::test_vat"], "errors": []}\n'
    >>> ours.close()
    """

    def __init__(
        self, channel: int, run: _Run, seconds: Callable[[Request], float] = lambda request: request["seconds"]
    ):
        os.set_inheritable(channel, False)
        self._channel = socket.socket(fileno=channel)
        self._run, self._seconds = run, seconds

    def serve(self, greeting: Greeting) -> None:
        """Answer until the other end of the channel is closed.

        Parameters
        ----------
        greeting : Greeting
            What is said first.
        """
        self._send(greeting)
        for line in self._channel.makefile("rb"):
            request: Request = json.loads(line)
            end = time.monotonic() + request.get("all_seconds", math.inf)
            if request.get("fork"):
                self._forks(request, end)
                continue
            request["seconds"] = self._seconds(request)
            left = list(request["jobs"])
            while left and time.monotonic() < end:
                answered = self._child(request, left, end=end)
                left = left[answered:]
            for _ in left:
                self._send({"outcome": UNMADE, "exception": "", "seconds": 0.0})

    def _send(self, answer: RunAnswer | Greeting) -> None:
        self._channel.sendall(json.dumps(answer).encode() + b"\n")

    def _forks(self, request: Request, end: float) -> None:
        """Let the forks of one child do all jobs. What they do not answer in time, and the child itself, is a crash."""
        jobs = request["jobs"]
        answered = self._child({**request, "seconds": 2 * request["seconds"]}, jobs, len(jobs) + 1, end)
        outcome = "crashed" if time.monotonic() < end else UNMADE
        for _ in range(len(jobs) + 1 - answered):
            self._send({"outcome": outcome, "exception": "", "seconds": self._took})

    def _child(self, request: Request, jobs: list[Job], answers: int = 0, end: float = math.inf) -> int:
        """Let a child do as many jobs as it can until a time; how many were answered."""
        answers = answers or len(jobs)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._be_child(request, jobs, write)
        os.close(write)
        with suppress(OSError):
            os.setpgid(pid, pid)  # both do it, so that it is done before either goes on
        try:
            answered, ended = self._relay(read, request["seconds"], answers, end)
        finally:
            os.close(read)
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)  # with what the test left running
            _, status = os.waitpid(pid, 0)
        if answered < answers and time.monotonic() < end:
            spent = os.WIFEXITED(status) and os.WEXITSTATUS(status) == SPENT
            outcome = "steps" if ended and spent else "crashed" if ended else "timeout"
            self._send({"outcome": outcome, "exception": "", "seconds": self._took})
            answered += 1
        return answered

    def _be_child(self, request: Request, jobs: list[Job], write: int) -> None:
        from suspectra_recorder.instrumentation.own import json, os  # a test may replace the others

        try:
            self._channel.close()
            be_alone()
            limit(request["memory"], request["file_size"])
            if request.get("fork"):
                forks = Forks(write, request["seconds"])
                job: Job = {"kind": "fork", "jobs": jobs, "fork": forks.fork}
                forks.end(self._run(request, job), jobs)
            for number, one in enumerate(jobs):
                answer = json.dumps(self._run(request, one, again=number > 0)).encode() + b"\n"
                while answer:
                    answer = answer[os.write(write, answer) :]
        finally:
            os._exit(0)

    def _relay(self, read: int, seconds: float, jobs: int, end: float) -> tuple[int, bool]:
        """Pass on what a child answers; how many answers there were, and whether it ended by itself."""
        answered, began = 0, time.monotonic()
        rest: list[bytes] = []  # the parts of a line that has no end yet
        waiting = [read, self._channel.fileno()]
        while answered < jobs:
            left = min(began + seconds, end) - time.monotonic()
            ready, _, _ = select.select(waiting, [], [], max(left, 0))
            self._took = time.monotonic() - began
            if not ready:
                return answered, False
            if read not in ready:
                if self._channel.recv(1, socket.MSG_PEEK):
                    waiting.remove(self._channel.fileno())  # the next request
                    continue
                raise EOFError  # nobody waits for the answer
            part = os.read(read, _CHUNK)
            if not part:
                return answered, True
            *lines, last = part.split(b"\n")
            for line in lines:
                self._channel.sendall(b"".join([*rest, line, b"\n"]))
                rest = []
                answered += 1
                began = time.monotonic()
            rest.append(last)
        return answered, True
