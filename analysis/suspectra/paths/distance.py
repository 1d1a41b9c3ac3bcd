"""How far a run is from another one: the branches that came out differently (paper 001, Section 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suspectra.paths.path import Path


class Distance(NamedTuple):
    """The branches of a run that correspond to branches of another one and came out differently."""

    branches: tuple[int, ...]  # their positions, ascending
    same_flow: bool = False  # both runs execute the same statements in the same order

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
    """Where two runs begin to differ."""

    # of the first event of a run that has no counterpart, or whose counterpart came out differently; the number of
    # events where only the other run goes on
    position: int
    other: int  # of its counterpart; -1 for none


def distance(run: Path, other: Path) -> Distance:
    """Find the corresponding branches that came out differently (paper 001, Definition 3).

    Without any branch but not of the same flow where the runs differ only since one ended early.
    """
    if run.same_flow(other):
        return Distance((), same_flow=True)
    counterpart = run.aligned(other)
    differs = run.is_branch & (counterpart >= 0)
    differs[differs] = run.outcome[differs] != other.outcome[counterpart[differs]]
    return Distance(tuple(np.flatnonzero(differs).tolist()))


def differing_events(run: Path, other: Path) -> int:
    """Count the events in which two runs differ."""
    counterpart = run.aligned(other)
    there = counterpart >= 0
    turned = np.count_nonzero(run.outcome[there] != other.outcome[counterpart[there]])
    shared = np.count_nonzero(there)
    return int(turned + len(run) - shared + len(other) - shared)


def parting(run: Path, other: Path) -> Parting | None:
    """Find where two runs begin to differ.

    None where they take the same path.
    """
    counterpart = run.aligned(other)
    there = counterpart >= 0
    differs = ~there
    differs[there] = run.outcome[there] != other.outcome[counterpart[there]]
    if len(first := np.flatnonzero(differs)):
        return Parting(int(first[0]), int(counterpart[first[0]]))
    return Parting(len(run), -1) if len(other) > len(run) else None
