"""Moves: where a reader may look next, and what leads there."""

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
    """A place a reader may look at next.

    Parameters
    ----------
    element : int
        Index into the spectrum's elements.
    probability : float
        Among all places that are left; all moves from one place add up to 1.
    reasons : tuple of str
        What leads there, the most specific first: ``runs just before`` means that it runs just before the place the
        reader looks at.

    Examples
    --------
    >>> Move(3, 0.25, ("runs just before", "same function")).reasons[0]
    'runs just before'
    """

    element: int
    probability: float
    reasons: tuple[str, ...]
