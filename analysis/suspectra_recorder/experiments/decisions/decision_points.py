"""Times that decisions are made, at which they come out differently, and what came of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

EVERY = 0
"""As an instance: each time that a decision is made; the first time is 1."""


class DecisionPoint(NamedTuple):
    """A time that a decision is made."""

    path: str  # of its source
    number: int  # which of the source's decisions
    instance: int  # its how many-th time, from 1 on, or `EVERY`
    action: str = "other"  # how it comes out then: `true` or `false`, or `other` for the opposite of what it would be

    def outcome(self, taken: bool) -> bool:
        """How the decision comes out."""
        return not taken if self.action == "other" else self.action == "true"


@dataclass
class Switched:
    """What came of switching decisions."""

    times: int  # how often one was switched
    outcomes: list[int]  # how each decision that was watched came out: 0 for false, 1 for true, -1 if it was not made
    marks: list[int]  # what was marked then; -1 if it was not made
    decisions: int  # how many decisions the run made
