"""The records of tests, and the sections of a log that they stand in."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from suspectra.arrays import Ints, Row
from suspectra.errors import Problem
from suspectra.evidence.evidence import TestResult
from suspectra.evidence.recording.source_map import SourceMap
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.stack import Stack

EMPTY = np.zeros(0, np.int32)
RUN_AGAIN = "run the tests again"
"""What cures damage to a recording."""


@dataclass(eq=False)
class Section:
    """One process's run: its sources in the order in which its rows number them.

    Parameters
    ----------
    run : str
        What tells the run of the whole command from others.
    started : int
        In nanoseconds since the epoch.
    maps : list of SourceMap or None
        By number; None for a damaged one.
    outside : list of bytes
        Packed rows of what ran outside any test.
    problems : list of Problem
        What is wrong with it.
    errors : list of CollectionError
        What could not be collected.
    """

    run: str
    started: int
    maps: list[SourceMap | None] = field(default_factory=list)
    outside: list[bytes] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    errors: list[CollectionError] = field(default_factory=list)


@dataclass(eq=False)
class Record:
    """One test's record, its rows still packed.

    Parameters
    ----------
    result : TestResult
        How the test ended.
    time : int
        When it ended, in nanoseconds since the epoch.
    section : Section
        The run it is of.
    rows : bytes
        As they are in the log.
    stack : Stack or None
        Where it failed, in the lines of the sources as they were.
    decoded : Rows or None
        In the columns of the present layout, once they were asked for.
    """

    result: TestResult
    time: int
    section: Section
    rows: bytes
    stack: Stack | None = None
    decoded: Rows | None = None

    @cached_property
    def key(self) -> tuple[str, int]:
        """What tells this run of the test from others."""
        return self.result.name, self.time


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a record in the columns of the layout.

    Parameters
    ----------
    row : ndarray of int32, shape (executed,)
        Sorted indices of statements.
    edges : ndarray of int32, shape (traversed,)
        Sorted indices of edges.
    times : ndarray of int, shape (traversed,) or None
        How often each edge was taken; None where that was not counted.
    stale : tuple of str
        Sources that have changed since.
    section : Section or None
        As it was read; merged logs have others.
    touched : ndarray of int, shape (sources,)
        The section's numbers of the sources in it.
    damage : str
        Why nothing of it can be read; empty when all is well.
    """

    row: Row
    edges: Row
    times: Ints | None  # how often each edge was taken, None where that was not counted
    stale: tuple[str, ...]  # sources that have changed since
    section: Section | None  # as it was read; merged logs have others
    touched: Ints  # its numbers of the sources
    damage: str = ""

    @property
    def odd(self) -> bool:
        """Whether there is something to say about it."""
        return bool(self.stale or self.damage)


def damaged(error: Exception) -> Rows:
    """Make rows that hold nothing but the reason why they can't be read.

    Parameters
    ----------
    error : Exception
        What reading them raised.

    Returns
    -------
    Rows
        `damage` is the text of the error.
    """
    return Rows(EMPTY, EMPTY, EMPTY, (), None, EMPTY, f"{error}")
