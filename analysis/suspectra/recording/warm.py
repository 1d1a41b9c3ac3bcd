"""Tests that were collected before anybody asks for them: a process that waits, and runs some of them in a fork.

A run on save takes most of its time to start pytest and to import what has not changed. The waiting process refuses
wherever a new one could differ in more than the bodies of functions that have not run yet. What can't be seen is found
by comparison: while nobody types, a new process runs a sample, and after one difference none waits any more.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.processes.events import Event, ProgramEnded, ProgressFile, TestProgress, Trouble
from suspectra.processes.runner import CommandToRun, Streams
from suspectra.processes.scratch import ScratchFolder
from suspectra.processes.waiting import WaitingProcess
from suspectra.recording.endings import TESTS_FAILED
from suspectra.recording.kept_texts import keep_texts
from suspectra_recorder.log.frames import SUFFIX
from suspectra_recorder.pytest.selection import SelectionFields
from suspectra_recorder.settings import RecordingSettings, inject_env, recording_folder
from suspectra_recorder.warm.messages import WarmGreeting, WarmRunAnswer, WarmRunRequest

COLLECT_S = 120.0
"""For collecting the tests: large projects import for a minute."""

TEST_S = 30.0
"""For one test, unless tests took longer last time: an edit may have made a loop endless, and nobody is watching."""

_LONGER = 5.0  # how many times as long as ever before a test may take
_EXIT_S = 5.0
"""For a run to end once its last test has: fixtures of a session are torn down, and threads may hang."""

_NEVER_S = 7 * 86_400.0
"""For an answer while its progress is looked at, which says by itself when it is late."""


class WarmRefusal(Exception):
    """Only a fresh process can run the tests; the text says why."""


class NotCollected(EvidenceError):
    """The tests can't be collected from the sources as they are now; another time they may be."""


class WarmTests:
    """A process that has collected the tests of a workspace, and waits.

    Raises EvidenceError when it can't be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        workspace: str,
        started: Callable[[Event], object] = lambda event: None,
        *,
        keep: bool = True,  # the texts of sources with which tests passed
    ):
        self._scratch = ScratchFolder()
        self._workspace, self._keeps = workspace, keep
        self._notify = started
        self.tests, self.once, self.processor = 0, list[str](), 0.0
        self._used = False

        def program_for(channel: int) -> CommandToRun:
            environment = dict(os.environ)
            settings = RecordingSettings(
                workspace=workspace,
                recorder="probes",
                run=os.urandom(16).hex(),
                status=str(self._scratch.path / "status"),
                channel=channel,
            )
            inject_env(settings, environment)
            return CommandToRun(tuple(command), workspace, environment, Streams.EVENTS)

        try:
            self._process = WaitingProcess(program_for, self._on_event)
        except BaseException:
            self._scratch.remove()
            raise

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, ProgramEnded):
            self._notify(event)

    def wait(self) -> None:
        """Wait until the tests are collected.

        Raises NotCollected when they can't be, because of the sources. Raises EvidenceError when they can't be
        collected in time, or not by a process that waits.
        """
        try:
            greeting: WarmGreeting = json.loads(next(self._process.lines(COLLECT_S)))
        except TimeoutError:
            cause = f"pytest did not collect the tests within {COLLECT_S:.0f} s"
            raise EvidenceError(_problem(cause)) from None
        except EOFError:
            self._process.ended()
            last = next((line for line in reversed(self._process.printed) if line.strip()), "it printed nothing")
            cause = f"pytest did not collect the tests: {last.strip()}"
            raise self._process.error or NotCollected(_problem(cause)) from None
        if greeting["unusable"]:
            problem = _problem(greeting["unusable"])
            raise NotCollected(problem) if greeting["broken"] else EvidenceError(problem)
        self.tests, self.once = greeting["tests"], greeting["once"]

    def run(
        self,
        selection: SelectionFields,
        notify: Callable[[Event], object],
        token: Token | None = None,
        longest: float = 0.0,  # how many seconds a test took at most before
    ) -> ProgramEnded:
        """Run some of the tests.

        Raises Refused when only a fresh process can run them. Then this one is of no use any more.
        """
        if self._used:
            raise WarmRefusal("the process has run already")
        self._used = bool(self.once)
        began, before = time.monotonic(), self._notify
        path = self._scratch.path / f"progress-{os.urandom(4).hex()}"
        path.touch()
        follow = _Follow(path, token or Token(), notify, max(TEST_S, _LONGER * longest), self._stop)
        request: WarmRunRequest = {"selection": selection, "progress": str(path)}
        self._notify = notify
        try:
            self._process.send(request)
            answer: WarmRunAnswer = {}
            for line in self._process.lines(_NEVER_S, follow.look):
                said: WarmRunAnswer = json.loads(line)
                answer.update(said)
                if "status" in said:
                    break
        except (EOFError, OSError):
            if not self._used:
                raise WarmRefusal("the process that waits has ended") from None
            self._process.ended()
        finally:
            self._notify = before
        follow.look()
        if "refused" in answer:
            self._used = True
            raise WarmRefusal(answer["refused"])
        self.processor = answer.get("processor", 0.0)
        if self._keeps:
            keep_texts(self._workspace, _written_since(self._workspace, ago=time.monotonic() - began))
        status = answer.get("status", -1)
        if status < 0 or follow.late:
            status = TESTS_FAILED if follow.progress.failed else 0
        signal = status - 128 if status > 128 else 0
        return ProgramEnded(None if signal else status, signal, seconds=time.monotonic() - began)

    def _stop(self) -> None:
        """End the run."""
        if self.once:
            self._process.close()
        else:
            self._process.send({})

    def close(self) -> None:
        """End the process, with whatever its tests left running."""
        self._process.close()
        self._scratch.remove()

    def __enter__(self) -> WarmTests:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _written_since(workspace: str, ago: float) -> list[str]:
    """The logs that were written in the last seconds."""
    found = Path(recording_folder(workspace)).glob(f"*{SUFFIX}")
    return sorted(str(path) for path in found if path.stat().st_mtime >= time.time() - ago - 1)


class _Follow:
    """Follows a run, and ends it where it hangs."""

    def __init__(
        self, path: Path, token: Token, notify: Callable[[Event], object], seconds: float, stop: Callable[[], None]
    ):
        self._file, self._token, self._notify, self._seconds, self._stop = (
            ProgressFile(path),
            token,
            notify,
            seconds,
            stop,
        )
        self._stopped = False
        self._last = time.monotonic()
        self.progress = TestProgress()
        self.late = False  # all tests ended, but not the process

    def look(self) -> None:
        """Report what is new, and end the run if that is wanted, or if it is late."""
        for event in self._file.news():
            self._last = time.monotonic()
            if isinstance(event, TestProgress):
                self.progress = event
            self._notify(event)
        if self._stopped:
            return
        waited = time.monotonic() - self._last
        all_ended = 0 < self.progress.total <= self.progress.done
        self.late = all_ended and waited > _EXIT_S
        hangs = not all_ended and waited > self._seconds
        if hangs:
            self._notify(Trouble(f"a test did not end within {self._seconds:.0f} s"))
        if self._token.cancelled or self.late or hangs:
            self._stopped = True
            self._stop()


def _problem(cause: str) -> Problem:
    return Problem("", "", cause, "tests that run on save are run by a new process each time")
