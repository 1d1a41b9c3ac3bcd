"""What a search for paths has found, by whichever technique."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from suspectra.base.location import Location
from suspectra.paths.generation import TriedPath
from suspectra.paths.transition_search import Transition

CALL = "call"
"""The kind of an event that is the beginning of a call."""


STATEMENT = "statement"
"""The kind of a place that is not a decision, as cause transitions have them."""


class ReportedPlace(NamedTuple):
    """A decision or a call of a failing run that is different in a run that passes."""

    location: Location  # of what is decided by; for a call, of the body of the function
    kind: str  # that of the decision, such as `if`, or `call`
    instance: int  # its how many-th time in the failing run, from 1
    # how it came out; None for a call, and for a decision that is neither true nor false, as that of a `switch`
    outcome: bool | None
    wanted: bool | None  # how it came out in the run that passes; None also where that has no such event
    # where a decision begins that is only a part of its line, or goes over several, in bytes from 0; 0 otherwise
    column: int = 0
    operand: str = ""  # the text of such a decision; empty otherwise


def grouped(places: Iterable[ReportedPlace]) -> dict[ReportedPlace, int]:
    """Take those together that differ in the same way: other times of the same place.

    The first of each group, and how many times it was that way.
    """
    firsts: dict[tuple[object, ...], ReportedPlace] = {}
    times: dict[ReportedPlace, set[int]] = {}
    for one in places:
        alike = (one.location, one.column, one.operand, one.outcome, one.wanted)
        times.setdefault(firsts.setdefault(alike, one), set()).add(one.instance)
    return {one: len(instances) for one, instances in times.items()}


@dataclass(frozen=True)
class PathReport:
    """What one search for paths has found so far."""

    technique: str  # its name
    test: str  # the name of the failing test
    report: tuple[ReportedPlace, ...]  # the statements that it names, the most suspicious one first
    # the run that passes: the name of its test, or its input as text; None for the same test and input
    other: str | None
    distance: tuple[ReportedPlace, ...]  # the decisions that came out differently, in the order of the failing run
    candidates: int  # how many runs were tried or compared
    complete: bool  # whether nothing is left to be tried. Limits other than the time are among the notes
    seconds: float  # how long it took
    summary: str = ""  # what was found, as one sentence; empty for nothing
    parts: ReportedPlace | None = None  # where the two runs part: up to there they go the same way
    # what else is to be known, as sentences: limits that were met, and what could not be done
    notes: tuple[str, ...] = ()
    # what makes the difference between the two runs, from the first cause to the failure
    transitions: tuple[Transition, ...] = ()
    tried: tuple[TriedPath, ...] = ()  # the paths for which an input was looked for, in this order
    similar: bool = True  # whether the run that passes does nearly the same; else where they part tells little

    @property
    def lines(self) -> tuple[tuple[str, int], ...]:
        """Files and numbers of the lines that it names, each once, in its order."""
        return tuple(dict.fromkeys((place.location.file, place.location.line) for place in self.report))

    @property
    def found(self) -> bool:
        """Whether it names any statement."""
        return bool(self.report)
