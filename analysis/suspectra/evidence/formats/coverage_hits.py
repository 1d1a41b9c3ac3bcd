"""Hits: which statements and arcs of measured files each test executed, as coverage.py counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Ints, Row, distinct
from suspectra.evidence.evidence import EdgeEvidence
from suspectra.evidence.formats.coverage_data import (
    MAX_LINES,
    MeasuredData,
)
from suspectra.program.python.source import PythonSource
from suspectra.runs.measured_file import MeasuredFile
from suspectra.spectrum import Edges


@dataclass(frozen=True)
class FileHits:
    """Executed lines and arcs of one file, as in coverage.py's data."""

    # pairs of a test's row and a line that it executed, without repetition; shape (k,)
    line_row: Ints
    line: Ints
    # rows of tests, with the arcs that they executed; shape (m,)
    arc_row: Ints
    source: Ints
    target: Ints

    @classmethod
    def joined(cls, parts: Sequence[FileHits]) -> FileHits:
        """Put the hits of one file from several data files together."""
        if len(parts) == 1:
            return parts[0]
        names = ("line_row", "line", "arc_row", "source", "target")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @classmethod
    def from_data(cls, data: MeasuredData, identifier: int, row_of: Callable[[Ints], Ints]) -> FileHits:
        """Read the hits of a file."""
        nothing = np.zeros(0, np.int64)
        if data.has_arcs:
            contexts, source, target = data.arcs(identifier)
            row = row_of(contexts)
            known = row >= 0
            row, source, target = row[known], source[known], target[known]
            lines = np.concatenate([source, target])
            return cls(*_distinct(np.concatenate([row, row]), lines), row, source, target)
        pieces = [(row_of(contexts), line) for contexts, line in data.lines(identifier)]
        rows = np.concatenate([row for row, _ in pieces]) if pieces else nothing
        lines = np.concatenate([line for _, line in pieces]) if pieces else nothing
        return cls(*_distinct(rows, lines), nothing, nothing, nothing)


class Hits:
    """Collects the hits of files, and builds rows."""

    def __init__(self, rows: int):
        self._rows = rows
        self.files: list[MeasuredFile] = []  # the files that were added
        self.count = 0  # the number of executed (test, statement) pairs
        self.too_long: list[str] = []  # files with executed lines past their end
        self._statements = 0
        self._hits: list[tuple[Ints, Ints]] = []
        self._edges: list[tuple[int, Ints, Ints]] = []
        self._edge_hits: list[tuple[Ints, Ints]] = []
        self._edge_count = 0

    def add(self, path: str, source: PythonSource | None, hits: FileHits, digest: str | None = None) -> None:
        """Add one file."""
        if source is None:
            line = distinct(hits.line).astype(np.int32)
            file = MeasuredFile(path, digest, line, line, np.full(len(line), -1, np.int32), ())
            index: Ints = np.searchsorted(line, hits.line)
        else:
            file = MeasuredFile(path, digest, source.line, source.end_line, source.function, source.functions)
            index = source.statements_of(hits.line)
            if len(hits.line) and hits.line.max() > source.line_count:
                self.too_long.append(path)
        known = index >= 0
        row, column = _pairs(hits.line_row[known], index[known], max(len(file.line), 1))
        self._hits.append((row, column + self._statements))
        self._add_edges(file, source, hits)
        self.files.append(file)
        self._statements += len(file.line)
        self.count += len(row)

    def _add_edges(self, file: MeasuredFile, source: PythonSource | None, hits: FileHits) -> None:
        first, second = hits.source, hits.target
        if source is not None:
            first, second = source.first_lines(first), source.first_lines(second)
        keep = first != second  # drop arcs within one multi-line statement
        keys, index = np.unique(
            (first[keep] + MAX_LINES) * (2 * MAX_LINES) + second[keep] + MAX_LINES, return_inverse=True
        )
        row, column = _pairs(hits.arc_row[keep], index, max(len(keys), 1))
        self._edge_hits.append((row, column + self._edge_count))
        self._edges.append((len(self.files), keys // (2 * MAX_LINES) - MAX_LINES, keys % (2 * MAX_LINES) - MAX_LINES))
        self._edge_count += len(keys)

    def rows(self) -> tuple[Row, ...]:
        """Build the rows over the statements of all files.

        Of shape (k,). The sorted indices of each row's statements.
        """
        return _split(self._hits, self._rows)

    def edges(self) -> EdgeEvidence:
        """Convert the arcs to edges.

        Each edge has the function that it leaves or enters. The first row, which is not of a test, is left out.
        """
        offsets = np.cumsum([0, *(len(file.functions) for file in self.files)])
        functions = []
        for number, source, target in self._edges:
            file = self.files[number]
            inner = np.maximum(_function_at(file, source), _function_at(file, target))
            functions.append(np.where(inner >= 0, inner + offsets[number], -1))

        def column(parts: Iterable[Ints]) -> Ints:
            parts = list(parts)
            return np.concatenate(parts).astype(np.int32) if parts else np.zeros(0, np.int32)

        return EdgeEvidence(
            Edges(
                column(np.full(len(source), number) for number, source, _ in self._edges),
                column(source for _, source, _ in self._edges),
                column(target for _, _, target in self._edges),
                column(functions),
            ),
            _split(self._edge_hits, self._rows)[1:],
        )


def _pairs(row: Ints, column: Ints, columns: int) -> tuple[Ints, Ints]:
    keys = distinct(row * columns + column)
    return (keys // columns).astype(np.int32), keys % columns


def _split(pieces: Sequence[tuple[Ints, Ints]], rows: int) -> tuple[Row, ...]:
    """Split pairs (row, column), with columns ascending from piece to piece, into one sorted array for each row."""
    row = np.concatenate([part for part, _ in pieces]) if pieces else np.zeros(0, np.int32)
    column = np.concatenate([part for _, part in pieces]) if pieces else np.zeros(0, np.int32)
    order = np.argsort(row, kind="stable")
    ends = np.searchsorted(row[order], np.arange(rows + 1))
    column = column[order].astype(np.int32)
    return tuple(column[ends[i] : ends[i + 1]].copy() for i in range(rows))


def _function_at(file: MeasuredFile, line: Ints) -> Ints:
    """The function of the statement at each line, -1 for entries, exits and unknown lines."""
    if not len(file.line):
        return np.full(len(line), -1)
    index = np.minimum(np.searchsorted(file.line, line), len(file.line) - 1)
    return np.where(file.line[index] == line, file.function[index], -1)


def _distinct(row: Ints, line: Ints) -> tuple[Ints, Ints]:
    """The distinct pairs of a known row and a line number, sorted."""
    keep = (row >= 0) & (line > 0)
    keys = distinct(row[keep].astype(np.int64) * (2 * MAX_LINES) + line[keep])
    return keys // (2 * MAX_LINES), keys % (2 * MAX_LINES)
