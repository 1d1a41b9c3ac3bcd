"""The records that count as columns, which are updated after a change instead of being made again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suspectra.base.arrays import Row
from suspectra.evidence.evidence import Outcomes, TestResult
from suspectra.evidence.recording.layout import Layout
from suspectra.evidence.recording.records import Record, Rows
from suspectra.spectrum.changes import appended_to
from suspectra.spectrum.chunks import Chunks


class RecordTable:
    """Columns of the records that count."""

    def __init__(self) -> None:
        self._layout: Layout | None = None
        self._clear()

    def _clear(self) -> None:
        self._names: Chunks[str] = Chunks()
        self._failing = self._counted = self._is_notable = np.zeros(0, bool)
        self.records: Chunks[Record] = Chunks()
        self.results: Chunks[TestResult] = Chunks()
        self.decoded: list[Rows] = []
        self.rows: Chunks[Row] = Chunks()

    def update(self, records: Chunks[Record], layout: Layout) -> None:
        """Take over the present records."""
        removed = appended_to(self.records, records) if layout is self._layout else None
        if removed is None:
            self._clear()
        else:
            self._remove(removed)
        self._append(records[len(self.decoded) :])
        self.records, self._layout = records, layout

    def _remove(self, places: Sequence[int]) -> None:
        self._names, self.results, self.rows = (
            self._names.without(places),
            self.results.without(places),
            self.rows.without(places),
        )
        for place in reversed(places):
            del self.decoded[place]
        self._failing, self._counted, self._is_notable = (
            np.delete(column, places) for column in (self._failing, self._counted, self._is_notable)
        )

    def _append(self, records: Sequence[Record]) -> None:
        decoded = [_decoded(record) for record in records]
        results = [record.result for record in records]
        self.results = self.results.with_more(results)
        self.decoded += decoded
        self.rows = self.rows.with_more(one.row for one in decoded)
        new = Outcomes.from_tests(results)
        notable = np.array([record.stack is not None or not record.ended.passed for record in records], bool)
        self._names = self._names.with_more(new.names)
        self._failing = np.concatenate([self._failing, new.failing])
        self._counted = np.concatenate([self._counted, new.counted])
        self._is_notable = np.concatenate([self._is_notable, notable])

    @property
    def outcomes(self) -> Outcomes:
        """The names and verdicts of the tests."""
        return Outcomes(self._names, self._failing, self._counted)

    @property
    def notable(self) -> list[Record]:
        """The records of tests that do not pass, or have a stack."""
        return [self.records[place] for place in np.flatnonzero(self._is_notable).tolist()]


def _decoded(record: Record) -> Rows:
    if record.decoded is None:
        raise LookupError("a record that counts is decoded before it is used")
    return record.decoded
