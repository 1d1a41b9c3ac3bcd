"""The spectrum: which test executed which element, and how the test ended.

Rows are kept as one sorted index array per test rather than as one sparse matrix. A test that runs again then
replaces one array while every other row is shared with the spectrum before it, which is what keeps an update
of one test independent of the size of the suite.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import compress
from typing import Generic, TypeVar

import numpy as np

from suspectra.arrays import Bools, Ints, Row
from suspectra.cancellation import checked
from suspectra.location import Location

T = TypeVar("T")
IntsT = TypeVar("IntsT", bound=Ints, covariant=True)
Change = Sequence[tuple[Ints, bool]]  # rows that came or went, each with whether its test failed
_ONE = np.int32(1)
_TABLE = 1 << 21  # a table of so many entries is quicker than to sort some thousand columns
_MANY_FILES = 20  # changed ones, from which on counting all over is no slower
_BATCH = 64  # tests whose edges are worked out together
_MANY = 1_000  # elements from which on it pays to sort what all failing tests execute


@dataclass(frozen=True)
class Function:
    """A function or method of a source file.

    Parameters
    ----------
    file : int
        Index into the files of the table it belongs to.
    name : str
        Qualified name, such as ``Cart.total``.
    line, end_line : int
        First and last line, counted from 1, both included.

    Examples
    --------
    >>> Function(0, "Cart.total", 12, 18).name
    'Cart.total'
    """

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
        All functions of all files.
    versions : tuple, optional
        For each file an object that stays the same as long as the file does.

    Examples
    --------
    >>> one = np.array([0, 0], np.int32)
    >>> lines = np.array([3, 7], np.int32)
    >>> elements = Elements(("cart.py",), one, lines, lines, one - 1, ())
    >>> print(elements.location(1))
    cart.py:7
    """

    files: tuple[str, ...]
    file: Ints
    line: Ints
    end_line: Ints
    function: Ints
    functions: tuple[Function, ...]
    versions: tuple[object, ...] = ()

    def __len__(self) -> int:
        return len(self.line)

    def location(self, element: int) -> Location:
        """Where an element stands.

        Parameters
        ----------
        element : int
            Its column.

        Returns
        -------
        Location
            The file and the lines of its statement.
        """
        return Location(self.files[self.file[element]], int(self.line[element]), int(self.end_line[element]))

    def function_name(self, element: int) -> str:
        """The qualified name of the enclosing function, empty at module level.

        Parameters
        ----------
        element : int
            Its column.

        Returns
        -------
        str
            Qualified, such as ``Cart.total``.
        """
        index = self.function[element]
        return self.functions[index].name if index >= 0 else ""

    def of_file(self, path: str) -> slice[int, int]:
        """The elements of one file, as a slice of the columns (empty for an unknown file).

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.

        Returns
        -------
        slice
            First column and the one behind the last.
        """
        index = self._file_index.get(path)
        if index is None:
            return slice(0, 0)
        return slice(int(self._file_start[index]), int(self._file_start[index + 1]))

    def at(self, path: str, line: int) -> int | None:
        """The innermost element whose lines hold `line`, or None.

        Parameters
        ----------
        path : str
            Relative to the workspace, with forward slashes.
        line : int
            Counted from 1.

        Returns
        -------
        int or None
            Its column. Where several statements hold the line, the one that starts last.
        """
        span = self.of_file(path)
        first, last = self.line[span], self.end_line[span]
        holding = np.flatnonzero((first <= line) & (line <= last))
        if not len(holding):
            return None
        # the latest start is the innermost: a statement inside a multi-line one starts after it
        return span.start + int(holding[np.argmax(first[holding])])

    def starting(self, file: Ints, line: Ints) -> Ints:
        """The element that starts on each of some lines, -1 where none does; files are given by number.

        Parameters
        ----------
        file : ndarray of int, shape (k,)
            Indices into `files`.
        line : ndarray of int, shape (k,)
            Counted from 1.

        Returns
        -------
        ndarray of int64, shape (k,)
            Columns.
        """
        ends = np.stack([self._file_start[file], self._file_start[file + 1]], axis=1)
        found = np.array(
            [start + np.searchsorted(self.line[start:end], at) for (start, end), at in zip(ends, line, strict=True)],
            np.int64,
        )
        there = found < ends[:, 1]
        there[there] = self.line[found[there]] == line[there]
        return np.where(there, found, -1)

    @cached_property
    def _file_index(self) -> dict[str, int]:
        return {path: i for i, path in enumerate(self.files)}

    @cached_property
    def _file_start(self) -> Ints:
        return np.searchsorted(self.file, np.arange(len(self.files) + 1))


class EdgeKind(str, Enum):
    """What the two ends of an edge are."""

    ARC = "arc"  # two lines, as coverage.py has it: a negative one is entry or exit of the code that starts there
    BLOCK = "block"  # two basic blocks of one function
    OUTCOME = "outcome"  # a line, and -1 - the number of one outcome of its decision


FIRST_OUTCOME = 1 << 30
"""Among arcs, the target of the first condition's false outcome; its true one and those of others follow."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Control-flow edges, as columns.

    Parameters
    ----------
    file : ndarray of int32, shape (m,)
        Index into the elements' files.
    source, target : ndarray of int32, shape (m,)
        Lines that the edge leaves and enters, or block numbers: `kind` says which.
    function : ndarray of int32, shape (m,)
        Index into the elements' functions, -1 where it is not known.
    kind : EdgeKind
        What `source` and `target` are.
    complete : bool
        Whether every edge a test traversed is told. A recorder that marks decisions need not mark the ways between
        them: these follow from the statements.
    conditions : tuple of ndarray of int32, each of shape (k, 4)
        For each file the conditions inside expressions, whose outcomes are edges too, where the evidence tells them:
        first line and column, last line and column behind. Columns are characters, from 0. An outcome leads from the
        line of its statement to `FIRST_OUTCOME` + 2 × the number of the condition, + 1 where it is true.
    """

    file: Ints
    source: Ints
    target: Ints
    function: Ints
    kind: EdgeKind = EdgeKind.ARC
    complete: bool = True
    conditions: tuple[Ints, ...] = ()

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def is_outcome(self) -> Bools:
        """Whether an edge is the outcome of a condition inside an expression; shape (m,)."""
        return np.asarray(self.target) >= FIRST_OUTCOME if self.conditions else np.zeros(len(self), bool)


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

    ef: Ints
    ep: Ints
    failed: int
    passed: int

    @property
    def nf(self) -> Ints:
        """Failed tests that do not execute the column."""
        return self.failed - self.ef

    @property
    def np(self) -> Ints:
        """Passed tests that do not execute the column."""
        return self.passed - self.ep

    @classmethod
    def from_rows(cls, rows: Iterable[Ints], failed: Bools, columns: int) -> Counts:
        """Count from nothing.

        Parameters
        ----------
        rows : iterable of ndarray of int
            For each test the columns it has, none twice.
        failed : ndarray of bool, shape (tests,)
            Whether each test failed.
        columns : int
            How many columns there are.

        Returns
        -------
        Counts
            The counts of all columns.
        """
        ef, ep = np.zeros(columns, np.int32), np.zeros(columns, np.int32)
        for row, bad in checked(zip(rows, failed.tolist(), strict=True)):
            np.add.at(ef if bad else ep, row, _ONE)
        all_failed = int(np.count_nonzero(failed))
        return cls(ef, ep, all_failed, len(failed) - all_failed)

    def of_columns(self, columns: Ints) -> Counts:
        """The counts of some columns.

        Parameters
        ----------
        columns : ndarray of int, shape (k,)
            Indices, in any order.

        Returns
        -------
        Counts
            Arrays of shape (k,), with the same F and P.
        """
        return Counts(self.ef[columns], self.ep[columns], self.failed, self.passed)

    def updated(self, removed: Change, added: Change) -> Counts:
        """The counts after some rows went and some came; `self` stays as it is, and what did not change is shared.

        Parameters
        ----------
        removed, added : sequence of (ndarray of int, bool)
            Rows that went and rows that came, each with whether its test failed.

        Returns
        -------
        Counts
            Shares the array of `ef` or `ep` with `self` where no row of that kind changed.
        """
        ef, ep = self.ef, self.ep
        failed, passed = self.failed, self.passed
        for change, step in ((removed, -1), (added, 1)):
            for row, bad in change:
                if bad:
                    ef = ef.copy() if ef is self.ef else ef
                    np.add.at(ef, row, np.int32(step))
                else:
                    ep = ep.copy() if ep is self.ep else ep
                    np.add.at(ep, row, np.int32(step))
                failed, passed = failed + step * bad, passed + step * (not bad)
        return Counts(ef, ep, failed, passed)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Candidates by their pair (ef, ep), which is all that a formula sees of them.

    Parameters
    ----------
    of : ndarray of int32, shape (n,)
        The number of each column's pair, -1 for a column that is not a candidate.
    ef, ep : ndarray of int64, shape (pairs,)
        Failing and passing tests that execute the candidates of each pair.
    size : ndarray of int64, shape (pairs,)
        How many candidates have each pair; 0 for one that was left behind when counts changed.
    key : ndarray of int64, shape (pairs,)
        The :func:`pair_key` of each pair, ascending.
    number : ndarray of int32, shape (pairs,)
        The number of the pair that has each of these keys.
    """

    of: Ints
    ef: Ints
    ep: Ints
    size: Ints
    key: Ints
    number: Ints

    def __len__(self) -> int:
        return len(self.ef)

    @classmethod
    def among(cls, counts: Counts, candidates: Bools) -> Pairs:
        """The pairs of the candidates.

        Parameters
        ----------
        counts : Counts
            Of all columns.
        candidates : ndarray of bool, shape (n,)
            The columns that count.

        Returns
        -------
        Pairs
            Numbered from nothing: no pair is left behind.
        """
        of, ef, ep = distinct_pairs(counts)
        of = np.where(candidates, of, -1).astype(np.int32, copy=False)
        size = np.bincount(of + 1, minlength=len(ef) + 1)[1:]
        return cls(of, ef, ep, size, pair_key(ef, ep), np.arange(len(ef), dtype=np.int32))

    def updated(self, counts: Counts, columns: Ints) -> Pairs:
        """The pairs after the counts of some columns changed; `self` stays as it is.

        Parameters
        ----------
        counts : Counts
            Of all columns, after the change.
        columns : ndarray of int, shape (k,)
            All columns whose counts changed, without repetition.

        Returns
        -------
        Pairs
            Pairs that are new stand behind the old ones, so old numbers stay.
        """
        columns = columns[self.of[columns] >= 0]
        of_column, ef, ep = distinct_pairs(counts.of_columns(columns))
        keys = pair_key(ef, ep)
        place = np.searchsorted(self.key, keys)
        new = np.append(self.key, -1)[place] != keys
        fresh = np.arange(len(self), len(self) + np.count_nonzero(new), dtype=np.int32)
        numbers = np.append(self.number, np.int32(0))[place]
        numbers[new] = fresh
        of, after, pairs = self.of.copy(), numbers[of_column], len(self) + len(fresh)
        of[columns] = after
        size = np.bincount(after, minlength=pairs) - np.bincount(self.of[columns], minlength=pairs)
        size[: len(self)] += self.size
        return Pairs(
            of,
            np.concatenate([self.ef, ef[new]]),
            np.concatenate([self.ep, ep[new]]),
            size,
            np.insert(self.key, place[new], keys[new]),
            np.insert(self.number, place[new], fresh),
        )

    @property
    def worn(self) -> bool:
        """Whether so many pairs were left behind that it is better to start anew."""
        return len(self) > 4096 + 2 * int(np.count_nonzero(self.size))


def pair_key(ef: Ints, ep: Ints) -> Ints:
    """One integer for each pair of counts.

    Parameters
    ----------
    ef, ep : ndarray of int, shape (k,)
        Counts below 2³¹.

    Returns
    -------
    ndarray of int64, shape (k,)
        In the order of ef, then of ep.

    Examples
    --------
    >>> pair_key(np.array([0, 1]), np.array([5, 0])).tolist()
    [5, 4294967296]
    """
    return ef.astype(np.int64) << 32 | ep


def distinct_pairs(counts: Counts) -> tuple[Ints, Ints, Ints]:
    """Columns by their pair (ef, ep): the pair's number for each column, then ef and ep of each pair.

    Pairs are few where tests are few, so a table of all possible ones is quicker than sorting the columns.

    Parameters
    ----------
    counts : Counts
        Of n columns.

    Returns
    -------
    number : ndarray of int, shape (n,)
        The number of each column's pair.
    ef, ep : ndarray of int64, shape (pairs,)
        The counts of each pair.
    """
    base = counts.passed + 1
    key = counts.ef.astype(np.int64) * base + counts.ep
    possible = (counts.failed + 1) * base
    if possible <= max(4 * len(key), _TABLE):
        seen = np.zeros(possible, bool)
        seen[key] = True
        pairs = np.flatnonzero(seen)
        number = np.empty(possible, np.int32)
        number[pairs] = np.arange(len(pairs), dtype=np.int32)
        of = number[key]
    else:
        pairs, of = np.unique(key, return_inverse=True)
    ef, ep = np.divmod(pairs, base)
    return of, ef, ep


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Tests against elements, and where it is known against control-flow edges.

    Parameters
    ----------
    tests : tuple of str
        Names of the tests that passed or failed; a test that was skipped is not here.
    failed : ndarray of bool, shape (tests,)
        Whether each test failed.
    elements : Elements
        What the rows index.
    rows : tuple of ndarray of int32
        For each test the sorted indices of the elements it executed.
    candidates : ndarray of bool, shape (elements,)
        The elements that may be suspects. Test code is measured but is normally no candidate.
    edges : Edges, optional
        What the edge rows index; None where the evidence tells nothing of edges.
    edge_rows : tuple of ndarray of int32, optional
        For each test the sorted indices of the edges it traversed. Where these follow from what the evidence tells,
        they are worked out when they are asked for, best some tests at a time: see :func:`batches`.
    edge_counts : tuple of ndarray of integers, optional
        How often, aligned with `edge_rows`, where the source of the evidence counted; as narrow as they can be.
    runs : tuple, optional
        What tells the run of each test from its other runs; see :class:`~suspectra.evidence.evidence.Evidence`.
    raised : ndarray of int32, shape (tests,), optional
        For each test the candidate in which it failed: that of the innermost frame of its traceback that is in one. -1
        where there is none; None where the evidence holds no tracebacks.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> spectrum.counts.ef.tolist(), spectrum.counts.ep.tolist()
    ([1, 1, 0], [1, 0, 1])
    """

    tests: tuple[str, ...]
    failed: Bools
    elements: Elements
    rows: tuple[Row, ...]
    candidates: Bools
    edges: Edges | None = None
    edge_rows: Sequence[Row] | None = None
    edge_counts: Sequence[Ints] | None = None
    runs: tuple[Hashable, ...] = ()
    raised: Ints | None = None

    def __post_init__(self) -> None:
        if not len(self.tests) == len(self.failed) == len(self.rows):
            raise ValueError("tests, failed and rows must have the same length")
        if self.edge_rows is not None and len(self.edge_rows) != len(self.tests):
            raise ValueError("edge_rows must have one row a test")
        if self.raised is not None and len(self.raised) != len(self.tests):
            raise ValueError("raised must have one element a test")

    @classmethod
    def from_matrix(
        cls,
        matrix: Sequence[Sequence[int]] | Ints | Bools,
        failed: Sequence[bool] | Bools,
        *,
        elements: Elements | None = None,
        tests: Sequence[str] | None = None,
    ) -> Spectrum:
        """A spectrum from a dense matrix of tests × elements, for examples and for published tables.

        Parameters
        ----------
        matrix : array_like of int or bool, shape (tests, elements)
            Not zero where the test executes the element.
        failed : array_like of bool, shape (tests,)
            Whether each test failed.
        elements : Elements, optional
            Lines 1 to n of one file unless given.
        tests : sequence of str, optional
            Their names, ``t1`` to ``tn`` unless given.

        Returns
        -------
        Spectrum
            All elements are candidates, and nothing is known of edges.

        Examples
        --------
        >>> Spectrum.from_matrix([[1, 0], [1, 1]], failed=[False, True]).counts.ef.tolist()
        [1, 1]
        """
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
        return Counts.from_rows(self.rows, self.failed, len(self.elements))

    def count_by(self, count: Callable[[Spectrum], Counts]) -> None:
        """Take the counts from somebody who counts faster, unless they are known.

        Parameters
        ----------
        count : callable
            Given this spectrum, returns what `counts` would hold.
        """
        if "counts" not in self.__dict__:
            self.__dict__["counts"] = count(self)

    @cached_property
    def pairs(self) -> Pairs:
        """The candidates by their pair (ef, ep)."""
        return Pairs.among(self.counts, self.candidates)

    @property
    def suspected(self) -> int:
        """How many candidates a failing test executes."""
        return int(self.pairs.size[self.pairs.ef > 0].sum())

    @cached_property
    def edge_hit_counts(self) -> Counts:
        """The four counts of every edge.

        Raises
        ------
        ValueError
            When the evidence holds no edges.
        """
        edges, rows = self.require_edges()
        return Counts.from_rows(rows, self.failed, len(edges))

    def require_edges(self) -> tuple[Edges, Sequence[Row]]:
        """The edges, and for each test its row of them.

        Returns
        -------
        edges : Edges
            The columns.
        rows : sequence of ndarray of int32
            For each test the sorted indices of the edges it traversed.

        Raises
        ------
        ValueError
            When the evidence holds no edges.
        """
        if self.edges is None or self.edge_rows is None:
            raise ValueError("this spectrum holds no control-flow edges")
        return self.edges, self.edge_rows

    def edges_among(self, wanted: Bools, tests: Sequence[int]) -> Iterator[Row]:
        """Those of some edges that each of some tests traversed, in any order; cancellable in between.

        Parameters
        ----------
        wanted : ndarray of bool, shape (edges,)
            The edges that are asked for.
        tests : sequence of int
            Row numbers.

        Returns
        -------
        iterator of ndarray of int32
            One array of column indices for each of `tests`, in their order.

        Raises
        ------
        ValueError
            When the evidence holds no edges.
        """
        _, rows = self.require_edges()
        if isinstance(rows, DerivedRows):
            return rows.among(wanted, tests)
        return (row[wanted[row]] for row in checked(rows[test] for test in tests))

    @cached_property
    def test_index(self) -> Mapping[str, int]:
        """Row number by test name."""
        return {name: i for i, name in enumerate(self.tests)}

    @cached_property
    def _failing_by_element(self) -> tuple[Ints, Ints]:
        """Failing tests by element, compressed: (start of each element's run, row numbers)."""
        bad = np.array(self._failing, np.int64)
        if not len(bad):
            return np.zeros(len(self.elements) + 1, np.int64), np.zeros(0, np.int64)
        columns = np.concatenate([self.rows[i] for i in bad])
        tests = np.repeat(bad, [len(self.rows[i]) for i in bad])
        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(len(self.elements) + 1))
        return starts, tests[order]

    @cached_property
    def _failing(self) -> list[int]:
        """Row numbers of the failing tests by name: they ran in whatever order partial runs and workers had."""
        return sorted(np.flatnonzero(self.failed).tolist(), key=self.tests.__getitem__)

    def failing_tests(self, element: int) -> tuple[str, ...]:
        """The names of the failing tests that execute an element, in their order.

        Parameters
        ----------
        element : int
            Its column.

        Returns
        -------
        tuple of str
            Empty where only passing tests execute it, or none.
        """
        return self.failing_tests_of([element])[0]

    def failing_tests_of(self, elements: Sequence[int]) -> list[tuple[str, ...]]:
        """The names of the failing tests that execute each of some elements, in their order.

        Parameters
        ----------
        elements : sequence of int
            Their columns.

        Returns
        -------
        list of tuple of str
            For each of `elements` the names.
        """
        if "_failing_by_element" in self.__dict__ or len(elements) > _MANY:
            starts, tests = self._failing_by_element
            return [tuple([self.tests[i] for i in tests[starts[e] : starts[e + 1]].tolist()]) for e in elements]
        bad, wanted = self._failing, np.asarray(elements, np.int32)
        held = np.array([_hold(self.rows[i], wanted) for i in bad], bool).reshape(len(bad), len(wanted))
        known: dict[bytes, tuple[str, ...]] = {}  # most elements share their tests with others
        found = []
        for which in np.ascontiguousarray(held.T):
            key = which.tobytes()
            if key not in known:
                known[key] = tuple([self.tests[i] for i in compress(bad, which.tolist())])
            found.append(known[key])
        return found

    def tests_executing(self, element: int) -> Ints:
        """Row numbers of all tests that execute an element.

        Parameters
        ----------
        element : int
            Its column.

        Returns
        -------
        ndarray of int64, shape (k,)
            Ascending.
        """
        wanted = np.array([element], np.int32)
        return np.array([i for i, row in enumerate(self.rows) if _hold(row, wanted)[0]], np.int64)

    def with_rows(
        self,
        tests: tuple[str, ...],
        failed: Bools,
        rows: tuple[Row, ...],
        edge_rows: tuple[Row, ...] | None = None,
        edge_counts: tuple[Ints, ...] | None = None,
        runs: tuple[Hashable, ...] = (),
        raised: Ints | None = None,
    ) -> Spectrum:
        """The spectrum over the same elements after a change of tests.

        A row that is the same object as before counts as unchanged, so the counts of elements and edges are carried
        over and only what changed is counted again.

        Parameters
        ----------
        tests : tuple of str
            Names of all tests there are now.
        failed : ndarray of bool, shape (tests,)
            Whether each failed.
        rows : tuple of ndarray of int32
            What each executed, as the class says.
        edge_rows : tuple of ndarray of int32, optional
            What each traversed, where edges are known.
        edge_counts : tuple of ndarray of int, optional
            How often, aligned with `edge_rows`.
        runs : tuple of Hashable, optional
            What tells each run from others.
        raised : ndarray of int32, shape (tests,), optional
            Where each failed, where tracebacks are known.

        Returns
        -------
        Spectrum
            It has the elements, the candidates and the edges of this one.
        """
        after = Spectrum(
            tests, failed, self.elements, rows, self.candidates, self.edges, edge_rows, edge_counts, runs, raised
        )
        after.follow(self)
        return after

    def follow(self, before: Spectrum) -> None:
        """Take over the counts of a spectrum with the same columns, counting only rows that came or went.

        A row that is the same object in both counts as unchanged. What is known here already stays.

        Parameters
        ----------
        before : Spectrum
            The state before a change.
        """
        if "counts" in before.__dict__ and "counts" not in self.__dict__:
            then, now = before._marked_rows, self._marked_rows
            removed = _only(then, now, before.rows, before.failed)
            added = _only(now, then, self.rows, self.failed)
            self.__dict__["counts"] = counts = before.counts.updated(removed, added)
            if "pairs" in before.__dict__ and not before.pairs.worn:
                changed = _changed_columns(before.counts, counts, removed, added)
                self.__dict__["pairs"] = before.pairs.updated(counts, changed)
        if (
            "edge_hit_counts" in before.__dict__
            and "edge_hit_counts" not in self.__dict__
            and self.edge_rows is not None
        ):
            then, now = before._marked_edge_rows, self._marked_edge_rows
            self.__dict__["edge_hit_counts"] = before.edge_hit_counts.updated(
                _only(then, now, before.edge_rows or (), before.failed),
                _only(now, then, self.edge_rows, self.failed),
            )

    def follow_files(self, before: Spectrum) -> None:
        """Take over the counts of a spectrum whose files were partly others.

        Columns of files that are the same are counted again for tests that came or went, those of other files for all
        tests. Without `runs`, or where too much changed, nothing is taken over.

        Parameters
        ----------
        before : Spectrum
            The state before a change.
        """
        if not (self.runs and before.runs):
            return
        old, new = _same_files(before.elements.versions, self.elements.versions)
        then, now = _by_run(before), _by_run(self)
        gone = [place for run, place in then.items() if run not in now]
        come = [place for run, place in now.items() if run not in then]
        if len(gone) + len(come) > len(now) // 2 or len(self.elements.files) - len(new) > _MANY_FILES:
            return
        if "counts" in before.__dict__:
            tables = before.elements._file_start, self.elements._file_start
            moved = _MovedFiles.between(tables[0], old, tables[1], new)
            removed, added = _change(before.rows, before.failed, gone), _change(self.rows, self.failed, come)
            self.__dict__["counts"] = moved.counts(before.counts, removed, added, self.rows, self.failed)
        if "edge_hit_counts" not in before.__dict__:
            return
        old_edges, new_edges = _edges_by_file(before), _edges_by_file(self)
        if old_edges is not None and new_edges is not None:
            (old_starts, old_rows), (new_starts, new_rows) = old_edges, new_edges
            moved = _MovedFiles.between(old_starts, old, new_starts, new)
            removed, added = _change(old_rows, before.failed, gone), _change(new_rows, self.failed, come)
            counts = moved.counts(before.edge_hit_counts, removed, added, new_rows, self.failed)
            self.__dict__["edge_hit_counts"] = counts

    @cached_property
    def _marked_rows(self) -> dict[object, int]:
        return _marked(self.rows, self.failed)

    @cached_property
    def _marked_edge_rows(self) -> dict[object, int]:
        return _marked(self.edge_rows or (), self.failed)


def ranges(starts: Ints, ends: Ints) -> Ints:
    """All the numbers of several ranges, one after another.

    Parameters
    ----------
    starts, ends : ndarray of int, shape (k,)
        First number of each range, and the one behind its last.

    Returns
    -------
    ndarray of int64, shape (sum of sizes,)
        In the order of the ranges.

    Examples
    --------
    >>> ranges(np.array([0, 7]), np.array([2, 9])).tolist()
    [0, 1, 7, 8]
    """
    sizes = ends - starts
    offsets = np.repeat(starts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    return offsets + np.arange(int(sizes.sum()))


def _same_files(before: Sequence[object], now: Sequence[object]) -> tuple[Ints, Ints]:
    """The numbers of the files that are the same, before and now."""
    number = {id(version): i for i, version in enumerate(before)}
    old = np.array([number.get(id(version), -1) for version in now], np.int64)
    new = np.flatnonzero(old >= 0)
    return old[new], new


def _by_run(spectrum: Spectrum) -> dict[tuple[Hashable, bool], int]:
    """The row of each run and outcome."""
    return dict(zip(zip(spectrum.runs, spectrum.failed.tolist(), strict=True), range(len(spectrum.runs)), strict=True))


def _change(rows: Sequence[Row], failed: Bools, places: Sequence[int]) -> Change:
    return [(rows[place], bool(failed[place])) for place in places]


def _edges_by_file(spectrum: Spectrum) -> tuple[Ints, Sequence[Row]] | None:
    """Where the edges of each file begin, and the rows over them; None where those of a file don't stand together."""
    if spectrum.edges is None or spectrum.edge_rows is None or np.any(np.diff(spectrum.edges.file) < 0):
        return None
    starts = np.searchsorted(spectrum.edges.file, np.arange(len(spectrum.elements.files) + 1))
    return starts, spectrum.edge_rows


@dataclass(frozen=True, eq=False)
class _MovedFiles:
    """The columns of two tables that hold partly the same files.

    Parameters
    ----------
    place : ndarray of int32, shape (old columns,)
        The new column of each column of a file that is the same, -1 for others.
    other : ndarray of bool, shape (new columns,)
        The columns of files that are not the same.
    spans : list of ndarray of int32, shape (2,)
        Where these begin and end, file by file.
    """

    place: Ints
    other: Bools
    spans: list[Ints]

    @classmethod
    def between(cls, old_starts: Ints, old: Ints, new_starts: Ints, new: Ints) -> _MovedFiles:
        place = np.full(int(old_starts[-1]), -1, np.int32)
        to = ranges(new_starts[new], new_starts[new + 1])
        place[ranges(old_starts[old], old_starts[old + 1])] = to
        other = np.ones(int(new_starts[-1]), bool)
        other[to] = False
        changed = np.setdiff1d(np.arange(len(new_starts) - 1), new).tolist()
        return cls(place, other, [new_starts[file : file + 2].astype(np.int32) for file in changed])

    def counts(self, before: Counts, removed: Change, added: Change, rows: Sequence[Row], failed: Bools) -> Counts:
        """The counts of the new columns.

        Parameters
        ----------
        removed : list of (row, failed)
            Rows of tests that went, in old columns.
        added : list of (row, failed)
            Rows of tests that came, in new columns.
        rows : sequence of ndarray
            All rows there are now.
        """
        stays = self.place >= 0
        to = self.place[stays]
        ef, ep = np.zeros(len(self.other), np.int32), np.zeros(len(self.other), np.int32)
        ef[to], ep[to] = before.ef[stays], before.ep[stays]
        for row, bad in removed:
            columns = self.place[row]
            np.subtract.at(ef if bad else ep, columns[columns >= 0], _ONE)
        for row, bad in added:
            np.add.at(ef if bad else ep, row[~self.other[row]], _ONE)
        for span in self.spans:
            for row, bad in checked(zip(rows, failed.tolist(), strict=True)):
                start, end = row.searchsorted(span)
                if start < end:
                    np.add.at(ef if bad else ep, row[start:end], _ONE)
        all_failed = int(np.count_nonzero(failed))
        return Counts(ef, ep, all_failed, len(rows) - all_failed)


class Derived(Sequence[IntsT], ABC):
    """Arrays, one for each test, that are worked out from others when they are asked for."""

    @property
    @abstractmethod
    def source(self) -> Sequence[Ints]:
        """What they follow from, test by test: where these are the same objects, so is what follows."""


class DerivedRows(Derived[Row]):
    """Rows that are worked out when they are asked for, and need not be worked out whole."""

    @abstractmethod
    def among(self, wanted: Bools, tests: Sequence[int]) -> Iterator[Row]:
        """The wanted columns in the rows of some tests, in any order; cancellable in between.

        Parameters
        ----------
        wanted : ndarray of bool, shape (columns,)
            The columns that are asked for.
        tests : sequence of int
            Row numbers.

        Returns
        -------
        iterator of ndarray of int32
            One array of column indices for each of `tests`, in their order.
        """


class PerTest(Generic[T]):
    """What follows from the rows of one test alone, worked out once for each test.

    Rows that are the same objects as in the spectrum that was asked for last count as unchanged.

    Parameters
    ----------
    work : callable
        Given a spectrum and numbers of its tests, what follows for each of these.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> sizes = PerTest(lambda spectrum, tests: [len(spectrum.rows[test]) for test in tests])
    >>> sizes.of(spectrum)
    [2, 2]
    """

    def __init__(self, work: Callable[[Spectrum, list[int]], Iterable[T]]):
        self._work = work
        # the spectrum keeps its rows alive, so that no other object takes their identity
        self._last: tuple[Spectrum | None, dict[tuple[int, int, int], T]] = (None, {})

    def of(self, spectrum: Spectrum) -> list[T]:
        """What follows for each test, in the order of the rows.

        Parameters
        ----------
        spectrum : Spectrum
            The present state.

        Returns
        -------
        list of T
            One result for each test.
        """
        keys = _identities(spectrum)
        known = self._last[1]
        fresh = [test for test, key in enumerate(keys) if key not in known]
        found = zip((keys[test] for test in fresh), self._work(spectrum, fresh), strict=True) if fresh else ()
        every = known | dict(found)
        self._last = spectrum, {key: every[key] for key in keys}
        return [every[key] for key in keys]


class Tally:
    """How many failed and passed tests have each of some columns, where a test's columns follow from its rows.

    Rows that are the same objects as in the spectrum that was asked for last count as unchanged: only tests that came
    or went are worked out then.

    Parameters
    ----------
    derive : callable
        Given a spectrum and numbers of its tests, the columns of each of these, none twice.
    columns : int
        How many there are.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> tally = Tally(lambda spectrum, tests: [np.unique(spectrum.rows[test] // 2) for test in tests], 2)
    >>> tally.of(spectrum).ep.tolist()
    [1, 1]
    """

    def __init__(self, derive: Callable[[Spectrum, Sequence[int]], Iterable[Ints]], columns: int):
        self._derive = derive
        self._columns = columns
        self._last: tuple[Spectrum, dict[object, int], Counts] | None = None

    def of(self, spectrum: Spectrum) -> Counts:
        """The counts of a spectrum's tests.

        Parameters
        ----------
        spectrum : Spectrum
            The present state.

        Returns
        -------
        Counts
            Over `columns` columns.
        """
        marks = _numbered([(*key, bad) for key, bad in zip(_identities(spectrum), spectrum.failed, strict=True)])
        if self._last is not None:
            before, known, counts = self._last
            gone = [place for mark, place in known.items() if mark not in marks]
            come = [place for mark, place in marks.items() if mark not in known]
        if self._last is None or len(gone) + len(come) > len(marks):
            tests = range(len(spectrum.rows))
            counts = Counts.from_rows(self._derive(spectrum, tests), spectrum.failed, self._columns)
        else:
            counts = counts.updated(self._change(before, gone), self._change(spectrum, come))
        self._last = spectrum, marks, counts
        return counts

    def _change(self, spectrum: Spectrum, tests: list[int]) -> Change:
        return list(zip(self._derive(spectrum, tests), spectrum.failed[tests].tolist(), strict=True))


def batches(spectrum: Spectrum) -> Iterator[slice]:
    """All tests in slices of some each, whose edges may be looked at together; cancellable in between.

    Parameters
    ----------
    spectrum : Spectrum
        Whose tests they are.

    Returns
    -------
    iterator of slice
        Of row numbers, ascending.
    """
    return checked(slice(start, start + _BATCH) for start in range(0, len(spectrum.rows), _BATCH))


def _identities(spectrum: Spectrum) -> list[tuple[int, int, int]]:
    """What tells the rows of each test from others: the objects that hold them, or that they follow from."""
    nothing = (0,) * len(spectrum.rows)
    parts = (spectrum.rows, spectrum.edge_rows, spectrum.edge_counts)
    return list(zip(*(nothing if part is None else _identities_of(part) for part in parts), strict=True))


def _identities_of(rows: Sequence[Ints]) -> Iterable[int]:
    return map(id, rows.source if isinstance(rows, Derived) else rows)


def _hold(row: Row, columns: Ints) -> Bools:
    """Whether a row holds each of some columns."""
    if not len(row):
        return np.zeros(len(columns), bool)
    columns = columns.astype(row.dtype, copy=False)  # with columns of another width all of the row would be copied
    held: Bools = row[np.minimum(row.searchsorted(columns), len(row) - 1)] == columns
    return held


def _marked(rows: Sequence[Row], failed: Bools) -> dict[object, int]:
    """The places of rows by what tells them apart: identity, not content, and the outcome of the test."""
    marks = (np.fromiter(map(id, rows), np.uint64, len(rows)) << np.uint64(1) | failed).tolist()
    found: dict[object, int] = dict(zip(marks, range(len(marks)), strict=True))
    return found if len(found) == len(marks) else _numbered(marks)  # several tests may share a row


def _numbered(marks: Sequence[Hashable]) -> dict[object, int]:
    """The place of each mark; a mark that comes again is numbered."""
    seen: Counter[Hashable] = Counter()
    found: dict[object, int] = {}
    for place, mark in enumerate(marks):
        seen[mark] += 1
        found[mark if seen[mark] == 1 else (mark, seen[mark])] = place
    return found


def _only(marked: Mapping[object, int], other: Mapping[object, int], rows: Sequence[Row], failed: Bools) -> Change:
    """The rows, with their outcomes, that another spectrum does not have."""
    return [(rows[place], bool(failed[place])) for mark, place in marked.items() if mark not in other]


def _changed_columns(before: Counts, after: Counts, removed: Change, added: Change) -> Ints:
    """The columns of changed rows whose counts are others now."""
    if not removed and not added:
        return np.zeros(0, np.int64)
    touched = np.concatenate([row for row, _ in (*removed, *added)])
    differs = (before.ef[touched] != after.ef[touched]) | (before.ep[touched] != after.ep[touched])
    changed = np.zeros(len(after.ef), bool)
    changed[touched[differs]] = True
    return np.flatnonzero(changed)
