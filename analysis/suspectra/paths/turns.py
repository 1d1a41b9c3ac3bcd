"""Which branches of a failing run come out differently in the paths that are tried, the nearest path first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suspectra.paths.path import Path


def turned_branches(path: Path, branches: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Choose branches: first each alone, the last one first, then pairs, and so on, each number in paper 001's order.

    The paper goes on from each branch to those before it, without a limit to their number. Where an input takes part in
    many decisions, paths with few of them turned are found sooner this way.

    Parameters
    ----------
    path : Path
        The failing run.
    branches : sequence of int
        Positions of the branches that may come out differently, ascending.
    most : int
        How many of them at most.

    Yields
    ------
    tuple of int
        Ascending positions, none of which depends on another one: each is a distance. Among those of as many branches
        none is nearer than an earlier one (Theorem 1).

    Examples
    --------
    >>> run = Path.from_events([(1, -1, 0), (2, -1, 1), (3, 1, 0)])
    >>> list(turned_branches(run, [0, 1, 2], 2))
    [(2,), (1,), (0,), (0, 2), (0, 1)]
    """
    depends_on = path.depends_on.tolist()
    for number in range(1, most + 1):
        yield from _sets(depends_on, branches, number, ())


def _sets(
    depends_on: Sequence[int], branches: Sequence[int], number: int, turned: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    if len(turned) == number:
        yield turned
        return
    for branch in reversed(branches):
        if (not turned or branch < turned[0]) and not any(_depends(depends_on, event, branch) for event in turned):
            yield from _sets(depends_on, branches, number, (branch, *turned))


def _depends(depends_on: Sequence[int], event: int, branch: int) -> bool:
    while event > branch:
        event = depends_on[event]
    return event == branch
