"""Where a program ended inside of its functions: at a crash, each call under way has a block that it did not leave.

The counters say how often arcs were taken, and that what enters a block leaves it says the rest. Where a program ends
by a signal, this holds no more: without the blocks of the calls under way, what ran last seems not to have run, and
what did not run does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.program.c.flow import CFlow, FlowEnd
from suspectra.program.c.object import EXIT, FAKE, LOST, CFunction

_MAX_NUMBERS = 1 << 21
"""Up to how many numbers all choices of blocks together are compared at once; beyond, one call after the other."""

_MAX_COMPARED = 16  # of the choices that fit best


class BlockEnd(NamedTuple):
    """A block of a function that was entered and not left."""

    ident: int  # the compiler's number of the function
    block: int
    line: int  # which of the lines that the block lists was executed last, counted from 0
    times: int = 1  # how many calls ended there; below 0 if as many go on there
    sure: bool = True  # whether no other block, behind which other lines ran, is as possible


class CallLine(NamedTuple):
    """The line of a call that did not return."""

    files: Iterable[str]  # the names that its source has in the notes
    line: int
    calling: bool  # whether it had called something
    times: int = 1  # how many such calls; below 0 if as many go on there, 0 if an exception was handled there
    sure: bool = True  # whether it was surely a call of this function


def ends_in(
    function: CFunction, counters: Ints, lines: Sequence[CallLine], *, clang: bool = False
) -> tuple[BlockEnd, ...]:
    """Find the blocks in which calls of a function ended, one for each place in its code.

    Several blocks can have the line. The one counts with which all counts of the function are possible; of several, one
    from which a call can leave for good if another call was under way, then the last one. Where no call ended, but one
    handled an exception (0 times), its line was executed. A call that is not surely one of this function ended in none
    of its blocks if that fits best.
    """
    options: list[list[list[BlockEnd]]] = []
    executed = []
    for files, line, calling, times, sure in lines:
        if places := _places(function, set(files), line, calling):
            if times:
                found = [[place._replace(times=times)] for place in places[:: 1 if times > 0 else -1]]
                options.append(found if sure else [*found, []])
            else:
                executed.append([place.block for place in places])
    flow = CFlow([function], clang=(0,) if clang else ())
    without = _counts(flow, counters, [()], executed)[0]
    without[len(without) - len(executed) :] -= 1
    nothing = np.zeros_like(counters)
    effects = [_counts(flow, nothing, places, executed) for places in options]
    chosen = _fitting(without, effects)
    ends = tuple(end for places, number in zip(options, chosen, strict=True) for end in places[number])
    none, all_of_them = _impossible(_counts(flow, counters, [(), ends], ()))
    if all_of_them <= none:
        sure = _only_possible(flow, counters, without, effects, options)
        return ends if sure else tuple(end._replace(sure=False) for end in ends)
    # what begins another program has counted what leaves its block only if that failed
    some = _fitting(without, [np.concatenate([effect, np.zeros_like(effect[:1])]) for effect in effects])
    return tuple(end for places, number in zip(options, some, strict=True) for end in [*places, []][number])


def _only_possible(
    flow: CFlow, counters: Ints, without: Ints, effects: Sequence[Ints], options: Sequence[Sequence[Sequence[BlockEnd]]]
) -> bool:
    """Whether all choices that fit best have the same lines executed; counters that clang lost leave others open."""
    sizes = [len(places) for places in options]
    if not options or not flow.incomplete or prod(sizes) * without.size > _MAX_NUMBERS:
        return True
    misfits = _misfits(without, effects)
    fitting = np.flatnonzero(misfits == misfits.min())[:_MAX_COMPARED]
    choices = [
        [end for places, number in zip(options, np.unravel_index(one, sizes), strict=True) for end in places[number]]
        for one in fitting
    ]
    ends = [FlowEnd(run, end.block, end.line, end.times) for run, chosen in enumerate(choices) for end in chosen]
    lines = flow.lines_executed(flow.arc_counts(np.tile(counters, (len(choices), 1)), ends), ends)
    return bool((lines == lines[:, :1]).all())


def _places(function: CFunction, files: set[str], line: int, calling: bool) -> tuple[BlockEnd, ...]:
    """The places of a line in a function, one for each block, the most probable one first."""
    leaving = {source for source, target, flags in function.arcs if target == EXIT and flags & FAKE}
    deciding = {source for source, _, flags in function.arcs if flags & LOST}  # calls are rarely there
    # a coroutine returns on its first line to who resumed it, and calls nothing there
    returning = {source for source, target, _ in function.arcs if target == EXIT and line == function.line}
    numbers: dict[int, int] = {}
    found: dict[int, BlockEnd] = {}
    for block, file, at in function.lines:
        number = numbers[block] = numbers.get(block, -1) + 1
        if at == line and file in files:
            found[block] = BlockEnd(function.ident, block, number)

    def probable(end: BlockEnd) -> tuple[bool, bool, bool, int]:
        return (end.block in leaving) is calling, end.block not in returning, end.block not in deciding, end.block

    return tuple(sorted(found.values(), key=probable, reverse=True))


def _counts(
    flow: CFlow, counters: Ints, choices: Sequence[Iterable[BlockEnd]], executed: Sequence[Sequence[int]]
) -> Ints:
    """Numbers that are below 0 where calls can't have ended in these blocks, for each choice of such blocks.

    The sums for several calls are the numbers for all of them. The last ones say how often blocks were entered, of each
    group of them that was `executed`.
    """
    ends = [FlowEnd(run, end.block, end.line, end.times) for run, chosen in enumerate(choices) for end in chosen]
    arcs = flow.balanced_counts(np.tile(counters, (len(choices), 1)), ends)
    kept = flow.kept(arcs, ends)
    entered = flow.block_counts(arcs)
    groups = [entered[blocks].sum(axis=0, keepdims=True) for blocks in executed]
    return np.concatenate([arcs, kept, -kept, *groups]).T


def _impossible(counts: Ints) -> Ints:
    """How many of the counts are below 0, or do not fit the others."""
    return np.asarray((counts < 0).sum(axis=-1))


def _misfits(without: Ints, effects: Sequence[Ints]) -> Ints:
    """How many counts are impossible, for each combination of a choice for each call."""
    counts = without[None]
    for effect in effects:
        counts = (counts[:, None] + effect[None]).reshape(-1, without.size)
    return _impossible(counts)


def _fitting(without: Ints, effects: Sequence[Ints]) -> list[int]:
    """The choice for each call with which the counts fit best."""
    sizes = [len(effect) for effect in effects]
    if prod(sizes) * without.size <= _MAX_NUMBERS:
        best = int(np.argmin(_misfits(without, effects)))
        return [int(number) for number in np.unravel_index(best, sizes)] if sizes else []
    chosen, before = [0] * len(effects), [-1]
    total = without + sum(effect[0] for effect in effects)
    while chosen != before:
        before = list(chosen)
        for call, effect in enumerate(effects):
            others = total - effect[chosen[call]]
            wrong = _impossible(others + effect)
            if wrong.min() < wrong[chosen[call]]:
                chosen[call] = int(np.argmin(wrong))
            total = others + effect[chosen[call]]
    return chosen
