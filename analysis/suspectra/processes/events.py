"""What the runner tells of a run while it lasts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from suspectra.quantity import many


@dataclass(frozen=True)
class Started:
    """The program runs.

    Parameters
    ----------
    pid : int
        Its process id.
    """

    pid: int


@dataclass(frozen=True)
class Output:
    """It wrote something.

    Parameters
    ----------
    lines : tuple of str
        In order, without their ends; an overlong line comes in pieces.
    """

    lines: tuple[str, ...]


@dataclass(frozen=True)
class TestProgress:
    """So many of its tests have ended.

    Parameters
    ----------
    done, failed : int
        How many ended, and how many of them failed.
    total : int
        How many there are; 0 while that is not known.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    done: int = 0
    failed: int = 0
    total: int = 0

    @property
    def percentage(self) -> int | None:
        """How much is done; None while that is not known."""
        return 100 * self.done // self.total if self.total else None

    def __str__(self) -> str:
        if not (self.total or self.done):
            return "collecting tests"
        number = self.total or self.done
        tests = many(number, "test")
        return f"{self.done} of {tests}, {self.failed} failed" if self.total else f"{tests}, {self.failed} failed"


@dataclass(frozen=True)
class Trouble:
    """Why its tests do not come to their end.

    Parameters
    ----------
    text : str
        For the user.
    """

    text: str


class Stopped(str, Enum):
    """Why the runner ended a program."""

    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    OUTPUT = "too much output"


@dataclass(frozen=True)
class Ended:
    """It has ended; always the last event.

    Parameters
    ----------
    code : int or None
        Exit code; None when a signal ended it.
    signal : int
        The signal that ended it, else 0. A shell reports a signal of its command as 128 more.
    stopped : Stopped, optional
        Why the runner ended it, if it did.
    interrupted : bool
        The user interrupted this process meanwhile, and the program with it.
    stdout, stderr : bytes
        The beginning of what it wrote, where that is kept.
    seconds : float
        How long it ran.
    """

    code: int | None
    signal: int = 0
    stopped: Stopped | None = None
    interrupted: bool = False
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0

    @property
    def status(self) -> int:
        """The exit code, or 128 and the signal as a shell has it."""
        return 128 + self.signal if self.code is None else self.code


Event: TypeAlias = Started | Output | TestProgress | Trouble | Ended


class ProgressFile:
    """Reads what a recorder adds to the file that :mod:`suspectra_recorder.progress` writes.

    Parameters
    ----------
    path : Path
        It may not be there yet.
    """

    def __init__(self, path: Path):
        self._path = path
        self._read = 0
        self._done = self._failed = self._total = 0
        self._progress = TestProgress()

    def news(self) -> Iterator[TestProgress | Trouble]:
        """What was added since the last call.

        Yields
        ------
        TestProgress or Trouble
            Of several tests that ended, only how many there are now.
        """
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
        """Count what a line says; the trouble that it tells of, empty where it tells of none."""
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
