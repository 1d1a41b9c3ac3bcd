"""What a search for paths has found, by whichever technique."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from suspectra.location import Location
from suspectra.paths.transitions import Transition

CALL = "call"
"""The kind of an event that is the beginning of a call."""


STATEMENT = "statement"
"""The kind of a place that is not a decision, as cause transitions have them."""


class ReportedPlace(NamedTuple):
    """A decision or a call of a failing run that is different in a run that passes.

    Parameters
    ----------
    location : Location
        Of what is decided by; for a call, of the body of the function.
    kind : str
        That of the decision, such as ``if``, or ``call``.
    instance : int
        Its how many-th time in the failing run, from 1.
    outcome : bool or None
        How it came out; None for a call, and for a decision that is neither true nor false, as that of a ``switch``.
    wanted : bool or None
        How it came out in the run that passes; None also where that has no such event. A loop that ended there is
        false.
    column : int, optional
        Where a decision begins that is only a part of its line, or goes over several, in bytes from 0; 0 otherwise.
    operand : str, optional
        The text of such a decision; empty otherwise.

    Examples
    --------
    >>> ReportedPlace(Location("cart.py", 8, 8), "if", 2, False, True).location.short
    'cart.py:8'
    """

    location: Location
    kind: str
    instance: int
    outcome: bool | None
    wanted: bool | None
    column: int = 0
    operand: str = ""


def grouped(places: Iterable[ReportedPlace]) -> dict[ReportedPlace, int]:
    """Take those together that differ in the same way: other times of the same place.

    Parameters
    ----------
    places : iterable of ReportedPlace
        In the order of the failing run.

    Returns
    -------
    dict of ReportedPlace to int
        The first of each group, and how many times it was that way.

    Examples
    --------
    >>> where = Location("cart.py", 8, 8)
    >>> made = [(1, True), (2, False), (3, True)]
    >>> found = grouped(ReportedPlace(where, "if", time, out, not out) for time, out in made)
    >>> [(place.instance, place.outcome, times) for place, times in found.items()]
    [(1, True, 2), (2, False, 1)]
    """
    firsts: dict[tuple[object, ...], ReportedPlace] = {}
    times: dict[ReportedPlace, set[int]] = {}
    for one in places:
        alike = (one.location, one.column, one.operand, one.outcome, one.wanted)
        times.setdefault(firsts.setdefault(alike, one), set()).add(one.instance)
    return {one: len(instances) for one, instances in times.items()}


@dataclass(frozen=True)
class PathReport:
    """What one search for paths has found so far.

    Parameters
    ----------
    technique : str
        Its name.
    test : str
        The name of the failing test.
    report : tuple of ReportedPlace
        The statements that it names, the most suspicious one first.
    other : str or None
        The run that passes: the name of its test, or its input as text; None for the same test and input.
    distance : tuple of ReportedPlace
        The decisions that came out differently, in the order of the failing run.
    candidates : int
        How many runs were tried or compared.
    complete : bool
        Whether nothing is left to be tried. Limits other than the time are among the notes.
    seconds : float
        How long it took.
    summary : str, optional
        What was found, as one sentence; empty for nothing.
    parts : ReportedPlace, optional
        Where the two runs part: up to there they go the same way. None where one ended before.
    notes : tuple of str, optional
        What else is to be known, as sentences: limits that were met, and what could not be done.
    transitions : tuple of Transition, optional
        What makes the difference between the two runs, from the first cause to the failure.

    Examples
    --------
    >>> place = ReportedPlace(Location("cart.py", 8, 8), "if", 2, False, True)
    >>> report = PathReport("nearest-path", "test_a", (place,), "test_b", (place,), 3, True, 0.25)
    >>> report.found, report.lines
    (True, (('cart.py', 8),))
    """

    technique: str
    test: str
    report: tuple[ReportedPlace, ...]
    other: str | None
    distance: tuple[ReportedPlace, ...]
    candidates: int
    complete: bool
    seconds: float
    summary: str = ""
    parts: ReportedPlace | None = None
    notes: tuple[str, ...] = ()
    transitions: tuple[Transition, ...] = ()

    @property
    def lines(self) -> tuple[tuple[str, int], ...]:
        """Files and numbers of the lines that it names, each once, in its order."""
        return tuple(dict.fromkeys((place.location.file, place.location.line) for place in self.report))

    @property
    def found(self) -> bool:
        """Whether it names any statement."""
        return bool(self.report)
