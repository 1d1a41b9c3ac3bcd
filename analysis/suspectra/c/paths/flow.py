"""The paths of two runs of a compiled program, in which corresponding events can be found.

Which block depends on which decision follows from the ways that the two runs took: what neither did can't tell them
apart. So nothing has to be known of jumps through tables, and of calls that do not return.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_run import CTracedRun
from suspectra.dependences.control import ControlDependences, NodeCalls
from suspectra.paths.path import NO_BRANCH, Path
from suspectra.program.dominance import control_dependences
from suspectra.program.python.point_dependences import Lists, PointDependences
from suspectra.program.python.points import PointKind

_ROUNDS = 8  # in which decisions that differ between two runs of a test are looked for


class Flow:
    """The control flow that some runs have in common."""

    def __init__(self, program: TracedProgram, runs: Sequence[CTracedRun]):
        self._program = program
        self.successors: dict[int, list[int]] = {}
        ends: set[int] = set()
        for run in runs:
            next_block = following(run)
            blocks = np.flatnonzero(~run.is_entry)
            goes_on = blocks[next_block[blocks] >= 0]
            size = len(program.nodes)
            for edge in np.unique(run.node[goes_on] * size + run.node[next_block[goes_on]]).tolist():
                self.successors.setdefault(edge // size, []).append(edge % size)
            last = blocks[next_block[blocks] < 0]
            ends |= set(run.node[last[run.returned[run.call[last]]]].tolist())
        nodes = sorted({*self.successors, *(one for some in self.successors.values() for one in some)})
        self._table = self._dependences(nodes, ends)
        self._arms: Mapping[int, Mapping[int, int]] = {
            node: program.arms(node, sorted(set(some))) for node, some in self.successors.items() if self._decides(node)
        }

    def _decides(self, node: int) -> bool:
        block = self._program.block(node)
        return len(set(self.successors.get(node, ()))) > 1 or (block is not None and bool(block.jump))

    def _dependences(self, nodes: Sequence[int], ends: set[int]) -> PointDependences:
        place = {node: number for number, node in enumerate(nodes)}
        edges = [(place[node], place[one]) for node, some in self.successors.items() for one in set(some)]
        exits = [place[node] for node in nodes if node in ends or node not in self.successors]
        size = len(self._program.nodes)
        above: list[list[int]] = [[] for _ in range(size)]
        for decision, dependent in control_dependences(len(nodes), edges, exits):
            above[nodes[dependent]].append(nodes[decision])
        none = Lists.from_lists([] for _ in range(size))
        return PointDependences(
            (PointKind.DECISION,) * size, (None,) * size, Lists.from_lists(above), none, none, none, none, none
        )

    def path(self, run: CTracedRun, without: Collection[int] = ()) -> Path:
        """Make the path of a run: its decisions, when they were made, and its calls."""
        next_block = following(run)
        events = np.arange(len(run))
        entry = np.full(len(run.caller), -1, np.int64)
        entry[run.call[run.is_entry]] = events[run.is_entry]
        reason = self._reasons(run, entry)
        decided = self._outcomes(run, next_block)
        kept = (run.is_entry | (decided != NO_BRANCH)) & self._is_ours()[run.node]
        if without:
            kept &= ~_dependent(np.isin(run.node, list(without)), reason)
        reason = _nearest_kept(reason, kept)
        # a decision is made behind the calls of its block, when the next block begins
        time = np.where(run.is_entry, 2 * events, 2 * next_block - 1)
        order = np.flatnonzero(kept)[np.argsort(time[kept], kind="stable")]
        number = np.full(len(run) + 1, -1, np.int64)
        number[order] = np.arange(len(order))
        return Path(run.node[order], number[reason[order]], decided[order])

    def _reasons(self, run: CTracedRun, entry: Ints) -> Ints:
        """The event that each one is dynamically control dependent on."""
        calling = np.where(run.caller >= 0, run.node[run.caller], -1)
        caller = np.where(run.caller >= 0, run.call[run.caller], -1)
        calls = NodeCalls(np.where(run.is_entry, -1, run.node), run.call, entry, caller, calling)
        found = ControlDependences(self._table, calls).parent.astype(np.int64)
        own = np.where(run.is_entry, np.append(entry, -1)[caller[run.call]], entry[run.call])
        return np.where(found >= 0, found, np.where(own < np.arange(len(own)), own, -1))

    def _outcomes(self, run: CTracedRun, next_block: Ints) -> Ints:
        """The arm of each decision; `NO_BRANCH` for other events, and for decisions that the run has not come to."""
        size = len(self._program.nodes)
        edges = {node * size + one: arm for node, arms in self._arms.items() for one, arm in arms.items()}
        keys = np.array(sorted(edges), np.int64)
        arms = np.array([edges[key] for key in keys.tolist()] + [NO_BRANCH], np.int64)
        decided = np.full(len(run), NO_BRANCH, np.int64)
        goes_on = np.flatnonzero(~run.is_entry & (next_block >= 0))
        wanted = run.node[goes_on] * size + run.node[next_block[goes_on]]
        place = np.searchsorted(keys, wanted)
        same = np.append(keys, -1)[place] == wanted
        decided[goes_on] = arms[np.where(same, place, len(keys))]
        return decided

    def _is_ours(self) -> Bools:
        """For each node whether it is in a source of the workspace; the last one is for what has no number."""
        known = [self._program.place(node) is not None for node in range(len(self._program.nodes))]
        return np.array([*known, False])


def following(run: CTracedRun) -> Ints:
    """Find for each block the next one of the same call.

    Of shape (events,).
    """
    blocks = np.flatnonzero(~run.is_entry)
    order = blocks[np.argsort(run.call[blocks], kind="stable")]
    same = run.call[order[1:]] == run.call[order[:-1]]
    found = np.full(len(run), -1, np.int64)
    found[order[:-1][same]] = order[1:][same]
    return found


def _dependent(chosen: Bools, reason: Ints) -> Bools:
    """The chosen events, and those that depend on them, directly or not."""
    chosen, reason = np.append(chosen, False), np.append(reason, -1)
    while np.any(reason >= 0):
        chosen |= chosen[reason]
        reason = reason[reason]
    return chosen[:-1]


def unsteady(program: TracedProgram, run: CTracedRun, again: CTracedRun) -> frozenset[int]:
    """Find what differs between two runs of the same test, such as the order in a table with random numbers."""
    flow = Flow(program, [run, again])
    found: frozenset[int] = frozenset()
    for _ in range(_ROUNDS):
        first, second = flow.path(run, found), flow.path(again, found)
        more = _first_differences(first, second) | _first_differences(second, first)
        if not more:
            break
        found |= more
    return found


def _first_differences(run: Path, other: Path) -> frozenset[int]:
    """The statements at which two runs differ, without those that depend on such a difference."""
    counterpart = run.aligned(other)
    there = counterpart >= 0
    turned = there.copy()
    turned[there] = run.outcome[there] != other.outcome[counterpart[there]]
    same = np.append(there & ~turned, True)
    return frozenset(run.statement[turned | (~there & same[run.depends_on])].tolist())


def _nearest_kept(reason: Ints, kept: Bools) -> Ints:
    """The reasons without events that are left out: their own reasons instead."""
    reason = np.append(reason, -1)
    gone = np.append(~kept, False)
    while np.any(left_out := gone[reason] & (reason >= 0)):
        reason[left_out] = reason[reason[left_out]]
    return reason[:-1]
