"""Which executed statements of two runs are comparable, from how the statements of a program are nested.

The index of an executed statement is that of the statement around it in the same call, how often the block was entered
from there, and for the first ones of a call the statement that made it (Xin, Sumner & Zhang 2008 call this structural
indexing). So a round of a loop has the same index in two runs even if loops inside of earlier rounds went on longer.

Control dependence, as `nearest-path` uses it, would not do: an event that depends on itself, such as the test of a loop
inside of a loop, would correspond no more as soon as the inner loop went on longer in one run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.paths.path import NO_BRANCH, Path


def structural_path(
    executed: Sequence[int], call: Sequence[int], called_at: Sequence[int], block: Sequence[int], owner: Sequence[int]
) -> Path:
    """Make the path of all executed statements of a run.

    The first statement of a block depends on the statement that the block belongs to, or on the one that made the call;
    the others depend on the first one.
    """
    first: dict[tuple[int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    depends_on: list[int] = []
    for event, (number, of) in enumerate(zip(executed, call, strict=True)):
        if block[number] != number:
            depends_on.append(first.get((of, block[number]), -1))
        else:
            around = owner[number]
            depends_on.append(last.get((of, around), -1) if around >= 0 else called_at[of] if of >= 0 else -1)
            first[of, number] = event
        last[of, number] = event
    statement = np.array(executed, np.int64)
    return Path(statement, np.array(depends_on, np.int64), np.full(len(statement), NO_BRANCH, np.int64))


def comparable_points(failing: Path, passing: Path) -> list[tuple[int, int]]:
    """Find the executed statements before which the states of two runs can be compared.

    Positions in the failing run, ascending, and in the passing one, ascending too.
    """
    counterpart: Ints = failing.aligned(passing)
    found: list[tuple[int, int]] = []
    reached = -1
    for position in np.flatnonzero(counterpart >= 0).tolist():
        other = int(counterpart[position])
        if other > reached:
            found.append((position, other))
            reached = other
    return found
