"""Counts of arcs and lines of compiled functions, computed from the counters of many runs at once.

A compiler counts only the arcs outside a spanning tree of a function's graph. Control that enters a block leaves it, so
the counts of the tree's arcs follow. Removing one of its arcs cuts the tree into two parts; the flow through this arc
balances the flow of the counted arcs between the parts. With the blocks in depth-first order such a part is a range,
and the sum over a range is the difference of two cumulative sums. So every count is a linear function of the counters,
and one pass over a matrix solves all functions in all runs exactly, in integers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
from scipy import sparse

from suspectra.base.arrays import Bools, IntMatrix, Ints, dense_product
from suspectra.base.errors import EvidenceError, Problem
from suspectra.program.c.object import ENTRY, EXIT, FAKE, LOST, ON_TREE, CFunction

LineKey = tuple[int, str, int]
"""A line of a program: (number of the object, source file as compiled, line)."""


class FlowEnd(NamedTuple):
    """A block that control entered and did not leave, since the program ended in it."""

    run: int  # the column of the run
    block: int
    line: int  # which of the lines that the block lists was executed last, counted from 0
    times: int = 1  # how often


class CFlow:
    """The flow through the functions of one or more objects.

    Blocks, arcs and counters are numbered over all functions, one function after the other.

    Raises EvidenceError when the uncounted arcs of a function form a cycle, so that counts can't be computed: the file
    is damaged.
    """

    def __init__(
        self,
        functions: Sequence[CFunction],
        objects: Sequence[int] | None = None,  # the object of each function; each object has its own lines
        clang: Collection[int] = (),
        # by number of the function: the blocks in which lines begin that hold nothing but an operand
        operands: Mapping[int, Mapping[tuple[str, int], Collection[int]]] | None = None,
    ):
        self._operands = operands or {}
        self.functions = tuple(functions)  # from suspectra.program.c.files.parse_notes
        self.objects = tuple(objects) if objects is not None else (0,) * len(self.functions)
        self._clang = frozenset(clang)
        # the first block, arc and counter of each function, then their total number; shape (functions + 1,)
        self.first_block = _starts([f.blocks for f in self.functions])
        # the first block, arc and counter of each function, then their total number; shape (functions + 1,)
        self.first_arc = _starts([len(f.arcs) for f in self.functions])
        # the first block, arc and counter of each function, then their total number; shape (functions + 1,)
        self.first_counter = _starts([len(f.counted) for f in self.functions])
        arcs = np.array([arc for f in self.functions for arc in f.arcs], np.int32).reshape(-1, 3)
        shift = np.repeat(self.first_block[:-1], np.diff(self.first_arc)).astype(np.int32)
        self.source, self.target, self.flags = arcs[:, 0] + shift, arcs[:, 1] + shift, arcs[:, 2]
        self.counted = np.flatnonzero((self.flags & (ON_TREE | LOST)) == 0)
        self._order_blocks()

    @property
    def blocks(self) -> int:
        """Number of blocks of all functions."""
        return int(self.first_block[-1])

    @property
    def counters(self) -> int:
        """Number of counters of all functions."""
        return len(self.counted)

    def arc_counts(self, counters: Ints, ends: Iterable[FlowEnd] = ()) -> Ints:
        """Compute how often each arc was taken.

        Of shape (arcs, runs). A count can be negative where flow is not conserved: after `longjmp`, in a run that was
        killed at an unknown place, or in a profile that threads wrote without `-fprofile-update=atomic`. gcov prints it
        unchanged. An arc was taken if its count is above 0. Arcs whose counter clang loses were taken as often as they
        must, so that no other count is negative.
        """
        counts = self.balanced_counts(counters, ends)
        for number in self.incomplete:
            first, last = self.first_arc[number : number + 2]
            for run in np.flatnonzero((counts[first:last] < 0).any(axis=0)):
                counts[first:last, run] = _without_negative(self.functions[number].arcs, counts[first:last, run])
        return counts

    @cached_property
    def incomplete(self) -> tuple[int, ...]:
        """The functions of which clang has lost counters."""
        lost = np.flatnonzero(self.flags & LOST)
        return tuple(np.unique(np.searchsorted(self.first_arc, lost, "right") - 1).tolist())

    def balanced_counts(self, counters: Ints, ends: Iterable[FlowEnd] = ()) -> Ints:
        """Compute how often each arc was taken, if those whose counter was lost never were: a linear function.

        Of shape (arcs, runs).
        """
        given = np.array(np.asarray(counters, np.int64).T, order="C")
        ends = tuple(ends)
        for end in ends:
            if (early := self._counted_on_entry.get(end.block)) is not None:
                given[early, end.run] -= end.times
        counts = np.zeros((len(self.source), given.shape[1]), np.int64)
        counts[self.counted] = given
        running = np.zeros((self.blocks + 1, given.shape[1]), np.int64)
        imbalance = self._imbalance @ given
        for end in ends:  # as if an arc led from there to the exit, taken once
            leaves = self.first_block[self._function_with(end.block)] + EXIT
            imbalance[self._position[end.block], end.run] -= end.times
            imbalance[self._position[leaves], end.run] += end.times
        np.cumsum(imbalance, axis=0, out=running[1:])
        counts[self._tree] = (running[self._cut_end] - running[self._cut_start]) * self._cut_sign[:, None]
        return counts

    @cached_property
    def _counted_on_entry(self) -> dict[int, int]:
        """The counters of arcs that clang counts when their block is entered, as no other arc leaves it."""
        owner = np.repeat(np.array(self.objects, np.int64), np.diff(self.first_arc))
        alone = np.bincount(self.source, minlength=self.blocks)[self.source] == 1
        early = np.isin(owner, list(self._clang)) & alone
        return {int(self.source[arc]): number for number, arc in enumerate(self.counted.tolist()) if early[arc]}

    def kept(self, arcs: Ints, ends: Iterable[FlowEnd] = ()) -> Ints:
        """Compute how often each block was entered and neither left nor an end: never, if all ends are known.

        Of shape (blocks, runs).
        """
        kept = np.zeros((self.blocks, arcs.shape[1]), np.int64)
        np.add.at(kept, self.target, arcs)
        np.subtract.at(kept, self.source, arcs)
        for end in ends:
            kept[end.block, end.run] -= end.times
        for outside in (ENTRY, EXIT):
            kept[self.first_block[:-1] + outside] = 0
        return kept

    def block_counts(self, arcs: Ints) -> Ints:
        """Compute how often each block was entered.

        Of shape (blocks, runs).
        """
        return dense_product(self._entering, arcs)

    def lines_executed(self, arcs: Ints, ends: Iterable[FlowEnd] = ()) -> Bools:
        """Compute whether each line was executed.

        A line is executed when one of its blocks is. Control that enters a block comes either from blocks of other
        lines or from a cycle inside the line, and gcov's count is the sum of both. In a block that was entered only to
        end there, the lines after that were not executed.

        Of shape (lines, runs). In the order of `lines`.
        """
        taken = (arcs > 0).astype(np.int32)
        entered = dense_product(self._entering, taken) > 0
        executed = np.greater(dense_product(self._executing, entered.astype(np.int32)), 0)
        ended: dict[tuple[int, int], list[FlowEnd]] = {}
        for end in ends:
            ended.setdefault((end.run, end.block), []).append(end)
        for run, number in {(run, self._function_with(block)) for run, block in ended}:
            # of a call in several lines only the last block counts, to which it did not get
            first, last = np.searchsorted(self.block_lines[0], self.first_block[number : number + 2])
            blocks, lines = (part[first:last][self._begun[first:last]] for part in self.block_lines)
            executed[lines[entered[blocks, run]], run] = True
        for (run, block), those in ended.items():
            left_over = sum(end.times for end in those)
            if left_over > 0 and dense_product(self._entering[[block]], arcs[:, run])[0] <= left_over:
                for line in self._lines_after(block, max(end.line for end in those)):
                    owners = self._executing[[line]].indices
                    executed[line, run] = entered[owners[owners != block], run].any()
        return executed

    def _function_with(self, block: int) -> int:
        return int(np.searchsorted(self.first_block, block, "right")) - 1

    def _lines_after(self, block: int, place: int) -> set[int]:
        """The lines of a block that come only after one of its places, as indices into `lines`."""
        number = self._function_with(block)
        owner, within = self.objects[number], block - int(self.first_block[number])
        there = [(owner, file, line) for at, file, line in self.functions[number].lines if at == within]
        return {self._index[key] for key in {*there[place + 1 :]} - {*there[: place + 1]}}

    @cached_property
    def _index(self) -> dict[LineKey, int]:
        return {key: i for i, key in enumerate(self.lines)}

    def line_counts(self, arcs: Ints) -> Ints:
        """Compute how often each line was executed, by gcov's rule.

        The count of a line is the flow into its blocks from blocks of other lines, plus the flow around cycles inside
        the line. A line without blocks of its own has the sum of its blocks' counts.

        Of shape (lines, runs). In the order of `lines`.
        """
        counts = dense_product(self._line_entries, arcs)
        for line, inner in self._inner_arcs:
            source, target = self.source[inner].tolist(), self.target[inner].tolist()
            for run in np.flatnonzero((arcs[inner] > 0).any(axis=0)):
                counts[line, run] += _circles(source, target, arcs[inner, run].tolist())
        return counts

    @cached_property
    def lines(self) -> tuple[LineKey, ...]:
        """The executable lines, sorted."""
        return self._ownership[0]

    @cached_property
    def visible(self) -> Ints:
        """The arcs that are control flow, without those of calls that may not return; ascending."""
        return np.flatnonzero((self.flags & FAKE) == 0)

    @cached_property
    def block_lines(self) -> tuple[Ints, Ints]:
        """Pairs of a block and one of its lines, as an index into `lines`; without repetition, sorted by block."""
        index = self._index
        pairs = {
            (int(base) + block, index[(owner, file, line)])
            for function, owner, base in zip(self.functions, self.objects, self.first_block, strict=False)
            if not function.artificial
            for block, file, line in function.lines
        }
        table = np.array(sorted(pairs), np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    @cached_property
    def _begun(self) -> Bools:
        """For each pair of `block_lines`, whether the line begins there, as those do that are more than an operand."""
        blocks, lines = self.block_lines
        begun = np.ones(len(blocks), bool)
        for number, operands in self._operands.items():
            base, owner = int(self.first_block[number]), self.objects[number]
            first, last = np.searchsorted(blocks, self.first_block[number : number + 2])
            for (file, line), where in operands.items():
                there = lines[first:last] == self._index[owner, file, line]
                begun[first:last] &= ~there | np.isin(blocks[first:last] - base, list(where))
        return begun

    @cached_property
    def _executing(self) -> IntMatrix:
        """Lines × blocks: what belongs to a line, and is not only a decision about it, or comes behind."""
        if self._begun.all():
            return self._owner
        blocks, lines = (part[~self._begun] for part in self.block_lines)
        without = np.isin(np.ravel_multi_index(self._owner.nonzero(), self._owner.shape), lines * self.blocks + blocks)
        line, block = (part[~without] for part in self._owner.nonzero())
        return _incidence(line, block, (len(self.lines), self.blocks))

    def _order_blocks(self) -> None:
        """Put the blocks in depth-first order of the spanning trees, in which the cut of each tree arc is a range."""
        tree = np.flatnonzero(self.flags & ON_TREE)
        neighbours: list[list[tuple[int, int]]] = [[] for _ in range(self.blocks)]
        for arc, source, target in zip(
            tree.tolist(), self.source[tree].tolist(), self.target[tree].tolist(), strict=True
        ):
            neighbours[source].append((target, arc))
            neighbours[target].append((source, arc))
        closing = -1  # stands for the arc from exit to entry, which closes a run of the function
        for function, base in zip(self.functions, self.first_block.tolist(), strict=False):
            if function.blocks > EXIT:
                neighbours[base + ENTRY].append((base + EXIT, closing))
                neighbours[base + EXIT].append((base + ENTRY, closing))
        position, end, reached_by = self._walk(neighbours)
        below = np.array([arc for arc in reached_by if arc >= 0], np.int64)
        if len(below) != len(tree):
            raise self._circular(np.setdiff1d(tree, below)[0])
        self._position = position
        head = np.flatnonzero(np.array(reached_by, np.int64) >= 0)  # the first block of a cut's range
        self._tree, self._cut_start, self._cut_end = below, position[head], end[head]
        # the flow through the cut's arc balances the flow of the counted arcs into the range
        self._cut_sign = np.where(self.target[below] == head, -1, 1)
        count = np.arange(self.counters)
        ones = np.ones(self.counters, np.int64)
        self._imbalance = sparse.csr_array(
            (
                np.concatenate([ones, -ones]),
                (
                    np.concatenate([position[self.target[self.counted]], position[self.source[self.counted]]]),
                    np.concatenate([count, count]),
                ),
            ),
            shape=(self.blocks, self.counters),
        )

    def _walk(self, neighbours: list[list[tuple[int, int]]]) -> tuple[Ints, Ints, list[int]]:
        """Depth-first search: the position of each block, the end of its range, and the arc to it (-2 for a root)."""
        position, end = np.full(self.blocks, -1, np.int64), np.zeros(self.blocks, np.int64)
        reached_by = [-2] * self.blocks
        seen, order = [False] * self.blocks, 0
        for root in range(self.blocks):
            if seen[root]:
                continue
            seen[root] = True
            stack = [root]
            while stack:
                block = stack.pop()
                if block < 0:
                    end[~block] = order
                    continue
                position[block] = order
                order += 1
                stack.append(~block)
                for other, arc in neighbours[block]:
                    if not seen[other]:
                        seen[other], reached_by[other] = True, arc
                        stack.append(other)
        return position, end, reached_by

    def _circular(self, arc: int) -> EvidenceError:
        function = self.functions[int(np.searchsorted(self.first_arc, arc, "right")) - 1]
        cause = f"the uncounted arcs of function {function.name} form a circle, so its counts can't be known"
        cure = "build the object again: its notes are damaged"
        return EvidenceError(Problem(function.file, f"line {function.line}", cause, cure))

    @cached_property
    def _entering(self) -> IntMatrix:
        """Blocks × arcs: the arcs that enter each block; for an entry block those that leave it."""
        entry = np.isin(self.source, self.first_block[:-1] + ENTRY)
        row = np.concatenate([self.target, self.source[entry]])
        column = np.concatenate([np.arange(len(self.target)), np.flatnonzero(entry)])
        return _incidence(row, column, (self.blocks, len(self.source)))

    @cached_property
    def _ownership(self) -> tuple[tuple[LineKey, ...], list[tuple[int, int]], list[tuple[int, int]]]:
        """The lines, the (line, block) pairs by which lines are counted, and the pairs of lines that own no block."""
        owned: set[tuple[LineKey, int, int]] = set()
        line_blocks: list[tuple[LineKey, int, int]] = []
        groups = self._groups()
        for number, (function, owner, base) in enumerate(
            zip(self.functions, self.objects, self.first_block.tolist(), strict=False)
        ):
            if function.artificial:
                continue
            for block, located in _locations(function):
                # each instance of a template counts its lines separately; -1 stands for all other functions
                keys = [((owner, *at), number if number in groups and _within(function, at) else -1) for at in located]
                line_blocks += [(key, part, base + block) for key, part in keys]
                if owner in self._clang and block:
                    owned.update((key, part, base + block) for key, part in keys)
                elif owner not in self._clang and 0 < block < function.blocks - 1:
                    owned.add((*keys[-1], base + block))
        lines = tuple(sorted({key for key, _, _ in line_blocks}))
        index = {key: i for i, key in enumerate(lines)}
        owners = {(key, part) for key, part, _ in owned}
        return (
            lines,
            sorted((index[key], block) for key, _, block in owned),
            [(index[key], block) for key, part, block in line_blocks if (key, part) not in owners],
        )

    def _groups(self) -> set[int]:
        """Functions that begin on the same source line as another one of the object: instances of a template."""
        starts: dict[LineKey, list[int]] = {}
        for number, (function, owner) in enumerate(zip(self.functions, self.objects, strict=True)):
            if not function.artificial:
                starts.setdefault((owner, function.file, function.line), []).append(number)
        return {number for group in starts.values() if len(group) > 1 for number in group}

    @cached_property
    def _owner(self) -> IntMatrix:
        """Lines × blocks."""
        _, owned, loose = self._ownership
        pairs = np.array(sorted(set(owned) | set(loose)), np.int64).reshape(-1, 2)
        return _incidence(pairs[:, 0], pairs[:, 1], (len(self.lines), self.blocks))

    @cached_property
    def _owned_arcs(self) -> tuple[Ints, Ints, Bools]:
        """For every arc into a line's blocks: the line, the arc, and whether it comes from a block of the same line."""
        _, owned, _ = self._ownership
        pairs = np.array(owned, np.int64).reshape(-1, 2)
        owner = _incidence(pairs[:, 0], pairs[:, 1], (len(self.lines), self.blocks))
        into = (owner @ _incidence(self.target, np.arange(len(self.target)), self._shape)).tocoo()
        line, arc = into.coords
        key = line.astype(np.int64) * self.blocks + self.source[arc]
        return line, arc, np.isin(key, pairs[:, 0] * self.blocks + pairs[:, 1])

    @property
    def _shape(self) -> tuple[int, int]:
        return self.blocks, len(self.source)

    @cached_property
    def _line_entries(self) -> IntMatrix:
        """Lines × arcs: the arcs whose sum is a line's count, without the cycles inside the line."""
        line, arc, inner = self._owned_arcs
        loose = np.array(self._ownership[2], np.int64).reshape(-1, 2)
        entering = _incidence(line[~inner], arc[~inner], (len(self.lines), len(self.source)))
        summed: IntMatrix = _summing(loose, (len(self.lines), self.blocks)) @ self._entering
        return entering + summed

    @cached_property
    def _inner_arcs(self) -> list[tuple[int, Ints]]:
        """Lines whose own blocks can form a cycle, and the arcs between these blocks."""
        line, arc, inner = self._owned_arcs
        order = np.lexsort((arc[inner], line[inner]))
        line, arc = line[inner][order], arc[inner][order]
        starts = np.flatnonzero(np.diff(line, prepend=-1))
        groups = zip(line[starts].tolist(), np.split(arc, starts[1:]), strict=False) if len(line) else ()
        # a cycle needs an arc back to an earlier block
        return [(at, arcs) for at, arcs in groups if _can_circle(self.source[arcs], self.target[arcs])]


def _without_negative(arcs: Sequence[tuple[int, int, int]], counts: Ints) -> list[int]:
    """Change counts of arcs without counter until none is negative, as far as what enters a block still leaves it."""
    count = [
        *counts.tolist(),
        sum(number for (_, target, _), number in zip(arcs, counts.tolist(), strict=True) if target == EXIT),
    ]
    ends = [*arcs, (EXIT, ENTRY, ON_TREE)]  # each call leaves a function as often as it enters it
    ways: dict[int, list[tuple[int, int]]] = {}
    for arc, (source, target, flags) in enumerate(ends):
        if flags & (ON_TREE | LOST):
            ways.setdefault(source, []).append((arc, target))
            ways.setdefault(target, []).append((~arc, source))  # there fewer take it
    for arc in [arc for arc, number in enumerate(count) if number < 0 and ends[arc][2] & (ON_TREE | LOST)]:
        while count[arc] < 0 and (back := _way(ends[arc][1], ends[arc][0], arc, ways, count)):
            least = min([-count[arc], *(count[~step] for step in back if step < 0)])
            count[arc] += least
            for step in back:
                count[max(step, ~step)] += least if step >= 0 else -least
    return count[:-1]


def _way(
    start: int, end: int, without: int, ways: Mapping[int, list[tuple[int, int]]], count: Sequence[int]
) -> list[int]:
    """The shortest way between blocks by arcs that can be taken more often, or less often (~arc); empty for none."""
    reached: dict[int, tuple[int, int]] = {start: (start, 0)}
    waiting = deque([start])
    while waiting and end not in reached:
        block = waiting.popleft()
        for step, other in ways.get(block, ()):
            if other not in reached and step not in (without, ~without) and (step >= 0 or count[~step] > 0):
                reached[other] = block, step
                waiting.append(other)
    found = []
    while end in reached and end != start:
        end, step = reached[end]
        found.append(step)
    return found


def _locations(function: CFunction) -> list[tuple[int, list[tuple[str, int]]]]:
    """The lines of each block, sorted, one list for each run of lines of one file."""
    stretches = groupby(function.lines, key=lambda line: line[:2])
    return [(block, sorted((file, line) for _, _, line in lines)) for (block, file), lines in stretches]


def _within(function: CFunction, at: tuple[str, int]) -> bool:
    return at[0] == function.file and function.line <= at[1] <= function.end_line


def _can_circle(source: Ints, target: Ints) -> bool:
    names, packed = np.unique(np.concatenate([source, target]), return_inverse=True)
    graph = _incidence(packed[: len(source)], packed[len(source) :], (len(names), len(names)))
    parts, _ = sparse.csgraph.connected_components(graph, directed=True, connection="strong")
    return parts < len(names) or bool((source == target).any())


def _circles(source: list[int], target: list[int], count: list[int]) -> int:
    """The flow around cycles: they are removed one by one, each with the smallest count on it."""
    leaving: dict[int, list[int]] = {}
    for arc, block in enumerate(source):
        leaving.setdefault(block, []).append(arc)
    total = 0
    for root in sorted(leaving):
        while circle := _circle_through(root, leaving, target, count):
            least = min(count[arc] for arc in circle)
            total += least
            for arc in circle:
                count[arc] -= least
    return total


def _circle_through(root: int, leaving: dict[int, list[int]], target: list[int], count: list[int]) -> list[int]:
    """A path of arcs with flow from a block back to itself, empty if there is none."""
    seen = {root}
    path: list[int] = []
    trail = [iter(leaving[root])]
    while trail:
        for arc in trail[-1]:
            if count[arc] <= 0:
                continue
            if target[arc] == root:
                return [*path, arc]
            if target[arc] not in seen:
                seen.add(target[arc])
                path.append(arc)
                trail.append(iter(leaving.get(target[arc], ())))
                break
        else:
            trail.pop()
            if path:
                path.pop()
    return []


def _starts(sizes: Sequence[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(np.array(sizes, np.int64))]).astype(np.int64)


def _incidence(row: Ints, column: Ints, shape: tuple[int, int]) -> IntMatrix:
    """A matrix with 1 at each pair, also at repeated ones."""
    pairs = np.unique(np.stack([row, column]).astype(np.int64), axis=1)
    return sparse.csr_array((np.ones(pairs.shape[1], np.int64), (pairs[0], pairs[1])), shape=shape)


def _summing(pairs: Ints, shape: tuple[int, int]) -> IntMatrix:
    """A matrix with the number of occurrences of each pair."""
    return sparse.csr_array((np.ones(len(pairs), np.int64), (pairs[:, 0], pairs[:, 1])), shape=shape)
