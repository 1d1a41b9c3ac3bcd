"""Times that decisions are made, at which they come out differently, and what came of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins

EVERY = 0
"""As an instance: each time that a decision is made; the first time is 1."""


class Point(NamedTuple):
    """A time that a decision is made.

    Parameters
    ----------
    path : str
        Of its source.
    number : int
        Which of the source's decisions.
    instance : int
        Its how many-th time, from 1 on, or `EVERY`.
    action : str
        How it comes out then: ``true`` or ``false``, or ``other`` for the opposite of what it would be.

    Examples
    --------
    >>> point = Point("price.py", number=3, instance=EVERY, action="true")
    >>> point.outcome(False), point.outcome(True), point._replace(action="other").outcome(True)
    (True, True, False)
    """

    path: str
    number: int
    instance: int
    action: str = "other"

    def outcome(self, taken: bool) -> bool:
        """How the decision comes out.

        Parameters
        ----------
        taken : bool
            How it would come out by itself.

        Returns
        -------
        bool
            The truth with which the program goes on.
        """
        return not taken if self.action == "other" else self.action == "true"


@dataclass
class Switched:
    """What came of switching decisions.

    Parameters
    ----------
    times : int
        How often one was switched.
    outcomes : list of int
        How each decision that was watched came out: 0 for false, 1 for true, -1 if it was not made.
    marks : list of int
        What was marked then; -1 if it was not made.
    decisions : int
        How many decisions the run made.

    Examples
    --------
    >>> found = Switched(times=1, outcomes=[0], marks=[-1], decisions=12)
    >>> found.times, found.decisions
    (1, 12)
    """

    times: int
    outcomes: list[int]
    marks: list[int]
    decisions: int
