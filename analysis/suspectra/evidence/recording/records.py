"""The records of tests, and the sections of a log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Ints, Row
from suspectra.base.errors import Problem
from suspectra.evidence.evidence import TestResult
from suspectra.evidence.recording.source_map import SourceMap
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.history import EndedTest, passes
from suspectra_recorder.log.stack import Stack

EMPTY = np.zeros(0, np.int32)
RUN_AGAIN = "run the tests again"
"""The cure for a damaged recording."""


@dataclass(eq=False)
class Section:
    """What one process recorded in one run."""

    run: str  # identifies the run of the whole command
    started: int  # time of the start, in nanoseconds since the epoch
    # the maps of its sources, in the order of the indices in rows; None for a damaged one
    maps: list[SourceMap | None] = field(default_factory=list)
    outside: list[bytes] = field(default_factory=list)  # packed rows of code that ran outside tests
    setups: dict[str, bytes] = field(default_factory=dict)  # packed rows of what was set up for several tests, by name
    problems: list[Problem] = field(default_factory=list)  # the problems of the run
    errors: list[CollectionError] = field(default_factory=list)  # what could not be collected
    plan: int = 0  # how many tests were about to run
    ended: bool = False  # whether the run ended by itself
    tests: set[str] = field(default_factory=set)  # those that ran
    python: str = ""  # the version of the interpreter, empty where it is not known
    # the versions of the distributions that were installed, by name; empty where they are not known
    packages: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("pytest",)  # how its tests are run again


@dataclass(eq=False)
class Record:
    """The record of one test, with packed rows."""

    result: TestResult  # how the test ended
    time: int  # when it ended, in nanoseconds since the epoch
    section: Section  # the section that contains it
    rows: tuple[bytes, ...]  # the packed rows of the log: its own, and those of each setup that it shares
    stack: Stack | None = None  # where it failed, in the lines of the sources at that time
    decoded: Rows | None = None  # the rows in the columns of the current layout, once they are decoded

    @cached_property
    def ended(self) -> EndedTest:
        """How it ended, which says whether the sources were right."""
        passed = passes(self.result.verdict.value, flaky=self.result.flaky)
        return EndedTest(self.result.name, self.time, passed, self.section.run, self.result.verdict.failing)

    @cached_property
    def key(self) -> tuple[str, int]:
        """Identifies this run of the test."""
        return self.result.name, self.time


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a record in the columns of the layout."""

    row: Row  # sorted indices of statements; shape (executed,)
    edges: Row  # sorted indices of edges; shape (traversed,)
    times: Ints | None  # how often each edge was taken, None where that was not counted
    stale: tuple[str, ...]  # sources that have changed since
    section: Section | None  # as it was read; merged logs have others
    touched: Ints  # its numbers of the sources
    damage: str = ""  # why it can't be read; empty if it can

    @property
    def odd(self) -> bool:
        """Whether there is a problem to report."""
        return bool(self.stale or self.damage)


def damaged(error: Exception) -> Rows:
    """Make empty rows, with the reason why they can't be read."""
    return Rows(EMPTY, EMPTY, EMPTY, (), None, EMPTY, f"{error}")
