"""The map of one version of a source: its statements, and the meaning of the cells of its probes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.evidence.recording.recorded_file import RecordedFile
from suspectra.spectrum import FIRST_OUTCOME
from suspectra_recorder.instrumentation.outline import Outline
from suspectra_recorder.instrumentation.probes import Kind
from suspectra_recorder.log.frames import split_json
from suspectra_recorder.log.history import inflate
from suspectra_recorder.log.reader import Source

_MAX_MAP = 1 << 27
_ARCS = (Kind.ENTRY, Kind.ARM, Kind.FLOW)
_OUTCOMES = (Kind.FALSE, Kind.TRUE)


@dataclass(eq=False)
class SourceMap:
    """One version of a source: its statements, and the meaning of its cells."""

    measured: RecordedFile  # its statements and functions
    cells: int  # a multiple of eight
    kind: Ints
    cell: Ints  # the cell that each probe sets; shape (probes,)
    line: Ints  # the line of its statement; shape (probes,)
    target: Ints  # the target of the probe's arc, or its outcome; shape (probes,)
    function: Ints  # index of its function, -1 at module level; shape (probes,)
    traced: bool  # whether the file had probes
    conditions: Ints  # places, shape (k, 4)
    modified: int  # when the file was written, in nanoseconds; 0 if that is not known

    @classmethod
    def from_source(cls, source: Source) -> SourceMap:
        """Unpack a source from a log.

        Raises ValueError when it is damaged.
        """
        sizes, body = split_json(inflate(source.map, _MAX_MAP))
        statements, probes = int(sizes["statements"]), int(sizes["probes"])
        cells = -(-int(sizes["cells"]) // 8) * 8
        columns = np.frombuffer(body, "<i4").astype(np.int32, copy=False)
        if min(statements, probes) < 0 or len(columns) != 4 * statements + 5 * probes or cells > 8 * _MAX_MAP:
            raise ValueError("sizes that do not fit")
        first, last, function, checksum = columns[: 4 * statements].reshape(4, statements)
        kind, cell, line, target, owner = columns[4 * statements :].reshape(5, probes)
        functions = tuple((str(name), int(start), int(end)) for name, start, end in sizes["functions"])
        conditions = np.array(sizes.get("conditions", []), np.int64).reshape(-1, 4)
        outcome = _is_any(kind, _OUTCOMES)
        sound = (
            np.all(np.diff(first) > 0)
            and np.all((first > 0) & (first <= last))
            and np.all((cell >= 0) & (cell < cells))
            and all(np.all((f >= -1) & (f < len(functions))) for f in (function, owner))
            and np.all(target < FIRST_OUTCOME)
            and np.all((conditions >= 0) & (conditions < FIRST_OUTCOME))
            and np.all((target[outcome] >= 0) & (target[outcome] < len(conditions)))
        )
        if not sound:
            raise ValueError("lines or probes out of range")
        measured = RecordedFile(
            source.path,
            source.digest,
            first,
            last,
            function,
            functions,
            source.is_test,
            checksum=checksum,
            outline=Outline.from_json(sizes.get("outline")),
        )
        target = np.where(outcome, FIRST_OUTCOME + 2 * target + (kind == Kind.TRUE), target)
        places = conditions.astype(np.int32)
        return cls(measured, cells, kind, cell, line, target, owner, source.traced, places, source.modified)

    @cached_property
    def arcs(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Cells, and the arc of each; the ends of the arcs, shape (k, 2), and their functions."""
        facts = np.flatnonzero(_is_any(self.kind, (*_ARCS, *_OUTCOMES)) & (self.target != 0))
        line, target = self.line[facts], self.target[facts]
        # one number for each pair sorts many times faster than rows of two
        codes = line.astype(np.int64) * (1 << 32) + target
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        table = np.stack([line[first], target[first]], axis=1)
        return self.cell[facts], inverse.reshape(-1), table, self.function[facts][first]

    @cached_property
    def statement_facts(self) -> tuple[Ints, Ints]:
        """Cells, and the statement of each."""
        facts = self.kind == Kind.STATEMENT
        return self.cell[facts], np.searchsorted(self.measured.line, self.line[facts])


def _is_any(kind: Ints, kinds: Iterable[Kind]) -> Bools:
    """Whether each probe is of one of some kinds."""
    found: Bools = np.logical_or.reduce([kind == int(one) for one in kinds])
    return found
