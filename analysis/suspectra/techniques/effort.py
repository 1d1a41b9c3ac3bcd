"""Estimates of the time and memory that a technique needs, so that hopeless cases are refused before they start."""

from __future__ import annotations

from dataclasses import dataclass

from suspectra.errors import NothingToRank, Problem

MAX_SECONDS, MAX_GB = 30.0, 4.0
"""The limits of a technique: nobody waits longer in an editor, and an ordinary machine has no more memory to spare."""


@dataclass(frozen=True)
class Effort:
    """An estimate from the sizes of the evidence.

    Parameters
    ----------
    seconds : float
        On a processor of about 2020.
    gb : float
        Peak memory in GiB, without the evidence.

    Examples
    --------
    >>> str(Effort(7300.0, 0.25))
    'about 2 hours and 0.2 GB'
    >>> Effort(7300.0, 0.25).bearable
    False
    """

    seconds: float
    gb: float

    def __str__(self) -> str:
        return f"about {_in_words(self.seconds)} and {self.gb:.1f} GB"

    @property
    def bearable(self) -> bool:
        """Whether the estimate is within the limits."""
        return self.seconds <= MAX_SECONDS and self.gb <= MAX_GB

    def require(self, technique: str, cause: str, cure: str) -> None:
        """Refuse to start if it would take too long or too much memory.

        Parameters
        ----------
        technique : str
            Its title.
        cause, cure : str
            Why it takes so much, and what to do instead.

        Raises
        ------
        NothingToRank
            When the estimate exceeds the limits of :mod:`suspectra.techniques.effort`.

        Examples
        --------
        >>> Effort(7300.0, 0.25).require("NN/Perm", "it compares every pair of runs", "record fewer tests")
        Traceback (most recent call last):
        suspectra.errors.NothingToRank: NN/Perm would take about 2 hours and 0.2 GB, more than … Fix: …
        """
        if not self.bearable:
            limits = f"{MAX_SECONDS:.0f} seconds and {MAX_GB:.0f} GB"
            message = f"{technique} would take {self}, more than the {limits} it is given: {cause}"
            raise NothingToRank(Problem("", "", message, cure))


def _in_words(seconds: float) -> str:
    for unit, length in (("hour", 3600.0), ("minute", 60.0), ("second", 1.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:,.0f} {unit}s"
    return f"{seconds:.1g} seconds"
