"""Adding to a spectrum the definitions that failing tests read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from suspectra.base.arrays import Ints, Row
from suspectra.base.cancellation import checked
from suspectra.program.python.definitions import Definitions
from suspectra.spectrum import Spectrum, SpectrumWithUses
from suspectra.spectrum.rows import contains


def with_uses(spectrum: Spectrum, definitions: Definitions, previous: Spectrum | None = None) -> Spectrum:
    """Add the definitions that failing tests read.

    A SpectrumWithUses, or `spectrum` itself where failing tests read no definition but those that they execute.
    """
    if not len(definitions.reader):
        return spectrum
    before = previous if isinstance(previous, SpectrumWithUses) and previous.definition is definitions.element else None
    read = _read(spectrum, definitions, before.read if before is not None else {})
    failing = np.flatnonzero(spectrum.failed).tolist()
    only_read = np.zeros(len(spectrum.elements), bool)
    for test in failing:
        only_read[definitions.element[read[id(spectrum.rows[test])]]] = True
    only_read &= spectrum.candidates & (spectrum.counts.ef == 0)
    if not only_read.any():
        return spectrum
    known: dict[int, Row] = {}
    if before is not None and np.array_equal(before.only_read, only_read):
        extended = np.flatnonzero(before.failed).tolist()  # other rows are those of what is executed
        known = {id(before.executed.rows[test]): before.rows[test] for test in extended}
    rows = list(spectrum.rows)
    for test in failing:
        own = rows[test]
        more = definitions.element[read[id(own)]]
        row = known.get(id(own), own)
        rows[test] = np.union1d(own, more[only_read[more]]).astype(np.int32) if row is own else row
    rest = {field.name: getattr(spectrum, field.name) for field in fields(Spectrum) if field.name != "rows"}
    return SpectrumWithUses(
        **rest, rows=tuple(rows), executed=spectrum, definition=definitions.element, read=read, only_read=only_read
    )


def _read(spectrum: Spectrum, definitions: Definitions, known: Mapping[int, Ints]) -> dict[int, Ints]:
    """By the id of each row, the definitions that its test reads and does not execute."""
    reads = np.zeros(len(spectrum.elements), bool)
    reads[definitions.reader] = True
    read = {}
    for row in checked(spectrum.rows):
        found = known.get(id(row))
        if found is None:
            found = definitions.read_by(row[reads[row]])
            found = found[~contains(row, definitions.element[found])]
        read[id(row)] = found
    return read
