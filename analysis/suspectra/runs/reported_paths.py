"""What searches for paths have reported about a failing test: lines, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Line = tuple[str, int]
"""A file, and the number of a line in it, from 1."""


@dataclass(frozen=True)
class ReportedPaths:
    """The statements at which the run of one failing test and one that passes part."""

    test: str  # the name of the failing test, as the evidence has it
    # by technique the lines of its report, in its order; techniques that reported nothing are left out
    lines: Mapping[str, tuple[Line, ...]]
