"""What of an older version of a source is there in a newer one."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from suspectra.arrays import Ints
from suspectra.evidence.recording.records import EMPTY
from suspectra.evidence.recording.source_map import SourceMap
from suspectra_recorder.instrumentation.outline import difference


@dataclass(frozen=True, eq=False)
class Remapped:
    """What of an older version of a source is there in a newer one.

    Parameters
    ----------
    statement : ndarray of int, shape (statements,)
        The number of each statement in the newer version, -1 where there is none.
    doubtful : ndarray of int, shape (d,)
        The cells of code that does something else now.
    arc_cell : ndarray of int, shape (a,)
        The older cells of arcs that are the same in both.
    arc : ndarray of int, shape (a,)
        The newer arcs, aligned with `arc_cell`.
    """

    statement: Ints  # for each statement its number in the newer one, -1 where there is none
    doubtful: Ints  # the cells of code that does something else now
    arc_cell: Ints
    arc: Ints  # facts of arcs that are the same in both: the older cells, the newer arcs


@lru_cache(maxsize=256)
def remapped(old: SourceMap, new: SourceMap) -> Remapped:
    """Find what of an older version is still there in a newer one; kept, because many tests ask for the same two.

    Parameters
    ----------
    old, new : SourceMap
        Two versions of one source.

    Returns
    -------
    Remapped
        Functions are compared by what they do, other statements by their text.
    """
    same, around = _same_functions(old, new)
    keeps = np.append(same >= 0, around)  # the last one, -1, is what stands outside of functions
    statement = _aligned(old, new, same)
    doubtful = np.unique(old.cell[~keeps[old.function]])
    cell, arc, ends, function = old.arcs
    line = dict(zip(old.measured.line.tolist(), np.append(new.measured.line, 0)[statement].tolist(), strict=True))
    places = {tuple(pair): number for number, pair in enumerate(new.arcs[2].tolist())}
    moved = [tuple(line.get(abs(end), 0) * (1 if end > 0 else -1) for end in pair) for pair in ends.tolist()]
    there = np.array([places.get(pair, -1) for pair in moved], np.int64)
    there = np.where(keeps[function], there, -1)[arc]
    return Remapped(statement, doubtful, cell[there >= 0], there[there >= 0])


def _same_functions(old: SourceMap, new: SourceMap) -> tuple[Ints, bool]:
    """For each function the newer one's that does the same, -1 where none does; and whether what is around does."""
    same = np.full(len(old.measured.functions), -1, np.int64)
    if old.outline is None or new.outline is None or len(old.outline.functions) != len(same):
        return same, False
    numbers = {key: number for number, key in enumerate(new.outline.keys())}
    for number, (key, function) in enumerate(zip(old.outline.keys(), old.outline.functions, strict=True)):
        other = numbers.get(key, -1)
        if other >= 0 and new.outline.functions[other].body == function.body:
            same[number] = other
    return same, not difference(old.outline, new.outline).around


def _aligned(old: SourceMap, new: SourceMap, same: Ints) -> Ints:
    """For each statement of the old version the same one in the new version, -1 where there is none.

    Functions that do the same have the same statements, however they are laid out; the rest is compared as text.
    """
    out = np.full(len(old.checksum), -1, np.int64)
    before, after = _by_function(old), _by_function(new)
    taken = np.zeros(len(new.checksum), bool)
    for number in np.flatnonzero(same >= 0).tolist():
        mine, theirs = before.get(number, EMPTY), after.get(int(same[number]), EMPTY)
        if len(mine) == len(theirs):
            out[mine] = theirs
            taken[theirs] = True
    mine, theirs = np.flatnonzero(out < 0), np.flatnonzero(~taken)
    matcher = difflib.SequenceMatcher(None, old.checksum[mine].tolist(), new.checksum[theirs].tolist(), autojunk=False)
    for a, b, size in matcher.get_matching_blocks():
        out[mine[a : a + size]] = theirs[b : b + size]
    return out


def _by_function(source: SourceMap) -> dict[int, Ints]:
    """The numbers of each function's statements."""
    order = np.argsort(source.measured.function, kind="stable")
    numbers, starts = np.unique(source.measured.function[order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, starts[1:]), strict=True))
