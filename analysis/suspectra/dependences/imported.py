"""What of the code that ran while modules were imported a test depends on: definitions, tables and their makers."""

from __future__ import annotations

import numpy as np

from suspectra.arrays import Bools, Ints
from suspectra.dependences.graph import DependenceGraph


def needed(flow: DependenceGraph, imported: int, call: Ints, caller: Ints, decides: Bools) -> Bools:
    """Select the nodes of a run, and of what was imported before those that the run depends on.

    Parameters
    ----------
    flow : DependenceGraph
        With flow dependences only.
    imported : int
        How many nodes were made while modules were imported. They come first.
    call : ndarray of int32, shape (nodes,)
        The number of the call that each node belongs to.
    caller : ndarray of int32, shape (calls,)
        The call that each call was made by; -1 for none.
    decides : ndarray of bool, shape (nodes,)
        Decisions, and beginnings of calls: what other nodes of their calls can be executed for.

    Returns
    -------
    ndarray of bool, shape (nodes,)
        True for all nodes of the run.

    Examples
    --------
    Two values were assigned while a module was imported, of which the test reads the first:

    >>> flow = DependenceGraph.from_edges(3, [(0, 2, 0)])
    >>> call, caller, decides = np.array([1, 1, 2]), np.array([-1, 0, 0]), np.zeros(3, bool)
    >>> needed(flow, 2, call, caller, decides).tolist()
    [True, False, True]

    If the second is a decision, the first may have been assigned because of it:

    >>> needed(flow, 2, call, caller, np.array([False, True, False])).tolist()
    [True, True, True]
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
