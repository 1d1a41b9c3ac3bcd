"""What makes the difference between a failing and a passing run, from place to place (Cleve & Zeller 2005)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from suspectra.base.location import Location

CauseT = TypeVar("CauseT", bound=Hashable)

MAX_PROBES = 24
"""Into how many parts the points are divided at most, to look for any cause."""


MAX_IN_GAP = 7
"""Points between two with different causes that are tried, until one has a cause: those that halve, then quarter it."""


class CausePlace(NamedTuple):
    """A place of a state that is a cause of the failure, or a part of one."""

    place: str  # the access path, such as `items[2]` or `len(items)`
    function: str  # the function whose variable it begins with
    # what is there in each run
    failing: str
    passing: str

    def __str__(self) -> str:
        return f"`{self.place}` is {self.failing}, not {self.passing}"


class Transition(NamedTuple):
    """A step from one cause to the next."""

    # the statement after which the new cause is there; for the first cause the one before which it is seen first
    location: Location
    instance: int  # its how many-th time in the failing run, from 1
    places: tuple[CausePlace, ...]  # the new cause; empty for the step to the failure
    first: bool  # whether it is the first cause
    around: tuple[Location, ...]  # other statements that the failing run executed in this step, the last ones first

    def __str__(self) -> str:
        if not self.places:
            return f"the test fails after {self.location.short}"
        causes = " and ".join(map(str, self.places))
        return f"{causes}, {'before' if self.first else 'since'} {self.location.short}"


class Infection(NamedTuple):
    """Between which transitions of a chain a state becomes wrong."""

    right: int  # the last transition whose cause is right; -1 for none
    wrong: int  # the first one whose cause is wrong, or the failure


def infection(chain: Sequence[Transition], is_right: Callable[[Transition], bool | None]) -> Infection:
    """Ask by bisection which causes of a chain are right, since a wrong one makes those after it wrong."""
    right, wrong = -1, len(chain) - 1
    open_ = [number for number, one in enumerate(chain) if one.places]
    while open_:
        middle = open_[len(open_) // 2]
        answer = is_right(chain[middle])
        if answer is None:
            open_.remove(middle)
        elif answer:
            right = middle
            open_ = [number for number in open_ if number > middle]
        else:
            wrong = middle
            open_ = [number for number in open_ if number < middle]
    return Infection(right, wrong)


class CauseSteps(NamedTuple):
    """Between which points causes are different."""

    # the first and the last point that is known to have a cause
    first: int
    last: int
    # pairs of points with different causes; no cause is known for a point between the two
    steps: tuple[tuple[int, int], ...]


def cause_steps(points: int, cause: Callable[[int], CauseT | None]) -> Iterator[CauseSteps]:
    """Look for the points between which the cause of a failure becomes another one, by bisection.

    What is known so far, each time that there is more; nothing if no cause is found.
    """
    known: dict[int, CauseT | None] = {}

    def at(point: int) -> CauseT | None:
        if point not in known:
            known[point] = cause(point)
        return known[point]

    # where the first or the last point has no cause, there may be some with one behind others without
    if not points or None in (at(0), at(points - 1)):
        for point in _spread(points):
            at(point)
    if all(known_cause is None for known_cause in known.values()):
        return
    for outwards in (-1, 1):
        _extend(points, outwards, known, at)
        yield _steps(known)
    pending = list(_steps(known).steps)
    while pending:
        begin, end = pending.pop(0)
        inside = [begin + step for step in _spread(end - begin + 1) if 0 < step < end - begin]
        found = next((one for one in inside[:MAX_IN_GAP] if at(one) is not None), None)
        if found is None:
            continue
        pending += [
            (one, other) for one, other in ((begin, found), (found, end)) if at(one) != at(other) and other > one + 1
        ]
        yield _steps(known)


def _spread(points: int) -> Iterator[int]:
    """The first point, the last one, and those in the middle of what is left."""
    seen = set()
    parts = 1
    while parts <= MAX_PROBES:
        for part in range(parts + 1):
            point = part * (points - 1) // parts if points else -1
            if point >= 0 and point not in seen:
                seen.add(point)
                yield point
        parts *= 2


def _extend(points: int, outwards: int, known: dict[int, CauseT | None], at: Callable[[int], CauseT | None]) -> None:
    """Look for the outermost point with a cause, between those with one and the next without."""
    with_cause = [point for point, cause in known.items() if cause is not None]
    inner = max(with_cause) if outwards > 0 else min(with_cause)
    outer = points if outwards > 0 else -1
    for point, cause in known.items():
        if cause is None and (point - inner) * outwards > 0 and (outer - point) * outwards > 0:
            outer = point
    while abs(outer - inner) > 1:
        middle = (inner + outer) // 2
        if at(middle) is None:
            outer = middle
        else:
            inner = middle


def _steps(known: dict[int, CauseT | None]) -> CauseSteps:
    with_cause = sorted(point for point, cause in known.items() if cause is not None)
    pairs = pairwise(with_cause)
    return CauseSteps(
        with_cause[0], with_cause[-1], tuple((one, other) for one, other in pairs if known[one] != known[other])
    )
