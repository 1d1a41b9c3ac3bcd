"""Arcs a recorder leaves out, because they follow from which statements were executed.

A recorder that marks entries and decisions need not mark the other ways: where a line goes on to a single other one,
a test that executed both went from the one to the other. Only a line that raised on every visit, before a line that was
reached otherwise, is taken wrongly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise, repeat

import numpy as np
from scipy import sparse

from suspectra.program.file_parts import FilePart, file_parts
from suspectra.program.python_flow import Arc, PythonFlow, Scope
from suspectra.program.remembered import Remembered
from suspectra.spectrum import Edges, Elements, PerTest, Row, Spectrum

_EXIT = -1  # for an element: an arc that leaves the scope
_Implied = tuple[tuple[Arc, int, int, int], ...]  # arc, statements at its ends, function


class Completion:
    """The arcs that the statements imply, for one table of edges.

    Which these are follows from the sources alone; which of them a test took, from its own rows. So each test is
    completed once, and what did not change between two spectra is shared between the completed ones.

    Parameters
    ----------
    elements : Elements
    edges : Edges
        Arcs.
    flows : mapping of int to PythonFlow
        By file; files without a flow stay as they are.

    Attributes
    ----------
    edges : Edges
        Those given, and behind them the implied ones.
    """

    def __init__(self, elements: Elements, edges: Edges, flows: Mapping[int, PythonFlow | None]):
        file, arcs, source, target, function = _implied(elements, edges, flows)
        self._told = len(edges)
        self._source, self._target = source, np.where(target == _EXIT, source, target)
        self.edges = edges
        if len(file):
            self.edges = Edges(
                np.append(edges.file, file).astype(np.int32),
                np.append(edges.source, arcs[:, 0]).astype(np.int32),
                np.append(edges.target, arcs[:, 1]).astype(np.int32),
                np.append(edges.function, function).astype(np.int32),
                edges.kind,
                conditions=edges.conditions,
            )
        self._taken = PerTest(self._complete)
        self._last: Spectrum | None = None

    def of(self, spectrum: Spectrum) -> Spectrum:
        """A spectrum over the table with the implied arcs of each test; itself where none are implied."""
        if len(self.edges) == self._told:
            return spectrum
        taken = self._taken.of(spectrum)
        rows = tuple([row for row, _ in taken])
        counts = tuple([times for _, times in taken]) if spectrum.edge_counts is not None else None
        after = replace(spectrum, edges=self.edges, edge_rows=rows, edge_counts=counts)
        after.__dict__["counts"], after.__dict__["pairs"] = spectrum.counts, spectrum.pairs
        if self._last is not None:
            after.follow(self._last)
        self._last = after
        return after

    def _complete(self, spectrum: Spectrum, tests: list[int]) -> Iterator[tuple[Row, np.ndarray | None]]:
        executed = _by_test([spectrum.rows[test] for test in tests], len(spectrum.elements))
        told = [spectrum.edge_rows[test] for test in tests]
        hits = executed[:, self._source].multiply(executed[:, self._target]).tocsr()
        hits.sort_indices()
        taken = [hits.indices[a:b] + self._told for a, b in pairwise(hits.indptr)]
        rows = [np.concatenate([row, more]).astype(np.int32) for row, more in zip(told, taken, strict=True)]
        if spectrum.edge_counts is None:
            return zip(rows, repeat(None))
        times = [spectrum.edge_counts[test] for test in tests]
        passing = self._passing(_by_test(told, len(self.edges), times))
        more = (passing[[test]][:, columns].todense().ravel() for test, columns in enumerate(taken))
        return (
            (row, np.concatenate([own, np.maximum(implied, 1)]).astype(np.int64))
            for row, own, implied in zip(rows, times, more, strict=True)
        )

    def _passing(self, known: sparse.csr_array) -> sparse.csr_array:
        """How often each run went each way, by what enters lines leaving them again; shape (runs, edges)."""
        into, leaving, out = self._ways
        told_out = known @ out
        passing = known
        for _ in range(len(self.edges) - self._told + 1):  # as far as ways without a decision follow one another
            after = known + (passing @ into - told_out) @ leaving
            if (after != passing).nnz == 0:
                break
            passing = after
        return passing.tocsr()

    @cached_property
    def _ways(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        """Edges into lines, lines and the implied edges out of them, edges that are told and the lines they leave."""
        edges = self.edges
        lines, ends = np.unique(np.stack([edges.file, edges.source], axis=1), axis=0, return_inverse=True)
        place = {tuple(line): i for i, line in enumerate(lines.tolist())}
        source = ends.reshape(-1)
        target = np.array([place.get(end, -1) for end in zip(edges.file.tolist(), edges.target.tolist(), strict=True)])
        inner = target >= 0
        told, implied = np.flatnonzero(~edges.is_outcome[: self._told]), np.arange(self._told, len(edges))
        size = len(edges), len(lines)
        into = sparse.csr_array((np.ones(inner.sum(), np.int64), (np.flatnonzero(inner), target[inner])), shape=size)
        ones = np.ones(len(implied), np.int64)
        leaving = sparse.csr_array((ones, (source[implied], implied)), shape=size[::-1])
        out = sparse.csr_array((np.ones(len(told), np.int64), (told, source[told])), shape=size)
        return into, leaving, out


def _by_test(rows: Sequence[Row], columns: int, values: Sequence[np.ndarray] | None = None) -> sparse.csr_array:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    column = np.concatenate([np.zeros(0, np.int32), *rows])
    value = np.ones(len(column), bool) if values is None else np.concatenate([np.zeros(0, np.int64), *values])
    return sparse.csr_array((value, column, starts), shape=(len(rows), columns))


def _implied(elements: Elements, edges: Edges, flows: Mapping[int, PythonFlow | None]) -> tuple[np.ndarray, ...]:
    """File, arc, elements at its ends and function of each implied arc."""
    parts = [(np.zeros(0, int), np.zeros((0, 2), int), *[np.zeros(0, int)] * 3)]
    _implied_in.begin()
    for part in file_parts(elements, edges):
        flow = flows.get(part.file)
        implied = _implied_in(flow, part) if flow is not None else ()
        if not implied:
            continue
        arcs, source, target, function = (np.array(column) for column in zip(*implied, strict=True))
        source, target = source + part.first_element, np.where(target == _EXIT, _EXIT, target + part.first_element)
        function = np.where(function >= 0, function + part.first_function, -1)
        parts.append((np.full(len(arcs), part.file), arcs, source, target, function))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


@Remembered
def _implied_in(flow: PythonFlow, part: FilePart) -> _Implied:
    """The implied arcs of one file, in its own numbers."""
    told, element, functions = part.arcs, part.element_of_line, part.function_of_line
    found = []
    for scope in flow.scopes:
        function = functions.get(scope.line, -1) if scope.is_function else -1
        for arc in _single_ways(scope):
            ends = element.get(arc[0]), _EXIT if arc[1] < 0 else element.get(arc[1])
            if arc not in told and None not in ends:
                found.append((arc, *ends, function))
    return tuple(found)


def _single_ways(scope: Scope) -> Iterator[Arc]:
    """The usual ways out of lines that decide nothing; out of the scope only where there is no other way."""
    after: dict[int, list[int]] = defaultdict(list)
    for (source, target), rare in scope.arcs.items():
        if not rare and source > scope.header and source not in scope.decisions:
            after[source].append(target)
    for source, targets in after.items():
        for target in targets:
            if target > 0 or len(targets) == 1:
                yield source, target
