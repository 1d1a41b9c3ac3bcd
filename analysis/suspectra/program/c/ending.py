"""Where a program ended inside of its functions: at a crash, each call under way has a block that it did not leave.

The counters say how often arcs were taken, and that what enters a block leaves it says the rest. Where a program ends
by a signal, this holds no more: without the blocks of the calls under way, what ran last seems not to have run, and
what did not run does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations_with_replacement, product
from math import comb, prod
from typing import NamedTuple

from suspectra.base.arrays import Ints
from suspectra.program.c.flow import CFlow, FlowEnd
from suspectra.program.c.object import EXIT, FAKE, CFunction

_MAX_CHOICES = 256
"""How many combinations of blocks are compared where a function was called again by itself."""


class BlockEnd(NamedTuple):
    """A block of a function that was entered and not left."""

    ident: int  # the compiler's number of the function
    block: int
    line: int  # which of the lines that the block lists was executed last, counted from 0
    times: int = 1  # how many calls ended there; -1 if one goes on there


def ends_in(
    function: CFunction, counters: Ints, lines: Sequence[tuple[Iterable[str], int, bool, int]], *, clang: bool = False
) -> tuple[BlockEnd, ...]:
    """Find the blocks in which calls of a function ended, one for each.

    Several blocks can have the line. The one counts with which all counts of the function are possible; of several, one
    from which a call can leave for good if another call was under way, then the last one.
    """
    calls: Counter[tuple[tuple[BlockEnd, ...], int]] = Counter()
    for files, line, calling, times in lines:
        if places := _places(function, set(files), line, calling):
            calls[places, 1 if times > 0 else -1] += abs(times)
    options = [list(_shared_out(places[::sign], times, sign)) for (places, sign), times in calls.items()]
    if prod(map(len, options)) > _MAX_CHOICES:
        options = [choices[:1] for choices in options]
    flow = CFlow([function], clang=(0,) if clang else ())
    best: tuple[int, tuple[BlockEnd, ...]] = (_impossible(flow, counters, ()), ())
    for chosen in product(*options):
        ends = tuple(end for choice in chosen for end in choice)
        wrong = _impossible(flow, counters, ends)
        if ends and (wrong < best[0] or (wrong == best[0] and not best[1])):
            best = wrong, ends
    return best[1]


def _shared_out(places: Sequence[BlockEnd], times: int, sign: int) -> Iterator[tuple[BlockEnd, ...]]:
    """The ways in which calls can have ended in some places; of very many calls, those with all in one place."""
    if comb(times + len(places) - 1, times) > _MAX_CHOICES:
        yield from ((place._replace(times=sign * times),) for place in places)
        return
    for ends in combinations_with_replacement(places, times):
        yield tuple(end._replace(times=sign * count) for end, count in Counter(ends).items())


def _places(function: CFunction, files: set[str], line: int, calling: bool) -> tuple[BlockEnd, ...]:
    """The places of a line in a function, the most probable one first."""
    leaving = {source for source, target, flags in function.arcs if target == EXIT and flags & FAKE}
    numbers: dict[int, int] = {}
    found = []
    for block, file, at in function.lines:
        number = numbers[block] = numbers.get(block, -1) + 1
        if at == line and file in files:
            found.append(BlockEnd(function.ident, block, number))
    return tuple(sorted(found, key=lambda end: ((end.block in leaving) is calling, end.block, end.line), reverse=True))


def _impossible(flow: CFlow, counters: Ints, ends: Sequence[BlockEnd]) -> int:
    """How many of the counts are below 0."""
    arcs = flow.arc_counts(counters[None], [FlowEnd(0, end.block, end.line, end.times) for end in ends])
    return int((arcs < 0).sum())
