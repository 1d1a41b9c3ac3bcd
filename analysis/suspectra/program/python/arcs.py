"""Arcs that a recorder leaves out, because they follow from the executed statements.

A recorder that marks entries and decisions need not mark the other arcs: if a line has only one next line, a test that
executed both took the arc between them. This is wrong only for a line that raised on every visit while the next line
was reached in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import overload

import numpy as np
from scipy import sparse

from suspectra.base.arrays import Bools, IntMatrix, Ints, Row, ranges
from suspectra.base.cancellation import checked
from suspectra.program.file_cache import Remembered
from suspectra.program.file_parts import FilePart, file_parts
from suspectra.program.python.flow import PythonFlow
from suspectra.spectrum import Counts, Derived, DerivedRows, Edges, Elements, IntsT, Spectrum, Tally, batches

_EXIT = -1  # in place of an element: the arc leaves the scope
_Implied = tuple[Ints, ...]  # of each arc the lines and the statements at its ends, and its function
_MAX_CHAIN = 1_000  # length of a chain of lines with one next line each
_MAX_ONWARDS = 30_000_000  # entries of the matrix


class Completion:
    """The arcs that the statements imply, for one table of edges.

    The set of these arcs depends only on the sources; which of them a test took depends only on its own rows. So each
    test is completed once, and completed spectra share what did not change.
    """

    def __init__(self, elements: Elements, edges: Edges, flows: Mapping[int, PythonFlow | None]):
        file, arcs, source, target, function = _implied(elements, edges, flows)
        self._recorded = len(edges)
        self._source, self._target = source, np.where(target == _EXIT, source, target)
        self.edges = edges  # the given edges, followed by the implied ones
        if len(file):
            self.edges = Edges(
                np.append(edges.file, file).astype(np.int32),
                np.append(edges.source, arcs[:, 0]).astype(np.int32),
                np.append(edges.target, arcs[:, 1]).astype(np.int32),
                np.append(edges.function, function).astype(np.int32),
                edges.kind,
                conditions=edges.conditions,
            )
        self._arcs = _ArcsBySource.from_ends(source, self._target, len(elements))
        # an arc out of the scope is taken as often as its statement is executed
        self._leaving = np.flatnonzero(np.equal(target, _EXIT))
        self._tally = Tally(self._arcs.among(np.not_equal(target, _EXIT)).taken, len(source))

    def complete(self, spectrum: Spectrum) -> Spectrum:
        """Add the implied arcs of each test to a spectrum.

        The edge rows are derived on demand: all of them together would take more memory than what they follow from.

        It shares statements and outcomes with the given one, which is returned if no arc is implied.
        """
        if len(self.edges) == self._recorded:
            return spectrum
        recorded, implied = spectrum.edge_hit_counts, self._implied_counts(spectrum)
        _, rows = spectrum.require_edges()
        times = spectrum.edge_counts
        all_rows = _CompletedRows(self, spectrum)
        all_times = None
        if times is not None:
            all_times = _Completed(spectrum, times, partial(self._times, spectrum, rows, times))
        after = replace(spectrum, edges=self.edges, edge_rows=all_rows, edge_counts=all_times)
        Spectrum.counts.give(after, spectrum.counts)
        Spectrum.pairs.give(after, spectrum.pairs)
        ef, ep = np.concatenate([recorded.ef, implied.ef]), np.concatenate([recorded.ep, implied.ep])
        Spectrum.edge_hit_counts.give(after, Counts(ef, ep, recorded.failed, recorded.passed))
        return after

    def _implied_counts(self, spectrum: Spectrum) -> Counts:
        """The counts of each implied arc."""
        counts, executed = self._tally.counts(spectrum), spectrum.counts
        ef, ep = counts.ef.copy(), counts.ep.copy()
        ef[self._leaving] = executed.ef[self._source[self._leaving]]
        ep[self._leaving] = executed.ep[self._source[self._leaving]]
        return replace(counts, ef=ef, ep=ep)

    def _sorted(self, spectrum: Spectrum, tests: Sequence[int]) -> Iterator[Row]:
        return (np.sort(taken, kind="stable") for taken in self._arcs.taken(spectrum, tests))

    def rows(self, spectrum: Spectrum, rows: Sequence[Row], tests: Sequence[int]) -> list[Row]:
        """Return the arcs that some tests took, recorded and implied ones.

        Of shape (k,). One array of columns of `edges` for each of `tests`, ascending.
        """
        taken = self._sorted(spectrum, tests)
        return [np.concatenate([rows[test], row + self._recorded]) for test, row in zip(tests, taken, strict=True)]

    def among(self, wanted: Bools, spectrum: Spectrum, tests: Sequence[int]) -> Iterator[Row]:
        """Iterate over the wanted arcs that each test took.

        Of shape (k,). In any order, for each of `tests`.
        """
        recorded, implied = wanted[: self._recorded], wanted[self._recorded :]
        taken = self._arcs.among(implied).taken(spectrum, tests)
        _, rows = spectrum.require_edges()
        for test, row in zip(tests, taken, strict=True):
            own = rows[test]
            yield np.concatenate([own[recorded[own]], row + self._recorded])

    def _times(
        self, spectrum: Spectrum, rows: Sequence[Row], all_times: Sequence[Ints], tests: Sequence[int]
    ) -> list[Ints]:
        """How often some tests took each of their arcs."""
        times = [all_times[test] for test in tests]
        recorded = [rows[test] for test in tests]
        passing = self._passing(_by_test(recorded, self._recorded, times))
        scratch = np.zeros(len(self._source), np.int64)
        found: list[Ints] = []
        for number, (own, taken) in enumerate(zip(times, self._sorted(spectrum, tests), strict=True)):
            span = slice(*passing.indptr[number : number + 2])
            scratch[passing.indices[span]] = passing.data[span]
            found.append(np.concatenate([own, np.maximum(scratch[taken], 1)]).astype(np.int64))
            scratch[passing.indices[span]] = 0
        return found

    def _passing(self, recorded: IntMatrix) -> IntMatrix:
        """How often each run took each implied arc, as what enters a line also leaves it; shape (runs, implied)."""
        into, leaving, out = self._ways
        implied = self._recorded + np.arange(len(self._source))
        onwards = self._onwards
        if onwards is not None:
            return (recorded @ onwards).tocsr()
        recorded_in, recorded_out = recorded @ into[: self._recorded], recorded @ out[: self._recorded]
        into, leaving = into[implied], leaving[:, implied]
        passing = (recorded_in - recorded_out) @ leaving
        for _ in checked(range(len(implied))):  # up to the longest chain of implied arcs
            after = (recorded_in + passing @ into - recorded_out) @ leaving
            if not (after - passing).count_nonzero():
                break
            passing = after
        return passing.tocsr()

    @cached_property
    def _onwards(self) -> IntMatrix | None:
        """How often each implied arc is taken per traversal of a recorded one; None if that takes too much memory."""
        into, leaving, out = self._ways
        implied = slice(self._recorded, None)
        leaving = leaving[:, implied].tocsr()
        step = (into[implied] @ leaving).tocsr()
        term = whole = ((into[: self._recorded] - out[: self._recorded]) @ leaving).tocsr()
        for _ in checked(range(_MAX_CHAIN)):
            term = (term @ step).tocsr()
            if not term.nnz:
                return whole
            whole = whole + term
            if whole.nnz > _MAX_ONWARDS:
                return None
        return None

    @cached_property
    def _ways(self) -> tuple[IntMatrix, IntMatrix, IntMatrix]:
        """Three matrices: edges × lines entered, lines × implied edges that leave them, recorded edges × lines left."""
        edges = self.edges
        lines, ends = np.unique(np.stack([edges.file, edges.source], axis=1), axis=0, return_inverse=True)
        index = {tuple(line): i for i, line in enumerate(lines.tolist())}
        source = ends.reshape(-1)
        target = np.array([index.get(end, -1) for end in zip(edges.file.tolist(), edges.target.tolist(), strict=True)])
        inner = target >= 0
        recorded, implied = np.flatnonzero(~edges.is_outcome[: self._recorded]), np.arange(self._recorded, len(edges))
        size = len(edges), len(lines)
        into = sparse.csr_array((np.ones(inner.sum(), np.int64), (np.flatnonzero(inner), target[inner])), shape=size)
        ones = np.ones(len(implied), np.int64)
        leaving = sparse.csr_array((ones, (source[implied], implied)), shape=size[::-1])
        out = sparse.csr_array((np.ones(len(recorded), np.int64), (recorded, source[recorded])), shape=size)
        return into, leaving, out


class _Completed(Derived[IntsT]):
    """Arrays that are derived for each test on demand."""

    def __init__(self, spectrum: Spectrum, source: Sequence[Ints], work: Callable[[Sequence[int]], list[IntsT]]):
        self._spectrum, self._source, self._work = spectrum, source, work

    @property
    def source(self) -> Sequence[Ints]:
        return self._source

    def __len__(self) -> int:
        return len(self._spectrum.rows)

    @overload
    def __getitem__(self, test: int) -> IntsT: ...

    @overload
    def __getitem__(self, test: slice) -> list[IntsT]: ...

    def __getitem__(self, test: int | slice) -> IntsT | list[IntsT]:
        if isinstance(test, slice):
            return self._work(range(*test.indices(len(self))))
        return self._work([range(len(self))[test]])[0]

    def __iter__(self) -> Iterator[IntsT]:
        for tests in batches(self._spectrum):
            yield from self[tests]


class _CompletedRows(_Completed[Row], DerivedRows):
    """The rows of edges of a spectrum with the implied arcs."""

    def __init__(self, completion: Completion, spectrum: Spectrum):
        _, rows = spectrum.require_edges()
        super().__init__(spectrum, rows, partial(completion.rows, spectrum, rows))
        self._completion = completion

    def among(self, wanted: Bools, tests: Sequence[int]) -> Iterator[Row]:
        return self._completion.among(wanted, self._spectrum, tests)


@dataclass(frozen=True, eq=False)
class _ArcsBySource:
    """Implied arcs by the statements that they leave."""

    arcs: Ints  # indices of the arcs, sorted by the statement that they leave; shape (k,)
    first: Ints  # the first of each statement's arcs in `arcs`; shape (elements + 1,)
    target: Ints  # the statement that a test executes if it takes the arc from its source; shape (all implied arcs,)

    @classmethod
    def from_ends(cls, source: Ints, target: Ints, elements: int) -> _ArcsBySource:
        arcs = np.argsort(source, kind="stable").astype(np.int32)
        return cls(arcs, np.searchsorted(source[arcs], np.arange(elements + 1)).astype(np.int32), target)

    def among(self, wanted: Bools) -> _ArcsBySource:
        """Select some of the arcs."""
        if wanted.all():
            return self
        chosen = wanted[self.arcs]
        first = np.concatenate([[0], np.cumsum(chosen)]).astype(np.int32)[self.first]
        return _ArcsBySource(self.arcs[chosen], first, self.target)

    @cached_property
    def _leads_on(self) -> Bools:
        """Whether an arc leaves each statement; shape (elements,)."""
        return np.greater(self.first[1:], self.first[:-1])

    def taken(self, spectrum: Spectrum, tests: Sequence[int]) -> Iterator[Row]:
        """The arcs that each test took, in any order: those of which it executed both ends."""
        executed = np.zeros(len(spectrum.elements), bool)
        for row in checked(spectrum.rows[test] for test in tests):
            if not len(self.arcs):
                yield np.zeros(0, np.int32)
                continue
            row = row.astype(np.intp)  # numpy's own type of indices is several times as fast
            executed[row] = True
            leading = row.compress(self._leads_on.take(row))
            arcs = self.arcs.take(ranges(self.first.take(leading), self.first.take(leading + 1)))
            yield arcs.compress(executed.take(self.target.take(arcs)))
            executed[row] = False


def _by_test(rows: Sequence[Row], columns: int, values: Sequence[Ints] | None = None) -> IntMatrix:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    column = np.concatenate([np.zeros(0, np.int32), *rows])
    value = np.ones(len(column), bool) if values is None else np.concatenate([np.zeros(0, np.int64), *values])
    return sparse.csr_array((value, column, starts), shape=(len(rows), columns))


def _implied(elements: Elements, edges: Edges, flows: Mapping[int, PythonFlow | None]) -> tuple[Ints, ...]:
    """The file, lines, elements and function of each implied arc."""
    parts = [(np.zeros(0, int), np.zeros((0, 2), int), *[np.zeros(0, int)] * 3)]
    _implied_in.begin()
    for part in checked(file_parts(elements, edges)):
        flow = flows.get(part.file)
        implied = _implied_in(flow, part) if flow is not None else None
        if implied is None or not len(implied[0]):
            continue
        arcs, source, target, function = implied
        source, target = source + part.first_element, np.where(target == _EXIT, _EXIT, target + part.first_element)
        function = np.where(function >= 0, function + part.first_function, -1)
        parts.append((np.full(len(arcs), part.file), arcs, source, target, function))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


@Remembered
def _implied_in(flow: PythonFlow, part: FilePart) -> _Implied:
    """The implied arcs of one file, with indices within the file."""
    arcs, scope = _single_ways(flow)
    source, target = part.elements_at(arcs[:, 0]), part.elements_at(arcs[:, 1])
    leaves = arcs[:, 1] < 0
    found = (part.numbers_of(arcs) < 0) & (source >= 0) & (leaves | (target >= 0))
    known = part.function_of_line
    function = np.array([known.get(s.line, -1) if s.is_function else -1 for s in flow.scopes], np.int32)
    return arcs[found], source[found], np.where(leaves, _EXIT, target)[found], function[scope[found]]


def _single_ways(flow: PythonFlow) -> tuple[Ints, Ints]:
    """The usual arcs out of lines without a decision, and the scope of each.

    Arcs that leave a scope count only if the line has no other arc. Sorted by scope, then by line.
    """
    header = np.array([scope.header for scope in flow.scopes], np.int32)
    scope = flow.scope_of_arc
    usual = np.flatnonzero(~flow.rare & (flow.ends[:, 0] > header[scope]) & ~flow.decides)
    line = scope[usual] << 32 | flow.ends[usual, 0].astype(np.int64)
    _, first, of_line, ways = np.unique(line, return_index=True, return_inverse=True, return_counts=True)
    of_line = of_line.reshape(-1)
    order = np.argsort(first[of_line], kind="stable")
    chosen = order[(flow.ends[usual[order], 1] > 0) | (ways[of_line[order]] == 1)]
    return flow.ends[usual[chosen]], scope[usual[chosen]]
