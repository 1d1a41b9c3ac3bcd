"""The rank of a fault as FauxPy's authors compute it: how many places one reads until the first faulty one.

Of a tie, each order is equally probable. What no test executes is in no ranking; if the fault is there, it is expected
among all lines, or functions, that the ranking lacks, as if these were one tie.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.report import RankedReport


@dataclass(frozen=True)
class Faults:
    """What is faulty at one level, and how many places there are."""

    faulty: Ints  # numbers of the faulty places; shape (k,)
    known: int  # how many places are faulty, among them those that the evidence does not know
    total: int  # the number of places of the program, executed or not


def expected_rank(level: Ints, ranked: Bools, faults: Faults) -> float:
    """How many places are read until a faulty one, that included; a smaller `level` is read first."""
    own = faults.faulty[ranked[faults.faulty]]
    if len(own):
        best = level[own].min()
        before = int(np.count_nonzero(ranked & (level < best)))
        tied = int(np.count_nonzero(ranked & (level == best)))
        among = int(np.count_nonzero(level[own] == best))
    elif faults.known:
        before, among = int(np.count_nonzero(ranked)), faults.known
        tied = max(faults.total - before, among)
    else:
        return float(faults.total)
    return before + 1 + (tied - among) / (among + 1)


def statement_rank(report: RankedReport, faults: Faults) -> float:
    counts = report.spectrum.counts
    return expected_rank(report.level, (report.level >= 0) & (counts.ef + counts.ep > 0), faults)


def function_rank(report: RankedReport, faults: Faults) -> float:
    """The same for functions, in the order in which they are listed; those that only passing tests execute follow."""
    counts, elements, found = report.spectrum.counts, report.spectrum.elements, report.function_levels
    read = np.flatnonzero((report.level >= 0) & (counts.ef + counts.ep > 0) & (elements.function >= 0))
    unread = np.iinfo(np.int64).max
    level = np.full(len(elements.functions), unread)
    level[elements.function[read]] = unread - 1
    inside = found.number >= 0
    level[found.number[inside]] = found.level[inside]
    return expected_rank(level, level < unread, faults)
