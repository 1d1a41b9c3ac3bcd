"""Backward slices of failures: the lines on which a failure depends, and by how many steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SLICE = "slice"
"""The technique that needs slices."""


@dataclass(frozen=True, eq=False)
class FailureSlice:
    """What the failure of one test depends on."""

    test: str  # its name, as the evidence has it
    # for each line of the slice, by file and number from 1, how many dependences there are at least between it and the
    # failure
    distance: Mapping[tuple[str, int], int]
