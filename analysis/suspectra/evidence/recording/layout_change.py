"""Moving rows to new columns when the layout of a recording changes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Bools, Ints, Row, ranges
from suspectra.evidence.recording.decoder import Decoder
from suspectra.evidence.recording.layout import Layout
from suspectra.evidence.recording.records import Rows, Section

_FEW = 64  # with up to this many different shifts, slices are quicker than a table


class LayoutChange:
    """Maps the columns of one layout to those of the next."""

    def __init__(self, before: Layout, after: Layout):
        self.changed = {
            path
            for path in before.versions.keys() | after.versions.keys()
            if before.versions.get(path) is not after.versions.get(path)
        }
        kept = [path for path in before.versions if path not in self.changed]
        self._after = after
        self._statements = _Shift([(before.start[p], after.start[p], before.size[p]) for p in kept], before.columns)
        self._edges = None
        if before.with_edges:
            spans = [(before.edge_start[p], after.edge_start[p], before.edge_size[p]) for p in kept]
            self._edges = _Shift(spans, len(before.edge_table))
        self._touches: dict[Section, Bools] = {}
        self._plans: dict[Section, Decoder] = {}

    def moved(self, decoded: Rows, section: Section, rows: tuple[bytes, ...]) -> Rows | None:
        """Move rows to the columns of the new layout.

        The same arrays if no column moved. None if the rows had to be read from the log again, but are damaged there.
        """
        if decoded.damage or decoded.section is None:
            return None
        if self._changed_in(decoded.section)[decoded.touched].any():
            return self._decoded_again(decoded, section, rows)
        row = self._statements.remapped(decoded.row)
        edges = self._edges.remapped(decoded.edges) if self._edges else decoded.edges
        if row is decoded.row and edges is decoded.edges:
            return decoded
        return Rows(row, edges, decoded.times, decoded.stale, decoded.section, decoded.touched)

    def _changed_in(self, section: Section) -> Bools:
        """Whether each source of a section changed."""
        if section not in self._touches:
            changed = [m is None or m.measured.path in self.changed for m in section.maps]
            self._touches[section] = np.array(changed, bool)
        return self._touches[section]

    def _decoded_again(self, decoded: Rows, section: Section, rows: tuple[bytes, ...]) -> Rows | None:
        """Move the columns of unchanged sources, and decode those of changed sources again."""
        if section not in self._plans:
            only = set(np.flatnonzero(self._changed_in(section)).tolist())
            self._plans[section] = Decoder(section, self._after, only)
        try:
            own = self._plans[section].decode(*rows)
        except (ValueError, struct.error):
            return None
        row, _ = self._statements.staying(decoded.row)
        row = np.sort(np.concatenate([row, own.row]), kind="stable")
        stale = (*(path for path in decoded.stale if path not in self.changed), *own.stale)
        if not self._edges:
            return replace(decoded, row=row, stale=stale)
        edges, stays = self._edges.staying(decoded.edges)
        edges = np.concatenate([edges, own.edges])
        order = np.argsort(edges, kind="stable")
        times: Ints | None = None
        if decoded.times is not None and own.times is not None:
            times = np.concatenate([decoded.times[stays], own.times])[order]
        return replace(decoded, row=row, stale=stale, edges=edges[order], times=times)


class _Shift:
    """The new positions of the columns of unchanged sources, whose order is the same."""

    def __init__(self, spans: Sequence[tuple[int, int, int]], columns: int):
        old, new, size = np.array(spans, np.int64).reshape(-1, 3).T
        self._columns, self._spans = columns, (old, new, size)
        shift = new - old
        turns = np.flatnonzero(np.diff(shift, prepend=shift[:1] - 1))  # all columns in between have the same shift
        # int32 as in rows, which saves a copy
        self._from, self._by = old[turns].astype(np.int32), shift[turns].tolist()
        self._stays = not shift.any()

    def remapped(self, row: Row) -> Row:
        """Map a row with columns of unchanged sources only; the same array if no column moved."""
        if self._stays or not len(row):
            return row
        if len(self._by) > _FEW:
            moved = self._position[row]
            return row if np.array_equal(moved, row) else moved
        cuts = [*row.searchsorted(self._from).tolist(), len(row)]
        moved = row
        for by, start, end in zip(self._by, cuts, cuts[1:], strict=False):
            if by and start < end:
                moved = row.copy() if moved is row else moved
                moved[start:end] += by
        return moved

    def staying(self, row: Row) -> tuple[Row, Bools]:
        """Return the columns of unchanged sources in a row, at their new positions, and which columns these are."""
        position = self._position[row]
        stays = position >= 0
        return position[stays], stays

    @cached_property
    def _position(self) -> Row:
        old, new, size = self._spans
        position = np.full(self._columns, -1, np.int32)
        position[ranges(old, old + size)] = ranges(new, new + size)
        return position
