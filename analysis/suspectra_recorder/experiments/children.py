"""The children of a machine: one for each request, ended when it has answered, or takes too long, or nobody waits.

A child that is to be kept goes on with the next request for its test: it then takes a sixth of the time, since most of
it goes into memory that a new child has to copy. Tests that are said to share a child do so, as in any run of pytest.
What one of them touches outside would be allowed to others, so no other one follows it in its child.

That first run takes six times as long since each page of memory that it writes to is copied: 2,200 pages and 12 ms for
a test of 2 ms. Any other request ends the kept child first: two of them at a time might want the same port. After
`_MAX_RUNS` runs there is a new one. A repair is still confirmed in a child of its own.
"""

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
from itertools import chain
from typing import Protocol

from suspectra_recorder.experiments.containment import Containment
from suspectra_recorder.experiments.decisions.switchboard import SPENT
from suspectra_recorder.experiments.forks import Forks
from suspectra_recorder.experiments.limits import address_space, be_alone, limit
from suspectra_recorder.experiments.messages import UNMADE, Greeting, MachineRunAnswer, Request, RunRequest
from suspectra_recorder.experiments.orphans import Orphans, children
from suspectra_recorder.experiments.run_time import RunTime
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

_CHUNK = 1 << 16
_MAX_RUNS = 1_000
_MAX_KEPT = 256 << 20
"""What one child does, at most, and how much memory it may have taken for the next run: runs leave things behind."""

_LAST, _ALONE = b"last", b"alone"
"""What a child says before its last answer, if the next run needs a new one, and if that of another test does."""

_MAX_ANSWER = 64 << 20
"""Bytes of one answer."""


class _Run(Protocol):
    """Runs one job of a request in the process that calls it, and gives the answer."""

    def __call__(self, request: Request, job: RunRequest, again: bool = False) -> MachineRunAnswer:
        """Run a test, which has been run in this process before if `again`."""


class _Child:
    """A process that runs one test."""

    def __init__(self, pid: int, request: Request, answers: int, requests: int, word: bytes):
        self.answers = answers  # the descriptor of the pipe from it
        self.word = word  # what its answers begin with
        self.status = 0  # how it ended
        self.pid, self._requests = pid, requests
        self._test, self._shared = request["test"], request.get("shared", False)
        self.runs_alone = False  # whether no other test may follow
        self._runs = len(request["jobs"])

    def goes_on(self, request: Request) -> bool:
        """Ask for more runs, if they may follow, and it has not done too much."""
        self._runs += len(request["jobs"])
        shares = self._shared and request.get("shared", False) and not self.runs_alone
        if not (shares or request["test"] == self._test) or self._runs > _MAX_RUNS:
            return False
        self._test = request["test"]
        line = json.dumps(request).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._requests, line) :]
        except BrokenPipeError:
            return False
        return True

    def end(self) -> None:
        """End it, with what the test left running."""
        for descriptor in (self.answers, self._requests):
            if descriptor >= 0:
                os.close(descriptor)
        with suppress(OSError):
            # the whole group: a test may have started programs
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)  # it may have gone to another group
        _, self.status = os.waitpid(self.pid, 0)


class MachineChildren:
    """Answers requests, one after the other."""

    def __init__(
        self,
        channel: int,
        run: _Run,
        containment: Containment,
        seconds: Callable[[Request], float] = lambda request: request["seconds"],
    ):
        # a program that a test starts would keep the channel open, and nobody would see this process end
        os.set_inheritable(channel, False)
        self._channel = socket.socket(fileno=channel)
        self._run, self._seconds, self._containment = run, seconds, containment
        self._kept: _Child | None = None
        self._orphans = Orphans()
        self._last = False  # whether the child that has answered is not to be asked again

    def serve(self, greeting: Greeting) -> None:
        """Answer until the other end of the channel is closed."""
        self._send(greeting)
        try:
            for line in self._channel.makefile("rb"):
                self._answer(json.loads(line))
        finally:
            if self._kept is not None:
                self._end(self._kept)

    def _answer(self, request: Request) -> None:
        end = time.monotonic() + request.get("all_seconds", math.inf)
        if request.get("fork"):
            self._forks(request, end)
            return
        # a property of Hypothesis may take longer than who asks can know
        request["seconds"] = self._seconds(request)
        left = list(request["jobs"])
        while left and time.monotonic() < end:
            answered = self._by_child({**request, "jobs": left}, end=end)
            left = left[answered:]
        for _ in left:
            self._send({"outcome": UNMADE, "exception": "", "seconds": 0.0})

    def _send(self, answer: MachineRunAnswer | Greeting) -> None:
        self._channel.sendall(json.dumps(answer).encode() + b"\n")

    def _forks(self, request: Request, end: float) -> None:
        """Let the forks of one child do all jobs. What they do not answer in time, and the child itself, is a crash."""
        answers = len(request["jobs"]) + 1
        answered = self._by_child({**request, "seconds": 2 * request["seconds"]}, answers, end)
        outcome = "crashed" if time.monotonic() < end else UNMADE
        for _ in range(answers - answered):
            self._send({"outcome": outcome, "exception": "", "seconds": self._took})

    def _by_child(self, request: Request, answers: int = 0, end: float = math.inf) -> int:
        """Let a child do as many jobs as it can until a time; how many were answered."""
        answers = answers or len(request["jobs"])
        kept, self._kept = self._kept, None
        if kept is not None and not (request.get("keep") and kept.goes_on(request)):
            self._end(kept)
            kept = None
        child = kept or self._new_child(request)
        answered, ended = 0, True
        try:
            answered, ended = self._relay(child, request["seconds"], answers, end)
        finally:
            if answered == answers and request.get("keep") and not self._last:
                self._kept = child
            else:
                self._end(child)
        if ended and not answered and kept is not None:
            return 0  # what the runs before left behind has ended it: a new child is asked the same
        if answered < answers and time.monotonic() < end:
            # the switchboard ends a run that catches its exception by this status
            spent = os.WIFEXITED(child.status) and os.WEXITSTATUS(child.status) == SPENT
            outcome = "steps" if ended and spent else "crashed" if ended else "timeout"
            self._send({"outcome": outcome, "exception": "", "seconds": self._took})
            answered += 1
        return answered

    def _end(self, child: _Child) -> None:
        child.end()
        self._orphans.end()

    def _new_child(self, request: Request) -> _Child:
        requests, more = os.pipe() if request.get("keep") else (-1, -1)
        answers, write = os.pipe()
        word = os.urandom(16).hex().encode()  # altered code may write into any pipe of its process, but can't guess it
        pid = os.fork()
        if pid == 0:
            if more >= 0:
                os.close(more)
            self._be_child(request, write, requests, word)
        os.close(write)
        if requests >= 0:
            os.close(requests)
        with suppress(OSError):
            os.setpgid(pid, pid)  # both do it, so that it is done before either goes on
        return _Child(pid, request, answers, more, word)

    def _be_child(self, request: Request, write: int, more: int, word: bytes) -> None:
        from suspectra_recorder.instrumentation.library_references import json, os  # a test may replace the others

        try:
            # so that the other end notices when this process is gone, whatever its children do
            os.close(self._channel.detach())  # a file of it would keep it open
            be_alone()
            limit(request["memory"], request["file_size"])
            self._containment.close_files(write, more)
            if request.get("fork"):
                forks = Forks(write, request["seconds"], self._containment, word)
                kind = "fork mutants" if request["jobs"][0]["kind"] == "mutant" else "fork"
                job: RunRequest = {"kind": kind, "jobs": request["jobs"], "fork": forks.fork}
                forks.end(self._run(request, job), request["jobs"])
            later = map(json.loads, open(more, "rb")) if more >= 0 else ()  # noqa: SIM115  # os._exit closes it
            known: set[str] = set()  # the tests that it has run
            began_with, itself = address_space(), os.getpid()
            for one in chain([request], later):
                for job in one["jobs"]:
                    said = self._run(one, job, again=one["test"] in known)
                    if os.getpid() != itself:
                        return  # a fork that the test has made, and that has nothing to answer
                    answer = word + json.dumps(said).encode() + b"\n"
                    if job is one["jobs"][-1] and (children() or address_space() > began_with + _MAX_KEPT):
                        answer = word + _LAST + b"\n" + answer
                    elif said.get("touched"):
                        answer = word + _ALONE + b"\n" + answer
                    known.add(one["test"])
                    while answer:
                        answer = answer[os.write(write, answer) :]
        finally:
            # without handlers for the end, such as those of `atexit`: they are the waiting process's
            os._exit(0)

    def _relay(self, child: _Child, seconds: float, jobs: int, end: float) -> tuple[int, bool]:
        """Pass on what a child answers; how many answers there were, and whether it ended by itself."""
        read, word = child.answers, child.word
        answered, size, run_time = 0, 0, RunTime(child.pid, seconds)
        self._last = False
        rest: list[bytes] = []  # the parts of a line that has no end yet
        waiting = [read, self._channel.fileno()]
        while answered < jobs:
            left = min(run_time.look_at, end) - time.monotonic()
            # the channel, too: whoever asked may have gone
            ready, _, _ = select.select(waiting, [], [], max(left, 0))
            self._took = run_time.took
            if not ready:
                if time.monotonic() < end and not run_time.is_up():
                    continue
                return answered, False
            if read not in ready:
                if self._channel.recv(1, socket.MSG_PEEK):
                    waiting.remove(self._channel.fileno())  # the next request
                    continue
                raise EOFError  # nobody waits for the answer
            part = os.read(read, _CHUNK)
            if not part:
                return answered, True
            size = len(part) if b"\n" in part else size + len(part)
            if size > _MAX_ANSWER:
                return answered, True
            *lines, last = part.split(b"\n")
            for line in lines:
                if answered == jobs:
                    break
                whole = b"".join([*rest, line, b"\n"])
                if not whole.startswith(word):
                    return answered, True
                answer = whole[len(word) :]
                if answer == _LAST + b"\n":
                    self._last, rest = True, []
                    continue
                if answer == _ALONE + b"\n":
                    child.runs_alone, rest = True, []
                    continue
                if not answer.startswith(b"{") or not answer.endswith(b"}\n"):
                    return answered, True  # altered code has written into the middle of an answer
                self._channel.sendall(answer)
                rest = []
                answered += 1
                run_time = RunTime(child.pid, seconds)
            rest.append(last)
        return answered, True
