"""The spectrum: which test executed which element, and how the test ended.

Rows are kept as one sorted index array per test rather than as one sparse matrix. A test that runs again then
replaces one array while every other row is shared with the spectrum before it, which is what keeps an update
of one test independent of the size of the suite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from suspectra.location import Location

Row = np.ndarray  # sorted, unique int32 column indices


@dataclass(frozen=True)
class Function:
    """A function or method: its file (an index into the table's files), qualified name and lines."""

    file: int
    name: str
    line: int
    end_line: int


@dataclass(frozen=True, eq=False)
class Elements:
    """The statements a technique can score, as columns.

    Parameters
    ----------
    files : tuple of str
        Workspace-relative paths with forward slashes.
    file : ndarray of int32, shape (n,)
        Index into `files`; elements of one file stand together, in the order of their lines.
    line, end_line : ndarray of int32, shape (n,)
        First and last line of each statement, counted from 1.
    function : ndarray of int32, shape (n,)
        Index of the innermost enclosing function, -1 at module level.
    functions : tuple of Function
    """

    files: tuple[str, ...]
    file: np.ndarray
    line: np.ndarray
    end_line: np.ndarray
    function: np.ndarray
    functions: tuple[Function, ...]

    def __len__(self) -> int:
        return len(self.line)

    def location(self, element: int) -> Location:
        """Where an element stands."""
        return Location(self.files[self.file[element]], int(self.line[element]), int(self.end_line[element]))

    def function_name(self, element: int) -> str:
        """The qualified name of the enclosing function, empty at module level."""
        index = self.function[element]
        return self.functions[index].name if index >= 0 else ""

    def of_file(self, path: str) -> slice:
        """The elements of one file, as a slice of the columns (empty for an unknown file)."""
        index = self._file_index.get(path)
        if index is None:
            return slice(0, 0)
        return slice(int(self._file_start[index]), int(self._file_start[index + 1]))

    def at(self, path: str, line: int) -> int | None:
        """The innermost element whose lines hold `line`, or None."""
        span = self.of_file(path)
        first, last = self.line[span], self.end_line[span]
        holding = np.flatnonzero((first <= line) & (line <= last))
        if not len(holding):
            return None
        # the latest start is the innermost: a statement inside a multi-line one starts after it
        return span.start + int(holding[np.argmax(first[holding])])

    @cached_property
    def _file_index(self) -> dict[str, int]:
        return {path: i for i, path in enumerate(self.files)}

    @cached_property
    def _file_start(self) -> np.ndarray:
        return np.searchsorted(self.file, np.arange(len(self.files) + 1))


class EdgeKind(str, Enum):
    """What the two ends of an edge are."""

    ARC = "arc"  # two lines, as coverage.py has it: a negative one is entry or exit of the code that starts there
    BLOCK = "block"  # two basic blocks of one function
    OUTCOME = "outcome"  # a line, and -1 - the number of one outcome of its decision


@dataclass(frozen=True, eq=False)
class Edges:
    """Control-flow edges, as columns.

    Parameters
    ----------
    file : ndarray of int32, shape (m,)
        Index into the elements' files.
    source, target : ndarray of int32, shape (m,)
    function : ndarray of int32, shape (m,)
        Index into the elements' functions, -1 where it is not known.
    kind : EdgeKind
    complete : bool
        Whether every edge a test traversed is told. A recorder that marks decisions need not mark the ways between
        them: these follow from the statements.
    """

    file: np.ndarray
    source: np.ndarray
    target: np.ndarray
    function: np.ndarray
    kind: EdgeKind = EdgeKind.ARC
    complete: bool = True

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, eq=False)
class Counts:
    """The four counts of every column, and the totals.

    Parameters
    ----------
    ef, ep : ndarray of int32, shape (n,)
        Failed and passed tests that execute the column.
    failed, passed : int
        All failed and all passed tests (F and P of the papers).
    """

    ef: np.ndarray
    ep: np.ndarray
    failed: int
    passed: int

    @property
    def nf(self) -> np.ndarray:
        """Failed tests that do not execute the column."""
        return self.failed - self.ef

    @property
    def np(self) -> np.ndarray:
        """Passed tests that do not execute the column."""
        return self.passed - self.ep

    @classmethod
    def of(cls, rows: Sequence[Row], failed: np.ndarray, columns: int) -> Counts:
        """Count from nothing."""
        ef, ep = np.zeros(columns, np.int32), np.zeros(columns, np.int32)
        for row, bad in zip(rows, failed.tolist(), strict=True):
            (ef if bad else ep)[row] += 1
        bad = int(np.count_nonzero(failed))
        return cls(ef, ep, bad, len(rows) - bad)

    def updated(self, removed: Sequence[tuple[Row, bool]], added: Sequence[tuple[Row, bool]]) -> Counts:
        """The counts after some rows went and some came; `self` stays as it is."""
        ef, ep = self.ef.copy(), self.ep.copy()
        failed, passed = self.failed, self.passed
        for change, step in ((removed, -1), (added, 1)):
            for row, bad in change:
                (ef if bad else ep)[row] += step
                failed, passed = failed + step * bad, passed + step * (not bad)
        return Counts(ef, ep, failed, passed)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Tests against elements, and where it is known against control-flow edges.

    Parameters
    ----------
    tests : tuple of str
        Names of the tests that passed or failed; a test that was skipped is not here.
    failed : ndarray of bool, shape (tests,)
    elements : Elements
    rows : tuple of ndarray of int32
        For each test the sorted indices of the elements it executed.
    candidates : ndarray of bool, shape (elements,)
        The elements that may be suspects. Test code is measured but is normally no candidate.
    edges : Edges, optional
    edge_rows : tuple of ndarray of int32, optional
        For each test the sorted indices of the edges it traversed.
    edge_counts : tuple of ndarray of int64, optional
        How often, aligned with `edge_rows`, where the source of the evidence counted.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> spectrum.counts.ef.tolist(), spectrum.counts.ep.tolist()
    ([1, 1, 0], [1, 0, 1])
    """

    tests: tuple[str, ...]
    failed: np.ndarray
    elements: Elements
    rows: tuple[Row, ...]
    candidates: np.ndarray
    edges: Edges | None = None
    edge_rows: tuple[Row, ...] | None = None
    edge_counts: tuple[np.ndarray, ...] | None = None

    def __post_init__(self) -> None:
        if not len(self.tests) == len(self.failed) == len(self.rows):
            raise ValueError("tests, failed and rows must have the same length")
        if self.edge_rows is not None and len(self.edge_rows) != len(self.tests):
            raise ValueError("edge_rows must have one row a test")

    @classmethod
    def from_matrix(
        cls,
        matrix: Sequence[Sequence[int]] | np.ndarray,
        failed: Sequence[bool] | np.ndarray,
        *,
        elements: Elements | None = None,
        tests: Sequence[str] | None = None,
    ) -> Spectrum:
        """A spectrum from a dense tests × elements matrix; elements default to lines 1…n of one file."""
        hits = np.asarray(matrix).astype(bool)
        tests_count, count = hits.shape
        if elements is None:
            lines = np.arange(1, count + 1, dtype=np.int32)
            zeros = np.zeros(count, np.int32)
            elements = Elements(("program",), zeros, lines, lines, zeros - 1, ())
        return cls(
            tuple(tests) if tests is not None else tuple(f"t{i + 1}" for i in range(tests_count)),
            np.asarray(failed, bool),
            elements,
            tuple(np.flatnonzero(row).astype(np.int32) for row in hits),
            np.ones(count, bool),
        )

    @cached_property
    def counts(self) -> Counts:
        """The four counts of every element."""
        return Counts.of(self.rows, self.failed, len(self.elements))

    @cached_property
    def edge_hit_counts(self) -> Counts:
        """The four counts of every edge.

        Raises
        ------
        ValueError
            When the evidence holds no edges.
        """
        if self.edges is None or self.edge_rows is None:
            raise ValueError("this spectrum holds no control-flow edges")
        return Counts.of(self.edge_rows, self.failed, len(self.edges))

    @cached_property
    def test_index(self) -> Mapping[str, int]:
        """Row number by test name."""
        return {name: i for i, name in enumerate(self.tests)}

    @cached_property
    def _failing_by_element(self) -> tuple[np.ndarray, np.ndarray]:
        """Failing tests by element, compressed: (start of each element's run, row numbers)."""
        bad = np.flatnonzero(self.failed)
        if not len(bad):
            return np.zeros(len(self.elements) + 1, np.int64), np.zeros(0, np.int64)
        columns = np.concatenate([self.rows[i] for i in bad])
        tests = np.repeat(bad, [len(self.rows[i]) for i in bad])
        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(len(self.elements) + 1))
        return starts, tests[order]

    def failing_tests(self, element: int) -> tuple[str, ...]:
        """The names of the failing tests that execute an element, in the order of the rows."""
        starts, tests = self._failing_by_element
        return tuple(self.tests[i] for i in tests[starts[element] : starts[element + 1]])

    def tests_executing(self, element: int) -> np.ndarray:
        """Row numbers of all tests that execute an element."""
        return np.array([i for i, row in enumerate(self.rows) if _holds(row, element)], np.int64)

    def with_rows(
        self,
        tests: tuple[str, ...],
        failed: np.ndarray,
        rows: tuple[Row, ...],
        edge_rows: tuple[Row, ...] | None = None,
        edge_counts: tuple[np.ndarray, ...] | None = None,
    ) -> Spectrum:
        """The spectrum over the same elements after a change of tests.

        A row that is the same object as before counts as unchanged, so the element counts are carried over
        and only what changed is counted again.
        """
        after = replace(self, tests=tests, failed=failed, rows=rows, edge_rows=edge_rows, edge_counts=edge_counts)
        if "counts" in self.__dict__:
            removed, added = _row_changes(self, after)
            after.__dict__["counts"] = self.counts.updated(removed, added)
        return after


def _holds(row: Row, column: int) -> bool:
    at = np.searchsorted(row, column)
    return bool(at < len(row) and row[at] == column)


def _row_changes(before: Spectrum, after: Spectrum) -> tuple[list[tuple[Row, bool]], list[tuple[Row, bool]]]:
    """The (row, failed) pairs that only one of two spectra has, told apart by identity, not by content."""
    removed, added = [], []
    old = before.test_index
    was_failed, is_failed = before.failed.tolist(), after.failed.tolist()
    for i, name in enumerate(after.tests):
        j = old.get(name)
        if j is None:
            added.append((after.rows[i], is_failed[i]))
        elif after.rows[i] is not before.rows[j] or is_failed[i] != was_failed[j]:
            removed.append((before.rows[j], was_failed[j]))
            added.append((after.rows[i], is_failed[i]))
    if len(after.tests) - len(added) + len(removed) != len(before.tests):
        new = after.test_index
        removed += [(before.rows[j], was_failed[j]) for n, j in old.items() if n not in new]
    return removed, added
