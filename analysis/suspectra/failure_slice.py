"""Backward slices of failures: the lines on which a failure depends, and by how many steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SLICE = "slice"
"""The technique that needs slices."""


@dataclass(frozen=True, eq=False)
class FailureSlice:
    """What the failure of one test depends on.

    Parameters
    ----------
    test : str
        Its name, as the evidence has it.
    distance : mapping of (str, int) to int
        For each line of the slice, by file and number from 1, how many dependences there are at least between it and
        the failure.

    Examples
    --------
    >>> FailureSlice("test_a", {("cart.py", 8): 2}).distance["cart.py", 8]
    2
    """

    test: str
    distance: Mapping[tuple[str, int], int]
