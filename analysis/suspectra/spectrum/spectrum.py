"""The spectrum: which test executed which element, and how the test ended.

Rows are kept as one sorted index array per test rather than as one sparse matrix. A test that runs again then
replaces one array, and every other row is shared with the previous spectrum. So the cost of updating one test does not
depend on the size of the suite.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress

import numpy as np

from suspectra.base.arrays import Bools, Ints, Row
from suspectra.base.cached_property import CachedProperty
from suspectra.base.cancellation import checked
from suspectra.spectrum.changed_rows import changes_by_git, tests_with_change
from suspectra.spectrum.changes import MovedFiles, changed_columns, difference, row_changes, same_files, shared_numbers
from suspectra.spectrum.counts import Counts
from suspectra.spectrum.edges import Edges
from suspectra.spectrum.elements import Elements
from suspectra.spectrum.pairs import Followed, Pairs
from suspectra.spectrum.rows import DerivedRows, contains

_MANY_FILES = 20  # above so many changed files, counting everything again is no slower
_MANY = 1_000  # above so many elements, it pays to sort what all failing tests execute


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Which elements each test executes, and, where known, which control-flow edges.

    Parameters
    ----------
    tests : sequence of str
        Names of the tests that passed or failed; skipped tests are left out.
    failed : ndarray of bool, shape (tests,)
        Whether each test failed.
    elements : Elements
        What the rows index.
    rows : sequence of ndarray of int32
        For each test the sorted indices of the elements it executed.
    candidates : ndarray of bool, shape (elements,)
        Whether each element may be a suspect. Test code is measured but is normally no candidate.
    edges : Edges, optional
        What the edge rows index; None where the evidence has no edges.
    edge_rows : sequence of ndarray of int32, optional
        For each test the sorted indices of the edges it traversed. Where the evidence does not list them, they are
        derived on demand, best in batches of tests: see :func:`suspectra.spectrum.batches`.
    edge_counts : sequence of ndarray of integers, optional
        How often each edge was traversed, aligned with `edge_rows`, where the evidence has counts; of the narrowest
        type.
    runs : sequence, optional
        Identifies the run of each test; see :class:`~suspectra.evidence.evidence.Evidence`.
    raised : ndarray of int32, shape (tests,), optional
        For each test the candidate in which it failed, according to the innermost frame of its traceback that is in a
        candidate; -1 where there is none. None where the evidence has no tracebacks.
    changed : mapping of str to ndarray of int32, optional
        For failing tests the sorted elements, executed or not, that changed since they passed, where that is known.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> spectrum.counts.ef.tolist(), spectrum.counts.ep.tolist()
    ([1, 1, 0], [1, 0, 1])
    >>> spectrum.test_index, spectrum.failing_index, spectrum.suspected, spectrum.pairs.size.tolist()
    ({'t1': 0, 't2': 1}, {'t1': 0}, 2, [1, 1, 1])
    >>> edges = Edges(np.zeros(1, int), np.array([1]), np.array([2]), np.zeros(1, int))
    >>> import dataclasses
    >>> spectrum = dataclasses.replace(spectrum, edges=edges, edge_rows=(np.array([0]), np.array([], int)))
    >>> spectrum.edge_hit_counts.ef, spectrum.candidate_edges, spectrum.changed_for - spectrum.changed_by_git_for
    (array([1], dtype=int32), array([ True]), array([0, 0, 0], dtype=int32))
    >>> dataclasses.replace(spectrum).follow_files(spectrum)
    """

    tests: Sequence[str]
    failed: Bools
    elements: Elements
    rows: Sequence[Row]
    candidates: Bools
    edges: Edges | None = None
    edge_rows: Sequence[Row] | None = None
    edge_counts: Sequence[Ints] | None = None
    runs: Sequence[Hashable] = ()
    raised: Ints | None = None
    changed: Mapping[str, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.tests) == len(self.failed) == len(self.rows):
            raise ValueError("tests, failed and rows must have the same length")
        for name, values in (("edge_rows", self.edge_rows), ("raised", self.raised)):
            if values is not None and len(values) != len(self.tests):
                raise ValueError(f"{name} must have one element a test")

    @classmethod
    def from_matrix(
        cls,
        matrix: Sequence[Sequence[int]] | Ints | Bools,
        failed: Sequence[bool] | Bools,
        *,
        elements: Elements | None = None,
        tests: Sequence[str] | None = None,
    ) -> Spectrum:
        """Make a spectrum from a dense matrix of tests × elements, for examples and published tables.

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
            All elements are candidates, and there are no edges.

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

    @CachedProperty
    def counts(self) -> Counts:
        """The four counts of every element."""
        return Counts.from_rows(self.rows, self.failed, len(self.elements))

    def count_by(self, count: Callable[[Spectrum], Counts]) -> None:
        """Take the counts from a faster function, unless they are computed already.

        Parameters
        ----------
        count : callable
            Given this spectrum, returns what `counts` would contain.

        Examples
        --------
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> spectrum.count_by(lambda spectrum: Counts.from_rows(spectrum.rows, spectrum.failed, 3))
        >>> spectrum.counts.ef.tolist()
        [1, 1, 0]
        """
        if Spectrum.counts.peek(self) is None:
            Spectrum.counts.give(self, count(self))

    @CachedProperty
    def _followed(self) -> Followed | None:
        """What it has from the state before a change; see `follow`."""
        return None

    @CachedProperty
    def pairs(self) -> Pairs:
        """The candidates by their pair (ef, ep)."""
        before = self._followed
        if before is None or before.pairs is None:
            return Pairs.among(self.counts, self.candidates)
        pairs, before.pairs = before.pairs, None
        return pairs.updated(self.counts, changed_columns(before.counts, self.counts, before.changed))

    @property
    def suspected(self) -> int:
        """How many candidates a failing test executes."""
        return int(self.pairs.size[self.pairs.ef > 0].sum())

    @cached_property
    def candidate_edges(self) -> Bools:
        """Whether each edge is in a file with a candidate, which those of test code are not; shape (edges,)."""
        if self.edges is None:
            return np.zeros(0, bool)
        of_file = np.zeros(len(self.elements.files), bool)
        of_file[self.elements.file[self.candidates]] = True
        return np.asarray(of_file[self.edges.file])

    @CachedProperty
    def edge_hit_counts(self) -> Counts:
        """The four counts of every edge.

        Raises
        ------
        ValueError
            When the evidence contains no edges.
        """
        edges, rows = self.require_edges()
        return Counts.from_rows(rows, self.failed, len(edges))

    def require_edges(self) -> tuple[Edges, Sequence[Row]]:
        """Return the edges and the edge rows.

        Returns
        -------
        edges : Edges
            The columns.
        rows : sequence of ndarray of int32, shape (k,)
            For each test the sorted indices of the edges it traversed.

        Raises
        ------
        ValueError
            When the evidence contains no edges.

        Examples
        --------
        >>> Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False]).require_edges()
        Traceback (most recent call last):
        ValueError: this spectrum contains no control-flow edges
        """
        if self.edges is None or self.edge_rows is None:
            raise ValueError("this spectrum contains no control-flow edges")
        return self.edges, self.edge_rows

    def edges_among(self, wanted: Bools, tests: Sequence[int]) -> Iterator[Row]:
        """Iterate over the wanted edges that some tests traversed; cancellable in between.

        Parameters
        ----------
        wanted : ndarray of bool, shape (edges,)
            The edges that are asked for.
        tests : sequence of int
            Row numbers.

        Returns
        -------
        iterator of ndarray of int32
            One array of column indices, in any order, for each of `tests`.

        Raises
        ------
        ValueError
            When the evidence contains no edges.

        Examples
        --------
        >>> from dataclasses import replace
        >>> none = np.zeros(3, int)
        >>> spectrum = replace(
        ...     Spectrum.from_matrix([[1, 1]], failed=[True]),
        ...     edges=Edges(none, np.array([-1, 1, 2]), np.array([1, 2, -1]), none), edge_rows=(np.array([0, 1, 2]),),
        ... )
        >>> [row.tolist() for row in spectrum.edges_among(np.array([False, True, True]), [0])]
        [[1, 2]]
        """
        _, rows = self.require_edges()
        if isinstance(rows, DerivedRows):
            return rows.among(wanted, tests)
        return (row[wanted[row]] for row in checked(rows[test] for test in tests))

    @cached_property
    def test_index(self) -> Mapping[str, int]:
        """Row number by test name."""
        return {name: i for i, name in enumerate(self.tests)}

    @CachedProperty
    def _failing_by_element(self) -> tuple[Ints, Ints]:
        """Failing tests by element, in compressed form: (start of each element's slice, row numbers)."""
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
        """Row numbers of the failing tests, sorted by name: the order of runs depends on workers and partial runs."""
        return sorted(np.flatnonzero(self.failed).tolist(), key=self.tests.__getitem__)

    @cached_property
    def failing_index(self) -> Mapping[str, int]:
        """Row number by name, of failing tests alone: there are few of them, so it is made quickly."""
        return {self.tests[test]: test for test in self._failing}

    def failing_tests(self, element: int) -> tuple[str, ...]:
        """Return the names of the failing tests that execute an element, sorted.

        Parameters
        ----------
        element : int
            Its column.

        Returns
        -------
        tuple of str
            Empty where only passing tests execute it, or none.

        Examples
        --------
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False], tests=["test_a", "test_b"])
        >>> spectrum.failing_tests(1), spectrum.failing_tests(2)
        (('test_a',), ())
        """
        return self.failing_tests_of([element])[0]

    def failing_tests_of(self, elements: Sequence[int]) -> list[tuple[str, ...]]:
        """Return the names of the failing tests that execute each of some elements, sorted.

        Parameters
        ----------
        elements : sequence of int
            Their columns.

        Returns
        -------
        list of tuple of str
            The names, for each of `elements`.

        Examples
        --------
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False], tests=["test_a", "test_b"])
        >>> spectrum.failing_tests_of([1, 2])
        [('test_a',), ()]
        """
        if len(elements) > _MANY or Spectrum._failing_by_element.peek(self) is not None:
            starts, tests = self._failing_by_element
            return [tuple([self.tests[i] for i in tests[starts[e] : starts[e + 1]].tolist()]) for e in elements]
        bad, wanted = self._failing, np.asarray(elements, np.int32)
        executed = np.ones((len(bad), len(wanted)), bool)
        some = self.counts.ef[wanted] < len(bad)  # of the others it is known that all execute them
        if some.any():
            executed[:, some] = [contains(self.rows[test], wanted[some]) for test in bad]
        names_of: dict[bytes, tuple[str, ...]] = {}  # most elements share their tests with others
        found = []
        for which in np.ascontiguousarray(executed.T):
            key = which.tobytes()
            if key not in names_of:
                names_of[key] = tuple([self.tests[i] for i in compress(bad, which.tolist())])
            found.append(names_of[key])
        return found

    @cached_property
    def changed_for(self) -> Ints:
        """For each element the failing tests that execute it and before which it changed; int32, shape (elements,)."""
        return tests_with_change(self.changed, self.tests, self.failed, self.rows, len(self.elements))

    @cached_property
    def changed_by_git_for(self) -> Ints:
        """Those of `changed_for` that are not known to have passed before; int32, shape (elements,)."""
        return tests_with_change(changes_by_git(self.changed), self.tests, self.failed, self.rows, len(self.elements))

    def tests_executing(self, element: int) -> Ints:
        """Return the row numbers of all tests that execute an element.

        Parameters
        ----------
        element : int
            Its column.

        Returns
        -------
        ndarray of int64, shape (k,)
            Ascending.

        Examples
        --------
        >>> Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False]).tests_executing(0).tolist()
        [0, 1]
        """
        return np.array([i for i, row in enumerate(self.rows) if contains(row, np.array([element]))[0]], np.int64)

    def with_rows(
        self,
        tests: Sequence[str],
        failed: Bools,
        rows: Sequence[Row],
        edge_rows: Sequence[Row] | None = None,
        edge_counts: Sequence[Ints] | None = None,
        runs: Sequence[Hashable] = (),
        raised: Ints | None = None,
        changed: Mapping[str, Row] | None = None,
    ) -> Spectrum:
        """Return the spectrum over the same elements after a change of tests.

        A row that is the same object as before counts as unchanged, so only changed rows are counted again.

        Parameters
        ----------
        tests : sequence of str
            Names of all tests after the change.
        failed : ndarray of bool, shape (tests,)
            Whether each failed.
        rows : sequence of ndarray of int32
            The elements that each executed, as in :class:`Spectrum`.
        edge_rows, edge_counts : sequence of ndarray of int, optional
            The edges that each traversed, where edges are known, and how often.
        runs : sequence of Hashable, optional
            Identifies the run of each test.
        raised : ndarray of int32, shape (tests,), optional
            The element in which each failed, where tracebacks are known.
        changed : mapping of str to ndarray of int32, optional
            What changed since failing tests passed, where that is known.

        Returns
        -------
        Spectrum
            With the elements, candidates and edges of this one.

        Examples
        --------
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> after = spectrum.with_rows(("t1",), spectrum.failed[:1], spectrum.rows[:1])
        >>> after.counts.ep.tolist()
        [0, 0, 0]
        """
        columns = self.elements, rows, self.candidates, self.edges, edge_rows, edge_counts
        after = Spectrum(tests, failed, *columns, runs, raised, changed or {})
        after.follow(self)
        return after

    def follow(self, previous: Spectrum) -> None:
        """Reuse the counts of a spectrum with the same columns; only added and removed rows are counted.

        A row that is the same object in both counts as unchanged. Counts that this spectrum has already are kept.

        Parameters
        ----------
        previous : Spectrum
            The state before a change.

        Examples
        --------
        >>> previous = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
        >>> counts = previous.counts
        >>> after = Spectrum(("t1",), previous.failed[:1], previous.elements, previous.rows[:1], previous.candidates)
        >>> after.follow(previous)
        >>> after.counts.ep.tolist(), after.counts.ef is counts.ef
        ([0, 0, 0], True)
        """
        counts, edge_counts = Spectrum.counts, Spectrum.edge_hit_counts
        before, edges_before = counts.peek(previous), edge_counts.peek(previous)
        if before is not None and counts.peek(self) is None:
            removed, added = row_changes(previous.rows, previous.failed, self.rows, self.failed)
            counts.give(self, before.updated(removed, added))
            pairs = Spectrum.pairs.peek(previous)  # they are updated when they are wanted
            useless = pairs is None or pairs.is_sparse or Spectrum.pairs.peek(self) is not None
            Spectrum._followed.give(self, Followed(before, [*removed, *added], None if useless else pairs))
        if edges_before is not None and edge_counts.peek(self) is None and self.edge_rows is not None:
            removed, added = row_changes(previous.edge_rows or (), previous.failed, self.edge_rows, self.failed)
            edge_counts.give(self, edges_before.updated(removed, added))

    def follow_files(self, previous: Spectrum) -> None:
        """Reuse the counts of a spectrum of which some files have changed.

        Columns of unchanged files are counted again only for added and removed tests, columns of changed files for all
        tests. Without `runs`, or where too much changed, nothing is reused.

        Parameters
        ----------
        previous : Spectrum
            The state before a change.
        """
        if not (self.runs and previous.runs):
            return
        old, new = same_files(previous.elements.versions, self.elements.versions)
        then, now = shared_numbers(*(zip(one.runs, one.failed.tolist(), strict=True) for one in (previous, self)))
        removed, added = difference((previous.rows, previous.failed, then), (self.rows, self.failed, now))
        if len(removed) + len(added) > len(now) // 2 or len(self.elements.files) - len(new) > _MANY_FILES:
            return
        if (before := Spectrum.counts.peek(previous)) is not None:
            moved = MovedFiles.between(previous.elements.file_start, self.elements.file_start, old, new)
            Spectrum.counts.give(self, moved.counts(before, removed, added, self.rows, self.failed))
        if (edges_before := Spectrum.edge_hit_counts.peek(previous)) is None:
            return
        old_edges, new_edges = previous._edges_by_file(), self._edges_by_file()
        if old_edges is not None and new_edges is not None:
            (old_starts, old_rows), (new_starts, new_rows) = old_edges, new_edges
            moved = MovedFiles.between(old_starts, new_starts, old, new)
            removed, added = difference((old_rows, previous.failed, then), (new_rows, self.failed, now))
            counts = moved.counts(edges_before, removed, added, new_rows, self.failed)
            Spectrum.edge_hit_counts.give(self, counts)

    def _edges_by_file(self) -> tuple[Ints, Sequence[Row]] | None:
        """The first edge of each file, and the edge rows; None where edges are not sorted by file."""
        if self.edges is None or self.edge_rows is None or np.any(np.diff(self.edges.file) < 0):
            return None
        return np.searchsorted(self.edges.file, np.arange(len(self.elements.files) + 1)), self.edge_rows
