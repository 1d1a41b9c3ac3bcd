"""The blocks in which lines begin that hold nothing but an operand of ``&&``, ``||`` or ``?:``.

gcc gives the decision, and what comes behind it, to a line of what is decided about, so such a line seems to have run
whichever way the decision went. What an operand does begins in a block to which a decision leads.
"""

from __future__ import annotations

from collections.abc import Collection

from suspectra.program.c.object import EXIT, FAKE, CFunction


def operand_blocks(function: CFunction, lines: Collection[tuple[str, int]]) -> dict[tuple[str, int], frozenset[int]]:
    """The blocks in which operands begin, for those of such lines of which that is known for sure."""
    ways: dict[int, int] = {}
    for source, _, flags in function.arcs:
        ways[source] = ways.get(source, 0) + (not flags & FAKE)
    calling = {source for source, target, flags in function.arcs if target == EXIT and flags & FAKE}
    behind_decisions = {target for source, target, flags in function.arcs if not flags & FAKE and ways[source] > 1}
    first: dict[int, tuple[str, int]] = {}
    for block, file, line in function.lines:
        first.setdefault(block, (file, line))
    begins: dict[tuple[str, int], set[int]] = {}
    for block, at in first.items():
        if at in lines and block in behind_decisions:
            begins.setdefault(at, set()).add(block)
    # a block that neither calls nor decides may only store what was decided
    return {
        at: frozenset(blocks)
        for at, blocks in begins.items()
        if all(block in calling or ways.get(block, 0) > 1 for block in blocks)
    }
