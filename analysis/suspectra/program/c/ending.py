"""Where a program ended inside of its functions: at a crash, each call under way has a block that it did not leave.

The counters say how often arcs were taken, and that what enters a block leaves it says the rest. Where a program ends
by a signal, this holds no more: without the blocks of the calls under way, what ran last seems not to have run, and
what did not run does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

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


def ends_in(
    function: CFunction, counters: Ints, lines: Sequence[tuple[Iterable[str], int, bool]], *, clang: bool = False
) -> tuple[BlockEnd, ...]:
    """Find the blocks in which calls of a function ended, one for each.

    Several blocks can have the line. The one counts with which all counts of the function are possible; of several, one
    from which a call can leave for good if another call was under way, then the last one.
    """
    options = [_places(function, set(files), line, calling) for files, line, calling in lines]
    options = [places for places in options if places]
    if not options or np.prod([len(places) for places in options]) > _MAX_CHOICES:
        options = [places[:1] for places in options]
    flow = CFlow([function], clang=(0,) if clang else ())
    best: tuple[int, tuple[BlockEnd, ...]] = (_impossible(flow, counters, ()), ())
    for ends in product(*options):
        wrong = _impossible(flow, counters, ends)
        if ends and (wrong < best[0] or (wrong == best[0] and not best[1])):
            best = wrong, ends
    return best[1]


def _places(function: CFunction, files: set[str], line: int, calling: bool) -> list[BlockEnd]:
    """The places of a line in a function, the most probable one first."""
    leaving = {source for source, target, flags in function.arcs if target == EXIT and flags & FAKE}
    numbers: dict[int, int] = {}
    found = []
    for block, file, at in function.lines:
        number = numbers[block] = numbers.get(block, -1) + 1
        if at == line and file in files:
            found.append(BlockEnd(function.ident, block, number))
    return sorted(found, key=lambda end: ((end.block in leaving) is calling, end.block, end.line), reverse=True)


def _impossible(flow: CFlow, counters: Ints, ends: Sequence[BlockEnd]) -> int:
    """How many of the counts are below 0."""
    arcs = flow.arc_counts(counters[None], [FlowEnd(0, end.block, end.line) for end in ends])
    return int((arcs < 0).sum())
