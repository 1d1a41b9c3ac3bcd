"""Arcs a recorder leaves out, because they follow from which statements were executed.

A recorder that marks entries and decisions need not mark the other ways: where a line goes on to a single other one,
a test that executed both went from the one to the other. Only a line that raised on every visit, before a line that was
reached otherwise, is taken wrongly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from scipy import sparse

from suspectra.program.python_flow import Arc, PythonFlow, Scope
from suspectra.spectrum import Edges, Elements, Spectrum

_EXIT = -1  # for an element: an arc that leaves the scope
_Implied = list[tuple[int, Arc, int, int, int]]  # file, arc, elements at its ends, function


def completed(spectrum: Spectrum, flows: Mapping[int, PythonFlow | None]) -> Spectrum:
    """The spectrum with the arcs that its statements imply.

    Parameters
    ----------
    spectrum : Spectrum
        With edges that are arcs.
    flows : mapping of int to PythonFlow
        By file; files without a flow stay as they are.

    Returns
    -------
    Spectrum
        Its edges begin with those of `spectrum`.
    """
    implied = _implied(spectrum, flows)
    if not implied:
        return spectrum
    file, arcs, source, target, function = (np.array(part) for part in zip(*implied, strict=True))
    old = spectrum.edges
    edges = Edges(
        np.append(old.file, file).astype(np.int32),
        np.append(old.source, arcs[:, 0]).astype(np.int32),
        np.append(old.target, arcs[:, 1]).astype(np.int32),
        np.append(old.function, function).astype(np.int32),
        old.kind,
    )
    starts = np.concatenate([[0], np.cumsum([len(row) for row in spectrum.rows])])
    columns = np.concatenate([np.zeros(0, np.int32), *spectrum.rows])
    shape = len(spectrum.tests), len(spectrum.elements) + 1
    executed = sparse.csr_array((np.ones(len(columns), bool), columns, starts), shape=shape)
    left, right = executed[:, source], executed[:, np.where(target == _EXIT, source, target)]
    hits = left.multiply(right).tocsr()
    hits.sort_indices()
    taken = [hits.indices[a:b] + len(old) for a, b in zip(hits.indptr, hits.indptr[1:], strict=False)]
    rows = tuple(
        np.concatenate([row, more]).astype(np.int32) for row, more in zip(spectrum.edge_rows, taken, strict=True)
    )
    counts = None
    if spectrum.edge_counts is not None:
        passing = _passing(spectrum, edges, len(old))
        counts = tuple(
            np.concatenate([own, np.maximum(passing[[test]][:, more].todense().ravel(), 1)]).astype(np.int64)
            for test, (own, more) in enumerate(zip(spectrum.edge_counts, taken, strict=True))
        )
    return replace(spectrum, edges=edges, edge_rows=rows, edge_counts=counts)


def _implied(spectrum: Spectrum, flows: Mapping[int, PythonFlow | None]) -> _Implied:
    elements, edges = spectrum.elements, spectrum.edges
    functions = {(function.file, function.line): i for i, function in enumerate(elements.functions)}
    found: _Implied = []
    for file, flow in flows.items():
        if flow is None:
            continue
        own = np.flatnonzero(edges.file == file)
        told = set(zip(edges.source[own].tolist(), edges.target[own].tolist(), strict=True))
        element = _element_of_line(elements, file)
        for scope in flow.scopes:
            function = functions.get((file, scope.line), -1) if scope.is_function else -1
            for arc in _single_ways(scope):
                ends = element.get(arc[0]), _EXIT if arc[1] < 0 else element.get(arc[1])
                if arc not in told and None not in ends:
                    found.append((file, arc, *ends, function))
    return found


def _element_of_line(elements: Elements, file: int) -> dict[int, int]:
    span = elements.of_file(elements.files[file])
    return dict(zip(elements.line[span].tolist(), range(span.start, span.stop), strict=True))


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


def _passing(spectrum: Spectrum, edges: Edges, told: int) -> sparse.csr_array:
    """How often each run went each way, by what enters lines leaving them again; shape (runs, edges)."""
    lines, ends = np.unique(np.stack([edges.file, edges.source], axis=1), axis=0, return_inverse=True)
    place = {tuple(line): i for i, line in enumerate(lines.tolist())}
    source = ends.reshape(-1)
    target = np.array([place.get(end, -1) for end in zip(edges.file.tolist(), edges.target.tolist(), strict=True)])
    inner = target >= 0
    size = len(edges), len(lines)
    into = sparse.csr_array((np.ones(inner.sum(), np.int64), (np.flatnonzero(inner), target[inner])), shape=size)
    implied = np.arange(told, len(edges))
    leaving = sparse.csr_array((np.ones(len(implied), np.int64), (source[implied], implied)), shape=size[::-1])
    starts = np.concatenate([[0], np.cumsum([len(row) for row in spectrum.edge_rows])])
    columns = np.concatenate([np.zeros(0, np.int64), *spectrum.edge_rows])
    times = np.concatenate([np.zeros(0, np.int64), *spectrum.edge_counts])
    known = sparse.csr_array((times, columns, starts), shape=(len(spectrum.tests), len(edges)))
    out = sparse.csr_array((np.ones(told, np.int64), (np.arange(told), source[:told])), shape=size)
    told_out = known @ out
    passing = known
    for _ in range(len(implied) + 1):  # as far as ways without a decision follow one another
        after = known + (passing @ into - told_out) @ leaving
        if (after != passing).nnz == 0:
            break
        passing = after
    return passing.tocsr()
