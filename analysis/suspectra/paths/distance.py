"""How far a run is from another one: the branches that came out differently (paper 001, Section 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suspectra.paths.path import Path


class Distance(NamedTuple):
    """The branches of a run that correspond to branches of another one and came out differently.

    Parameters
    ----------
    branches : tuple of int
        Their positions, ascending.
    same_flow : bool, optional
        Both runs execute the same statements in the same order. This counts as the largest distance, since there is
        nothing to report.

    Examples
    --------
    >>> distances = [Distance((), True), Distance((1,)), Distance((1, 4)), Distance((2, 4))]
    >>> [one.branches for one in sorted(distances, key=lambda one: one.nearness)]
    [(2, 4), (1, 4), (1,), ()]
    >>> Distance((2, 4)).events, Distance((), same_flow=True).events
    ((2, 4), (0,))
    """

    branches: tuple[int, ...]
    same_flow: bool = False

    @property
    def events(self) -> tuple[int, ...]:
        """The positions of the events that Definition 3 names: the first event where the control flow is the same."""
        return (0,) if self.same_flow else self.branches

    @property
    def nearness(self) -> tuple[int, ...]:
        """What orders distances from the same run, nearest first (Definition 4).

        Read from the end: where two distances first differ, the later event is nearer, and the one that ends is nearer.
        """
        return (0,) if self.same_flow else tuple(-(place + 1) for place in reversed(self.branches))


class Parting(NamedTuple):
    """Where two runs begin to differ.

    Parameters
    ----------
    position : int
        Of the first event of a run that has no counterpart, or whose counterpart came out differently; the number of
        events where only the other run goes on.
    other : int
        Of its counterpart; -1 for none.

    Examples
    --------
    >>> Parting(3, -1).other
    -1
    """

    position: int
    other: int


def distance(run: Path, other: Path) -> Distance:
    """Find the corresponding branches that came out differently (paper 001, Definition 3).

    Parameters
    ----------
    run, other : Path
        Of the same program. The distance is measured in the events of the first; it is not symmetric.

    Returns
    -------
    Distance
        Without any branch but not of the same flow where the runs differ only since one ended early.

    Examples
    --------
    >>> run = Path.from_events([(1, -1, 0), (3, -1, 0), (5, -1, 1), (6, 2, 1), (7, 3, -1), (10, -1, -1)])
    >>> other = Path.from_events([(1, -1, 0), (3, -1, 1), (4, 1, -1), (5, -1, 1), (6, 3, 0), (9, 4, -1), (10, -1, -1)])
    >>> distance(run, other).branches, distance(run, run).events
    ((1, 3), (0,))
    """
    if run.same_flow(other):
        return Distance((), same_flow=True)
    counterpart = run.aligned(other)
    differs = run.is_branch & (counterpart >= 0)
    differs[differs] = run.outcome[differs] != other.outcome[counterpart[differs]]
    return Distance(tuple(np.flatnonzero(differs).tolist()))


def differing_events(run: Path, other: Path) -> int:
    """Count the events in which two runs differ.

    Parameters
    ----------
    run, other : Path
        Of the same program.

    Returns
    -------
    int
        Events of both that have no counterpart, and pairs of corresponding ones that came out differently.

    Examples
    --------
    >>> run = Path.from_events([(1, -1, 0), (3, -1, -1)])
    >>> differing_events(run, Path.from_events([(1, -1, 1), (2, 0, -1), (3, -1, -1)]))
    2
    """
    counterpart = run.aligned(other)
    there = counterpart >= 0
    turned = np.count_nonzero(run.outcome[there] != other.outcome[counterpart[there]])
    shared = np.count_nonzero(there)
    return int(turned + len(run) - shared + len(other) - shared)


def parting(run: Path, other: Path) -> Parting | None:
    """Find where two runs begin to differ.

    Parameters
    ----------
    run, other : Path
        Of the same program.

    Returns
    -------
    Parting or None
        None where they take the same path.

    Examples
    --------
    >>> run = Path.from_events([(1, -1, -1), (3, -1, 0), (5, -1, -1)])
    >>> parting(run, Path.from_events([(1, -1, -1), (3, -1, 1), (4, 1, -1), (5, -1, -1)]))
    Parting(position=1, other=1)
    >>> parting(run, Path.from_events([(1, -1, -1)])), parting(run, run)
    (Parting(position=1, other=-1), None)
    """
    counterpart = run.aligned(other)
    there = counterpart >= 0
    differs = ~there
    differs[there] = run.outcome[there] != other.outcome[counterpart[there]]
    if len(first := np.flatnonzero(differs)):
        return Parting(int(first[0]), int(counterpart[first[0]]))
    return Parting(len(run), -1) if len(other) > len(run) else None
