"""The events that the runner reports during a run."""

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
    """The program was started.

    Parameters
    ----------
    pid : int
        Its process id.

    Examples
    --------
    >>> Started(pid=4711)
    Started(pid=4711)
    """

    pid: int


@dataclass(frozen=True)
class Output:
    """The program wrote some lines.

    Parameters
    ----------
    lines : tuple of str
        In order, without line ends; a very long line is split.

    Examples
    --------
    >>> Output(("collected 3 items", "test_cart.py ..F")).lines[-1]
    'test_cart.py ..F'
    """

    lines: tuple[str, ...]


@dataclass(frozen=True)
class TestProgress:
    """The progress of the program's tests.

    Parameters
    ----------
    done, failed : int
        Numbers of tests that ended, and that failed.
    total : int
        The number of tests; 0 while it is not known.

    Examples
    --------
    >>> progress = TestProgress(done=30, failed=1, total=120)
    >>> print(progress)
    30 of 120 tests, 1 failed
    >>> progress.percentage
    25
    >>> print(TestProgress())
    collecting tests
    """

    __test__ = False  # tells pytest that this is not a test class

    done: int = 0
    failed: int = 0
    total: int = 0

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
    """Why the tests will not complete.

    Parameters
    ----------
    text : str
        A message for the user.

    Examples
    --------
    >>> Trouble("the test process was killed").text
    'the test process was killed'
    """

    text: str


class Stopped(str, Enum):
    """Why the runner ended a program.

    Examples
    --------
    >>> Stopped.TIMEOUT.value
    'timeout'
    """

    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    OUTPUT = "too much output"


@dataclass(frozen=True)
class Ended:
    """The program has ended; always the last event.

    Parameters
    ----------
    code : int or None
        Exit code; None when a signal ended it.
    signal : int
        The signal that ended it, else 0.
    stopped : Stopped, optional
        Why the runner ended it, if it did.
    interrupted : bool
        Whether the user interrupted this process, and the program with it.
    stdout, stderr : bytes
        The first part of its output, if that is kept.
    seconds : float
        How long it ran.

    Examples
    --------
    >>> Ended(code=2).status, Ended(code=None, signal=9).status
    (2, 137)
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
        """The exit code, or 128 + the signal, as in a shell."""
        return 128 + self.signal if self.code is None else self.code


Event: TypeAlias = Started | Output | TestProgress | Trouble | Ended


class ProgressFile:
    r"""Follows the progress file that a recorder writes; see :mod:`suspectra_recorder.progress`.

    Parameters
    ----------
    path : Path
        The file, which may not exist yet.

    Examples
    --------
    >>> path = folder / "progress"
    >>> progress = ProgressFile(path)
    >>> list(progress.news())  # there is no file yet
    []
    >>> _ = path.write_text('{"tests": 3}\n{"failed": true}\n{"trouble": "the test process was killed"}\n{"fai')
    >>> for event in progress.news():
    ...     print(event)
    1 of 3 tests, 1 failed
    Trouble(text='the test process was killed')
    """

    def __init__(self, path: Path):
        self._path = path
        self._read = 0
        self._done = self._failed = self._total = 0
        self._progress = TestProgress()

    def news(self) -> Iterator[TestProgress | Trouble]:
        """Read what was added since the last call.

        Yields
        ------
        TestProgress or Trouble
            At most one for the current numbers of tests, then the troubles.
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
