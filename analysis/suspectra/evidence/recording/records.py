"""The records of tests, and the sections of a log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from suspectra.arrays import Ints, Row
from suspectra.errors import Problem
from suspectra.evidence.evidence import TestResult
from suspectra.evidence.recording.source_map import SourceMap
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.history import Ended, passes
from suspectra_recorder.log.stack import Stack

EMPTY = np.zeros(0, np.int32)
RUN_AGAIN = "run the tests again"
"""The cure for a damaged recording."""


@dataclass(eq=False)
class Section:
    """What one process recorded in one run.

    Parameters
    ----------
    run : str
        Identifies the run of the whole command.
    started : int
        Time of the start, in nanoseconds since the epoch.
    maps : list of SourceMap or None
        The maps of its sources, in the order of the indices in rows; None for a damaged one.
    outside : list of bytes
        Packed rows of code that ran outside tests.
    problems : list of Problem
        The problems of the run.
    errors : list of CollectionError
        What could not be collected.
    python : str
        The version of the interpreter, empty where it is not known.
    packages : mapping of str to str
        The versions of the distributions that were installed, by name; empty where they are not known.
    command : tuple of str
        How its tests are run again.

    Examples
    --------
    >>> section = Section("monday", 1, python="3.12.3", packages={"numpy": "2.1"})
    >>> section.run, section.maps, section.packages["numpy"]
    ('monday', [], '2.1')
    """

    run: str
    started: int
    maps: list[SourceMap | None] = field(default_factory=list)
    outside: list[bytes] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    errors: list[CollectionError] = field(default_factory=list)
    python: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("pytest",)


@dataclass(eq=False)
class Record:
    """The record of one test, with packed rows.

    Parameters
    ----------
    result : TestResult
        How the test ended.
    time : int
        When it ended, in nanoseconds since the epoch.
    section : Section
        The section that contains it.
    rows : bytes
        The packed rows of the log.
    stack : Stack or None
        Where it failed, in the lines of the sources at that time.
    decoded : Rows or None
        The rows in the columns of the current layout, once they are decoded.

    Examples
    --------
    >>> from suspectra.evidence.evidence import Verdict
    >>> record = Record(TestResult("test_sum", Verdict.PASSED), 2, Section("monday", 1), b"")
    >>> record.key, record.ended.passed, record.ended.run
    (('test_sum', 2), True, 'monday')
    """

    result: TestResult
    time: int
    section: Section
    rows: bytes
    stack: Stack | None = None
    decoded: Rows | None = None

    @cached_property
    def ended(self) -> Ended:
        """How it ended, which says whether the sources were right."""
        passed = passes(self.result.verdict.value, flaky=self.result.flaky)
        return Ended(self.result.name, self.time, passed, self.section.run)

    @cached_property
    def key(self) -> tuple[str, int]:
        """Identifies this run of the test."""
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
        How often each edge was taken; None if that was not counted.
    stale : tuple of str
        Sources that have changed since.
    section : Section or None
        The section from which it was decoded; merged logs have others.
    touched : ndarray of int, shape (sources,)
        Indices of the touched sources in the section.
    damage : str
        Why it can't be read; empty if it can.

    Examples
    --------
    >>> Rows(np.array([0, 2], np.int32), EMPTY, None, (), None, EMPTY).odd
    False
    >>> Rows(np.array([0, 2], np.int32), EMPTY, None, ("cart.py",), None, EMPTY).odd
    True
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
        """Whether there is a problem to report."""
        return bool(self.stale or self.damage)


def damaged(error: Exception) -> Rows:
    """Make empty rows, with the reason why they can't be read.

    Parameters
    ----------
    error : Exception
        The error of reading them.

    Returns
    -------
    Rows
        With the text of the error as `damage`.

    Examples
    --------
    >>> rows = damaged(ValueError("a wrong number of bits"))
    >>> rows.damage, rows.odd, len(rows.row)
    ('a wrong number of bits', True, 0)
    """
    return Rows(EMPTY, EMPTY, EMPTY, (), None, EMPTY, f"{error}")
