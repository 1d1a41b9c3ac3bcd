"""What the process of mixed runs and the program that asks it write to each other; see `mixed_runs.py`."""

from __future__ import annotations

from typing import TypedDict

from suspectra_recorder.experiments.messages import TracedRunAnswer
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

KIND = "mixed"
"""The kind of runs for which a machine starts so."""


class MixedOutcome(TypedDict):
    """How a test ended."""

    verdict: str  # as in recordings
    exception: str  # the type of the exception, empty where it passed
    place: str  # the innermost function of the workspace in which it was raised, with its file
    message: str  # the first line
    seconds: float


class MixedGreeting(TypedDict):
    """What there is to know before the first run."""

    again: bool  # whether several runs may follow each other


class MixedRequest(TypedDict):
    """What to run."""

    tests: list[str]  # the names of the tests
    seconds: float  # how long all of them may take
    limits: dict[str, float]  # how many seconds those of them may take that hang with some changes
    modules: list[str]  # what to load before
    files: list[str]  # those that may differ from one run to the next, relative to the workspace
    fresh: bool  # whether the program has to be loaded for this run
    columns: str  # the file that takes the columns of a trace of dependences; empty for no trace
    most: int  # how many nodes that may have
    lines: bool  # whether to tell what is executed of the files; then the program is loaded for this run


class MixedAnswer(TypedDict, total=False):
    """How a run ended."""

    tests: dict[str, MixedOutcome]  # those that ended
    uncollected: dict[str, MixedOutcome]  # those that could not be collected
    modules: list[str]  # what it has loaded that is no part of the workspace
    error: str  # why something could not be collected, in a line
    refused: bool  # whether the program has to be loaded for that
    exchanged: bool  # whether it was loaded for an earlier run
    ends: bool  # whether the process that has loaded it ends with this run
    dependences: TracedRunAnswer  # the trace, besides its columns
    executed: dict[str, list[tuple[str, int]]]  # by test; files and lines, those that were executed last at the end
    imported: list[tuple[str, int]]  # the same, before the first test
    opened: list[str]  # files that were opened
