"""Mapping an older version of a source to a newer one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.evidence.recording.recorded_file import RecordedFile
from suspectra.evidence.recording.source_map import SourceMap
from suspectra_recorder.instrumentation.outline import difference


@dataclass(frozen=True, eq=False)
class Remapped:
    """The parts of an older version of a source that are unchanged in a newer one."""

    statement: Ints  # for each statement its number in the newer one, -1 where there is none
    doubtful: Ints  # the cells of code that does something else now
    arc_cell: Ints  # the older cells of arcs that are the same in both; shape (a,)
    arc: Ints  # facts of arcs that are the same in both: the older cells, the newer arcs


@lru_cache(maxsize=256)
def remapped(old: SourceMap, new: SourceMap) -> Remapped:
    """Find the unchanged parts of an older version in a newer one. Results are cached, as many tests share them."""
    same, statement = old.measured.functions_in(new.measured), old.measured.statements_in(new.measured)
    keeps = np.append(same >= 0, _same_around(old, new))  # the last entry, for index -1, is the code outside functions
    doubtful = np.unique(old.cell[~keeps[old.function]])
    cell, arc, ends, function = old.arcs
    line = dict(zip(old.measured.line.tolist(), np.append(new.measured.line, 0)[statement].tolist(), strict=True))
    places = {tuple(pair): number for number, pair in enumerate(new.arcs[2].tolist())}
    moved = [tuple(line.get(abs(end), 0) * (1 if end > 0 else -1) for end in pair) for pair in ends.tolist()]
    new_arc = np.array([places.get(pair, -1) for pair in moved], np.int64)
    new_arc = np.where(keeps[function], new_arc, -1)[arc]
    return Remapped(statement, doubtful, cell[new_arc >= 0], new_arc[new_arc >= 0])


@lru_cache(maxsize=256)
def changed_statements(old: RecordedFile, new: RecordedFile) -> Bools:
    """Find what differs in a newer version: statements whose text is not in the older one, and deletions.

    Of shape (statements of the newer version,). True also for the statements before and after deleted ones that nothing
    replaced, in the function they were in.
    """
    there = old.statements_in(new)
    changed = np.ones(len(new.checksum), bool)
    changed[there[there >= 0]] = False
    found = changed.copy()
    for statements in old.by_function().values():
        for before, after in _gaps(there[statements]):
            if not _replaced(changed, new.function, before, after):
                found[[end for end in (before, after) if end >= 0]] = True
    return found


def _gaps(there: Ints) -> Iterator[tuple[int, int]]:
    """The neighbours of each run of deleted statements, as numbers in the newer version; -1 where there is none."""
    gone = np.concatenate([[False], there < 0, [False]])
    opens, closes = np.flatnonzero(gone[1:] & ~gone[:-1]), np.flatnonzero(gone[:-1] & ~gone[1:])
    padded = np.concatenate([[-1], there, [-1]])
    return zip(padded[opens].tolist(), padded[closes + 1].tolist(), strict=True)


def _replaced(changed: Bools, function: Ints, before: int, after: int) -> bool:
    """Whether there is something new where statements were deleted."""
    if 0 <= before < after:
        return bool(changed[before + 1 : after].any())
    beside = [(before, before + 1)] if before >= 0 else [(after, after - 1)] if after >= 0 else []
    return any(
        0 <= other < len(changed) and changed[other] and function[other] == function[one] for one, other in beside
    )


def _same_around(old: SourceMap, new: SourceMap) -> bool:
    """Whether the code outside functions does the same."""
    before, after = old.measured.outline, new.measured.outline
    if before is None or after is None or len(before.functions) != len(old.measured.functions):
        return False
    return not difference(before, after).around
