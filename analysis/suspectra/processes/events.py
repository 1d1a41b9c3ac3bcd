"""The events that the runner reports during a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from suspectra.base.english import many


@dataclass(frozen=True)
class Started:
    """The program was started."""

    pid: int  # its process id


@dataclass(frozen=True)
class Output:
    """The program wrote some lines."""

    lines: tuple[str, ...]  # in order, without line ends; a very long line is split


@dataclass(frozen=True)
class TestProgress:
    """The progress of the program's tests."""

    __test__ = False  # tells pytest that this is not a test class

    # numbers of tests that ended, and that failed
    done: int = 0
    failed: int = 0
    total: int = 0  # the number of tests; 0 while it is not known

    @property
    def percentage(self) -> int | None:
        """The share of tests that ended, in percent; None while it is not known."""
        return 100 * self.done // self.total if self.total else None

    def __str__(self) -> str:
        if not (self.total or self.done):
            return "collecting tests"
        number = self.total or self.done
        tests = many(number, "test")
        return f"{self.done} of {tests}, {self.failed} failed" if self.total else f"{tests}, {self.failed} failed"


@dataclass(frozen=True)
class Trouble:
    """Why the tests will not complete."""

    text: str  # a message for the user


class Stopped(str, Enum):
    """Why the runner ended a program."""

    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    OUTPUT = "too much output"


@dataclass(frozen=True)
class ProgramEnded:
    """The program has ended; always the last event."""

    code: int | None  # exit code; None when a signal ended it
    signal: int = 0  # the signal that ended it, else 0
    stopped: Stopped | None = None  # why the runner ended it, if it did
    interrupted: bool = False  # whether the user interrupted this process, and the program with it
    # the first part of its output, if that is kept
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0  # how long it ran

    @property
    def status(self) -> int:
        """The exit code, or 128 + the signal, as in a shell."""
        return 128 + self.signal if self.code is None else self.code


Event: TypeAlias = Started | Output | TestProgress | Trouble | ProgramEnded


class ProgressFile:
    """Follows the progress file that a recorder writes; see :mod:`suspectra_recorder.progress`."""

    def __init__(self, path: Path):
        self._path = path
        self._read = 0
        self._done = self._failed = self._total = 0
        self._progress = TestProgress()

    def news(self) -> Iterator[TestProgress | Trouble]:
        """Read what was added since the last call."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._read)
                data = stream.read()
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        troubles = [text for line in whole.splitlines() if (text := self._take(line))]
        progress = TestProgress(self._done, self._failed, max(self._total, self._done) if self._total else 0)
        if progress != self._progress:
            self._progress = progress
            yield progress
        yield from map(Trouble, troubles)

    def _take(self, line: bytes) -> str:
        """Count what a line says; return the trouble that it reports, empty if none."""
        try:
            event = json.loads(line)
        except ValueError:
            return ""
        if not isinstance(event, dict):
            return ""
        tests, failed, trouble = event.get("tests"), event.get("failed"), event.get("trouble")
        if isinstance(tests, int):
            self._total += tests  # a command may start several runs
        if isinstance(failed, bool):
            self._done += 1
            self._failed += failed
        return trouble if isinstance(trouble, str) else ""
