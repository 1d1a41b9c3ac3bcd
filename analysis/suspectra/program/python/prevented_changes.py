"""Which decisions can keep a function from changing what another one reads.

Which object a skipped write would have changed can't be traced, since it did not happen. So changes are found by the
names of attributes, items and variables, and calls by the names of functions and by the calls that the run made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Bools
from suspectra.program.python.point_dependences import Lists, PointDependences
from suspectra.program.python.points import PointKind
from suspectra.program.python.scope_effects import GIVEN, PointEffects, ScopeEffect, ScopeEffects


@dataclass(frozen=True, eq=False)
class ChangesElsewhere:
    """What points read that decisions of any function may have kept from being changed.

    Locations are numbered. Those that no decision guards are left out.
    """

    reading: Lists  # for each point the locations that it reads
    writing: Lists  # for each point the locations that are something else after it, whatever was done with them before
    touching: Lists  # for each point the locations whose content it changes itself
    # for each location pairs of points, one after the other: a decision, and a point that it guards and that may change
    # the location
    guarded: Lists
    # whether a location is what an object contains, and whether it is a variable of a function; shape (locations,)
    is_content: Bools
    # whether a location is what an object contains, and whether it is a variable of a function; shape (locations,)
    is_local: Bools

    @classmethod
    def from_sources(
        cls, sources: Sequence[ScopeEffects], table: PointDependences, observed: Iterable[tuple[int, int]]
    ) -> ChangesElsewhere:
        """Put together what several sources do."""
        points, scope, names = _joined(sources)
        modules = set(np.cumsum([0, *[len(source.names) for source in sources]]).tolist())  # these are run once
        called = _called(points, names)
        for point, inside in observed:
            if scope[inside] not in modules:
                called[point].append((scope[inside], frozenset()))
        changed = _changed(points, scope, called, len(names))
        guarded: dict[ScopeEffect, list[int]] = {}
        for point, locations in enumerate(changed):
            if locations:
                above = [one for one in table.controlling.listed(point).tolist() if _decides(table, one)]
                for location in locations:
                    guarded.setdefault(location, []).extend(end for one in above for end in (one, point))
        number = {location: at for at, location in enumerate(one for one, pairs in guarded.items() if pairs)}
        return cls(
            Lists.from_lists(sorted(number[one] for one in point.reads if one in number) for point in points),
            Lists.from_lists(_replaced(point, number) for point in points),
            Lists.from_lists(
                sorted(number[one] for one in point.changes if one.content and one in number) for point in points
            ),
            Lists.from_lists(guarded[one] for one in number),
            np.array([one.content for one in number], bool),
            np.array([one.scope >= 0 for one in number], bool),
        )


def _replaced(point: PointEffects, number: dict[ScopeEffect, int]) -> list[int]:
    """The locations that are something else after a point: of another object the content is another one, too."""
    both = [one._replace(content=content) for one in point.writes for content in (False, True)]
    return sorted({number[one] for one in both if one in number})


def _decides(table: PointDependences, point: int) -> bool:
    return table.kind[point] is PointKind.DECISION


def _joined(sources: Sequence[ScopeEffects]) -> tuple[list[PointEffects], list[int], list[list[str]]]:
    """Points, their scopes, and the names of scopes, numbered over all sources."""
    points: list[PointEffects] = []
    scope: list[int] = []
    names: list[list[str]] = []
    for source in sources:
        first = len(names)
        points += [_moved(point, first) for point in source.points]
        scope += [first + one for one in source.scope]
        names += source.names
    return points, scope, names


def _moved(point: PointEffects, first: int) -> PointEffects:
    if not first:
        return point

    def moved(locations: frozenset[ScopeEffect]) -> frozenset[ScopeEffect]:
        return frozenset(one if one.scope < 0 else one._replace(scope=one.scope + first) for one in locations)

    calls = tuple((name, moved(given)) for name, given in point.calls)
    return PointEffects(moved(point.reads), moved(point.writes), moved(point.changes), calls)


_Called = list[list[tuple[int, frozenset[ScopeEffect]]]]


def _called(points: Sequence[PointEffects], names: Sequence[Sequence[str]]) -> _Called:
    """For each point the scopes that it may call, with what these may change in arguments."""
    by_name: dict[str, list[int]] = {}
    for number, some in enumerate(names):
        for name in some:
            by_name.setdefault(name, []).append(number)
    return [[(scope, given) for name, given in point.calls for scope in by_name.get(name, ())] for point in points]


def _changed(
    points: Sequence[PointEffects], scope: Sequence[int], called: _Called, scopes: int
) -> list[frozenset[ScopeEffect]]:
    """What each point may change, with what it calls."""
    by_scope: list[set[ScopeEffect]] = [set() for _ in range(scopes)]
    callers: list[set[int]] = [set() for _ in range(scopes)]
    for number, point in enumerate(points):
        by_scope[scope[number]] |= point.changes
        for one, _ in called[number]:
            callers[one].add(number)
    waiting = set(range(scopes))
    while waiting:
        one = waiting.pop()
        for number in callers[one]:
            inside = by_scope[scope[number]]
            before = len(inside)
            inside |= _after(number, called, by_scope)
            if len(inside) > before:
                waiting.add(scope[number])
    return [
        frozenset((point.changes | _after(number, called, by_scope)) - {GIVEN}) for number, point in enumerate(points)
    ]


def _after(point: int, called: _Called, by_scope: Sequence[set[ScopeEffect]]) -> set[ScopeEffect]:
    """What the functions that a point calls may change."""
    found: set[ScopeEffect] = set()
    for scope, given in called[point]:
        inside = by_scope[scope]
        found |= inside - {GIVEN}
        if GIVEN in inside:
            found |= given
    return found
