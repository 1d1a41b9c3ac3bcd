"""What of the code that ran while modules were imported a test depends on: definitions, tables and their makers."""

from __future__ import annotations

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.dependences.graph import DependenceGraph


def needed(flow: DependenceGraph, imported: int, call: Ints, caller: Ints, decides: Bools) -> Bools:
    """Select the nodes of a run, and of what was imported before those that the run depends on.

    Of shape (nodes,).
    """
    found = np.ones(len(flow), bool)
    if not imported:
        return found
    end = int(flow.start[imported])
    before = DependenceGraph(
        flow.site[:imported], flow.instance[:imported], flow.start[: imported + 1], flow.source[:end], flow.kind[:end]
    )
    wanted = np.zeros(imported, bool)
    read = flow.source[end:]
    wanted[read[read < imported]] = True
    while True:
        reached = before.backward(np.flatnonzero(wanted).tolist())
        again = reached | (decides[:imported] & _with_callers(call[:imported][reached], caller)[call[:imported]])
        if np.array_equal(again, wanted):
            break
        wanted = again
    found[:imported] = wanted
    return found


def _with_callers(calls: Ints, caller: Ints) -> Bools:
    """Some calls, and those that made them."""
    found = np.zeros(len(caller) + 1, bool)  # the last stands for no caller
    while len(calls):
        calls = np.unique(calls)
        calls = calls[(calls >= 0) & ~found[calls]]
        found[calls] = True
        calls = caller[calls]
    return found[:-1]
