"""Forks at the instance: an unaltered run goes on, and altered ones are forks of it from where they are altered.

Open files are shared between them, so this is done only on request.

Runs have three speeds. Several in one child cost least, if they leave nothing behind. Otherwise each has a child of its
own. A fork at the decision saves what comes before it, but costs more than a small test, so it pays only for tests that
take long and can't share a child.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from select import select
from time import monotonic
from typing import NoReturn

from suspectra_recorder.experiments.containment import Containment
from suspectra_recorder.experiments.decisions.switchboard import SPENT
from suspectra_recorder.experiments.messages import MachineRunAnswer, RunRequest
from suspectra_recorder.experiments.run_time import RunTime
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, os, signal

__builtins__ = library_references.builtins

_CHUNK, _MAX_ANSWER = 1 << 16, 64 << 20


class Forks:
    """The forks of one run."""

    def __init__(self, write: int, seconds: float, containment: Containment, word: bytes):
        self._write, self._seconds, self._containment = write, seconds, containment
        self._word = word  # what answers begin with
        self._job, self._process = -1, os.getpid()  # the number of the job in a process that is a fork
        self._answered: set[int] = set()

    def fork(self, job: int) -> bool:
        """Fork this process, and wait until the fork has answered."""
        # forks of forks would alter two decisions
        if self._job >= 0:
            return False
        read, write = os.pipe()
        pid = self._containment.fork()
        if pid == 0:
            os.close(read)
            # it answers through its own pipe, so that this process can wait for that
            self._job, self._write, self._process = job, write, os.getpid()
            self._containment.refuse()  # from here on the run is altered
            return True
        os.close(write)
        run_time = RunTime(pid, self._seconds)
        answer = self._line(read, run_time)
        with suppress(OSError):
            # also after it answered: what it does then is of no interest
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.close(read)
        if answer is None:
            answer = b""
            outcome = "timeout"
        else:
            outcome = "steps" if os.WIFEXITED(status) and os.WEXITSTATUS(status) == SPENT else "crashed"
        self._answered.add(job)
        if answer:
            self._send(answer)
        else:
            self._report({"job": job, "outcome": outcome, "exception": "", "seconds": run_time.took})
        return False

    def _line(self, read: int, run_time: RunTime) -> bytes | None:
        """What a fork answers: empty if it ended without an answer, None if it took too long."""
        found = b""
        while not found.endswith(b"\n"):
            if not select([read], [], [], max(run_time.look_at - monotonic(), 0))[0]:
                if run_time.is_up():
                    return None
                continue
            part = os.read(read, _CHUNK)
            if not part:
                return b""
            found += part
            if len(found) > _MAX_ANSWER:
                return b""
        return found if found.startswith(self._word) else b""

    def end(self, answer: MachineRunAnswer, jobs: Sequence[RunRequest]) -> NoReturn:
        """Answer for this process, and end it."""
        if os.getpid() != self._process:
            os._exit(0)  # a fork that the test has made
        if self._job >= 0:
            self._report({**answer, "job": self._job})
        else:
            for job in range(len(jobs)):
                if job not in self._answered:
                    self._report({"job": job, "outcome": "not reached", "exception": "", "seconds": 0.0})
            self._report({**answer, "job": len(jobs)})
        os._exit(0)

    def _report(self, answer: MachineRunAnswer) -> None:
        self._send(self._word + json.dumps(answer).encode() + b"\n")

    def _send(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._write, line) :]
