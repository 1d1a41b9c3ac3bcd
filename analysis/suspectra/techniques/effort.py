"""Estimates of the time and memory that a technique needs, so that hopeless cases are refused before they start."""

from __future__ import annotations

from dataclasses import dataclass

from suspectra.base.errors import NothingToRank, Problem

MAX_SECONDS, MAX_GB = 30.0, 4.0
"""The limits of a technique: nobody waits longer in an editor, and an ordinary machine has no more memory to spare."""


@dataclass(frozen=True)
class Effort:
    """An estimate from the sizes of the evidence."""

    seconds: float  # on a processor of about 2020
    gb: float  # peak memory in GiB, without the evidence

    def __str__(self) -> str:
        return f"about {_in_words(self.seconds)} and {self.gb:.1f} GB"

    @property
    def bearable(self) -> bool:
        """Whether the estimate is within the limits."""
        return self.seconds <= MAX_SECONDS and self.gb <= MAX_GB

    def require(self, technique: str, cause: str, cure: str) -> None:
        """Refuse to start if it would take too long or too much memory.

        Raises NothingToRank when the estimate exceeds the limits of suspectra.techniques.effort.
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
