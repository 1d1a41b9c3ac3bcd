"""Decoding packed cells to the columns of a layout."""

from __future__ import annotations

import struct
from collections.abc import Callable, Container, Iterator, Sequence

import numpy as np

from suspectra.base.arrays import Bools, Ints, Row
from suspectra.evidence.recording.layout import Layout
from suspectra.evidence.recording.records import EMPTY, Rows, Section
from suspectra.evidence.recording.source_map import SourceMap
from suspectra.evidence.recording.versions import remapped
from suspectra_recorder.log.history import inflate

_COUNT = np.dtype("<u8")
_MAX_COUNT = 1 << 40  # far more than any test has, and sums of such numbers do not overflow


class Decoder:
    """Maps the cells of one section to the columns of a layout."""

    def __init__(self, section: Section, layout: Layout, only: Container[int] | None = None):
        self.section = section  # the section of the rows
        self.maps = maps = tuple(section.maps)
        self.sources = len(maps)
        self.layout = layout  # the columns
        self.only = only  # indices of the sources to decode; all unless given
        self.sizes = np.array([m.cells // 8 if m is not None else 0 for m in maps], np.int64)
        self.total = int(self.sizes.sum())
        self.damaged = {number for number, m in enumerate(maps) if m is None}
        self.stale: dict[int, tuple[str, Ints]] = {}  # path, and the cells of changed code
        self._shared: dict[bytes, Rows] = {}
        self.statements = _Gather([self._facts(n, self._statement_facts) for n in range(self.sources)])
        self.edges = None
        if layout.with_edges:
            self.edges = _Gather([self._facts(n, self._edge_facts) for n in range(self.sources)])

    def _facts(self, number: int, facts: Callable[[int, SourceMap, SourceMap], tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
        source = self.maps[number] if self.only is None or number in self.only else None
        if source is None or not source.traced:
            return EMPTY, EMPTY
        current = self.layout.versions.get(source.measured.path)
        return facts(number, source, current) if current is not None else (EMPTY, EMPTY)

    def _statement_facts(self, number: int, source: SourceMap, current: SourceMap) -> tuple[Ints, Ints]:
        start = self.layout.start[source.measured.path]
        cell, statement = source.statement_facts
        if source is not current:
            if source.measured.digest != current.measured.digest:
                self.stale[number] = source.measured.path, remapped(source, current).doubtful
            statement = remapped(source, current).statement[statement]
            cell, statement = cell[statement >= 0], statement[statement >= 0]
        return cell, statement + start

    def _edge_facts(self, number: int, source: SourceMap, current: SourceMap) -> tuple[Ints, Ints]:
        if source is current:
            return self.layout.edges_of[source.measured.path]
        mapping = remapped(source, current)
        return mapping.arc_cell, mapping.arc + self.layout.edge_start[source.measured.path]

    def decode(self, rows: bytes, *shared: bytes) -> Rows:
        """Decode the rows of a record, and add those that it shares with others.

        Raises ValueError, struct.error when the rows are damaged.
        """
        decoded = self._decoded(rows)
        for more in shared:
            if more not in self._shared:
                self._shared[more] = self._decoded(more)
            decoded = _union(decoded, self._shared[more])
        return decoded

    def _decoded(self, rows: bytes) -> Rows:
        data = inflate(rows, 4 + 4 * self.sources + self.total * (1 + 8 * _COUNT.itemsize))
        (count,) = struct.unpack_from("<I", data)
        if count > self.sources:
            raise ValueError("more sources than there are")
        numbers = struct.unpack_from(f"<{count}I", data, 4)
        if numbers and (max(numbers) >= self.sources or len(set(numbers)) != count):
            raise ValueError("sources that are not there")
        if not self.damaged.isdisjoint(numbers):
            raise ValueError("a source whose map is damaged")
        touched = np.array(numbers, np.int32)
        sizes = self.sizes[touched]
        head, size = 4 + 4 * count, int(sizes.sum())
        if len(data) < head + size:
            raise ValueError("a wrong number of bits")
        # each column looks at its cell, so nothing has to be sorted
        fired = np.unpackbits(np.frombuffer(data, np.uint8, size, head)).view(bool)
        starts = 8 * (sizes.cumsum() - sizes)
        stale = tuple(self._stale(touched, starts, fired)) if self.stale else ()
        times = _times(data[head + size :], fired)
        row, _ = self.statements.columns_of(touched, starts, fired)
        if self.edges is None:
            return Rows(row, EMPTY, None, stale, self.section, touched)
        edges, passed = self.edges.columns_of(touched, starts, fired, times)
        return Rows(row, edges, passed, stale, self.section, touched)

    def _stale(self, touched: Ints, starts: Ints, fired: Bools) -> Iterator[str]:
        """The sources in which the test executed code that has changed."""
        for number, start in zip(touched.tolist(), starts.tolist(), strict=True):
            if number in self.stale:
                path, cells = self.stale[number]
                if fired[start + cells].any():
                    yield path


def _union(one: Rows, other: Rows) -> Rows:
    row = np.unique(np.concatenate([one.row, other.row]))
    edges, at = np.unique(np.concatenate([one.edges, other.edges]), return_inverse=True)
    times: Ints | None = None
    if one.times is not None and other.times is not None:
        times = np.zeros(len(edges), np.int64)
        np.add.at(times, at, np.concatenate([one.times, other.times]))
    stale = tuple(dict.fromkeys((*one.stale, *other.stale)))
    return Rows(row, edges, times, stale, one.section, np.union1d(one.touched, other.touched))


def _times(data: bytes, fired: Bools) -> Ints | None:
    """How often each cell was passed, None if the recorder did not count.

    Raises ValueError when the data is neither empty nor has a count for each set cell.
    """
    cells = int(np.count_nonzero(fired))
    if not data and cells:
        return None
    if len(data) != cells * _COUNT.itemsize:
        raise ValueError("a wrong number of bits or counts")
    times = np.zeros(len(fired), np.int64)
    times[fired] = np.clip(np.frombuffer(data, _COUNT), 1, _MAX_COUNT).astype(np.int64)
    return times


class _Gather:
    """Maps set cells to sorted columns.

    Columns look up their cells, source by source in the order of the columns. So nothing has to be sorted, and only the
    sources that a test touched are read.
    """

    def __init__(self, facts: Sequence[tuple[Ints, Ints]]):
        orders = [np.argsort(column, kind="stable") for _, column in facts]
        ordered = [(cell[o], column[o]) for (cell, column), o in zip(facts, orders, strict=True)]
        self.sizes = np.array([len(cell) for cell, _ in ordered], np.int64)
        self.cells = [cell.astype(np.int32) for cell, _ in ordered]
        self.columns = [column.astype(np.int32) for _, column in ordered]
        self.repeats = any(np.any(column[1:] == column[:-1]) for _, column in ordered)
        first = np.array([column[0] if len(column) else -1 for _, column in ordered], np.int64)
        # sources are numbered in the order of loading, columns in the order of paths
        self.place = np.empty(len(first), np.int64)
        self.place[np.argsort(first, kind="stable")] = np.arange(len(first))

    def columns_of(
        self, touched: Ints, starts: Ints, fired: Bools, times: Ints | None = None
    ) -> tuple[Row, Ints | None]:
        """Return the columns of set cells, sorted and without repetition, and how often each was passed."""
        order = self.place[touched].argsort()
        sources = touched[order].tolist()
        if not sources:
            return EMPTY, None if times is None else np.zeros(0, np.int64)
        # concatenating the arrays of sources is faster than looking at each cell
        cells = np.concatenate([self.cells[n] for n in sources], dtype=np.intp)
        cells += np.repeat(starts[order], self.sizes[sources])
        met = fired.take(cells)
        row = np.concatenate([self.columns[n] for n in sources]).compress(met)
        passed = times.take(cells.compress(met)) if times is not None else None
        if self.repeats and len(row):
            first = np.concatenate([[True], row[1:] != row[:-1]]).nonzero()[0]
            row = row.take(first)
            passed = np.add.reduceat(passed, first) if passed is not None else None
        return row, passed
