"""Moves: where a reader may look next, and why."""

from __future__ import annotations

from dataclasses import dataclass

SAME_FUNCTION = "same function"
RUNS_JUST_BEFORE = "runs just before"
RUNS_JUST_AFTER = "runs just after"
CALLS_THIS = "calls this"
CALLED_FROM_HERE = "called from here"
NEXT = "next in the ranking"
SAME_PLACE = "same place in the ranking"
HIGHER = "higher in the ranking"


@dataclass(frozen=True)
class Move:
    """An element that a reader may look at next."""

    element: int  # index into the spectrum's elements
    probability: float  # the probability of this move; those of all moves from one element add up to 1
    reasons: tuple[str, ...]  # what connects the two elements, the most specific reason first
