"""What is said between a process that has collected tests and the one that asks it to run some."""

from __future__ import annotations

from typing import TypedDict

from suspectra_recorder.pytest.selection import SelectionFields


class WarmGreeting(TypedDict):
    """What is said once the tests are collected."""

    tests: int
    """How many there are."""
    once: list[str]
    """Why the process can't be forked, so that it runs one request and ends; empty if it can."""
    unusable: str
    """Why it can't be asked at all, and ends; empty if it can."""
    broken: bool
    """Whether that is because of the sources as they are now, so that it may be otherwise after the next edit."""


class WarmRunRequest(TypedDict):
    """Some tests to run."""

    selection: SelectionFields
    """Which ones, and in which order."""
    progress: str
    """A file, see :mod:`suspectra_recorder.progress`."""


class WarmRunAnswer(TypedDict, total=False):
    """What became of a request. The last answer has the status; a fork that refuses it says so before."""

    refused: str
    """Why only a fresh process can run the tests."""
    status: int
    """How the process that ran them ended, as in a shell."""
    processor: float
    """How many seconds of processor time it took."""
