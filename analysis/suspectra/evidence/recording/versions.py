"""Mapping an older version of a source to a newer one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from suspectra.arrays import Bools, Ints
from suspectra.evidence.recording.recorded_file import RecordedFile
from suspectra.evidence.recording.source_map import SourceMap
from suspectra_recorder.instrumentation.outline import difference


@dataclass(frozen=True, eq=False)
class Remapped:
    r"""The parts of an older version of a source that are unchanged in a newer one.

    Parameters
    ----------
    statement : ndarray of int, shape (statements,)
        The index of each statement in the newer version, -1 if it is not there.
    doubtful : ndarray of int, shape (d,)
        The cells of code that has changed.
    arc_cell : ndarray of int, shape (a,)
        The older cells of arcs that are the same in both.
    arc : ndarray of int, shape (a,)
        The newer arcs, aligned with `arc_cell`.

    Examples
    --------
    >>> from suspectra_recorder.instrumentation.rewriting import instrument
    >>> from suspectra_recorder.log.reader import Source
    >>> def version(text):
    ...     module_map = instrument(text, "cart.py", "cells")[1]
    ...     head = {"path": "cart.py", "digest": str(len(text)), "is_test": False}
    ...     return SourceMap.from_source(Source(head, module_map.to_bytes(), b""))
    >>> found = remapped(version(b"total = 0\nprint(total)\n"), version(b"print(total)\n"))
    >>> isinstance(found, Remapped), found.statement.tolist(), found.doubtful.tolist()
    (True, [-1, 0], [0, 1])
    """

    statement: Ints  # for each statement its number in the newer one, -1 where there is none
    doubtful: Ints  # the cells of code that does something else now
    arc_cell: Ints
    arc: Ints  # facts of arcs that are the same in both: the older cells, the newer arcs


@lru_cache(maxsize=256)
def remapped(old: SourceMap, new: SourceMap) -> Remapped:
    r"""Find the unchanged parts of an older version in a newer one. Results are cached, as many tests share them.

    Parameters
    ----------
    old, new : SourceMap
        Two versions of one source.

    Returns
    -------
    Remapped
        Functions are compared by their normalized code, other statements by their text.

    Examples
    --------
    >>> from suspectra_recorder.instrumentation.rewriting import instrument
    >>> from suspectra_recorder.log.reader import Source
    >>> def version(text):
    ...     module_map = instrument(text, "cart.py", "cells")[1]
    ...     head = {"path": "cart.py", "digest": str(len(text)), "is_test": False}
    ...     return SourceMap.from_source(Source(head, module_map.to_bytes(), b""))
    >>> old, new = version(b"total = 0\nprint(total)\n"), version(b"import math\ntotal = 0\nprint(total)\n")
    >>> remapped(old, new).statement.tolist()
    [1, 2]
    """
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
    r"""Find what differs in a newer version: statements whose text is not in the older one, and deletions.

    Parameters
    ----------
    old, new : RecordedFile
        Two versions of one source.

    Returns
    -------
    ndarray of bool, shape (statements of the newer version,)
        True also for the statements before and after deleted ones that nothing replaced, in the function they were in.

    Examples
    --------
    >>> old = RecordedFile.from_text("cart.py", b"total = 0\nprint(total)\n")
    >>> new = RecordedFile.from_text("cart.py", b"import math\ntotal = 0\nprint(total)\n")
    >>> changed_statements(old, new).tolist()
    [True, False, False]
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
