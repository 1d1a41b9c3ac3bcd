"""The lines that `suspectra slice` and `suspectra paths` have found about failing tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SLICE = "slice"
"""The technique that needs slices."""

Line = tuple[str, int]
"""A file, and the number of a line in it, from 1."""


@dataclass(frozen=True, eq=False)
class FailureSlice:
    """What the failure of one test depends on."""

    test: str  # its name, as the evidence has it
    # for each line of the slice, by file and number from 1, how many dependences there are at least between it and the
    # failure
    distance: Mapping[tuple[str, int], int]


@dataclass(frozen=True)
class ReportedPaths:
    """The statements at which the run of one failing test and one that passes part."""

    test: str  # the name of the failing test, as the evidence has it
    # by technique the lines of its report, in its order; techniques that reported nothing are left out
    lines: Mapping[str, tuple[Line, ...]]
