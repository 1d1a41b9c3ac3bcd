"""Control and summary control dependences between the points of a source (paper 002, Algorithms 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.program.dominance import control_dependences
from suspectra.program.python.named_paths import Path
from suspectra.program.python.points import EXIT, PointKind, ScopePoints, Span, scopes_of
from suspectra.program.python.reaching_writes import ReachingWrites
from suspectra_recorder.instrumentation.source import parse


class Lists(NamedTuple):
    """A list of numbers for each of many things, end to end."""

    start: Ints  # where the list of each thing begins in `number`, then how many numbers there are; shape (things + 1,)
    number: Ints  # the numbers of all lists; shape (numbers,)

    @classmethod
    def from_lists(cls, lists: Iterable[Iterable[int]]) -> Lists:
        """Put lists end to end."""
        known = [list(one) for one in lists]
        start = np.cumsum([0, *map(len, known)])
        return cls(start, np.array([number for one in known for number in one], np.int32))

    def listed(self, thing: int) -> Ints:
        """Return one of the lists.

        Of shape (k,).
        """
        return self.number[self.start[thing] : self.start[thing + 1]]


@dataclass(frozen=True, eq=False)
class PointDependences:
    """What the points of one or several sources depend on, as far as the sources alone tell."""

    kind: tuple[PointKind, ...]
    span: tuple[Span | None, ...]  # where each point is in its source
    # for each point the points that say whether it is evaluated: those it is control dependent on, and the decisions
    # that these depend on in turn
    controlling: Lists
    inside: Lists  # for each point the decisions within its own expressions
    reading: Lists  # for each point the groups of what it reads that may be written or not
    skipping: Lists  # for each group the decisions that can skip a write of it (Definition 3.1)
    # for each group the points that certainly write it: of decisions before the last one, no other outcome matters
    writing: Lists
    changing: Lists  # for each group the points that write it, certainly or perhaps

    @classmethod
    def from_scopes(cls, scopes: Sequence[ScopePoints]) -> PointDependences:
        """Find the dependences of one source."""
        first = 0
        controlling: list[list[int]] = []
        groups: list[_Group] = []
        reading: list[list[int]] = []
        for scope in scopes:
            parents = _controlling(scope)
            controlling += [[first + one for one in some] for some in parents]
            number: dict[_Group, int] = {}
            for some in _Merged(scope, parents).groups():
                shifted = [_Group(*(_shifted(points, first) for points in one)) for one in some]
                reading.append([number.setdefault(one, len(groups) + len(number)) for one in shifted])
            groups += number
            first += len(scope.points)
        points = [point for scope in scopes for point in scope.points]
        offsets = np.repeat(
            np.cumsum([0, *[len(scope.points) for scope in scopes]])[:-1], [len(scope.points) for scope in scopes]
        ).tolist()
        return cls(
            tuple(point.kind for point in points),
            tuple(point.span for point in points),
            Lists.from_lists(controlling),
            Lists.from_lists(
                [offset + one for one in point.inside] for point, offset in zip(points, offsets, strict=True)
            ),
            Lists.from_lists(reading),
            Lists.from_lists(group.skipping for group in groups),
            Lists.from_lists(group.writing for group in groups),
            Lists.from_lists(group.changing for group in groups),
        )

    @classmethod
    def from_source(cls, source: bytes) -> PointDependences:
        """Read a source; nothing of it is executed.

        Of all its scopes; empty for what is not Python.
        """
        return cls.from_scopes(scopes_in(source))

    def __len__(self) -> int:
        return len(self.kind)

    def at(self, line: int, column: int) -> int:
        """Find the innermost statement, or part of an expression, at a place."""
        found, size = -1, None
        for point in self._by_line.get(line, ()):
            span = self.span[point]
            assert span is not None
            if span[:2] <= (line, column) < span[2:]:
                extent = (span.end_line - span.line, span.end_column - span.column, -point)
                if size is None or extent < size:
                    found, size = point, extent
        return found

    def first_on(self, line: int) -> int:
        """Find the first statement, or part of one, on a line.

        The number of the point: the first that begins there, or else the smallest around it; -1 for none.
        """
        around = self._by_line.get(line, ())
        begins = [point for point in around if (span := self.span[point]) is not None and span.line == line]
        if begins:
            return min(begins, key=lambda point: self.span[point] or ())
        return min(around, key=lambda point: self._lines(point), default=-1)

    def _lines(self, point: int) -> int:
        span = self.span[point]
        return 0 if span is None else span.end_line - span.line

    def decision(self, span: Span) -> int:
        """Find the decision that is made by a part of the source."""
        return self._decisions.get(span, -1)

    def end_of(self, line: int, column: int) -> int:
        """Find the end of a function that gives a value elsewhere."""
        return self._ends.get((line, column), -1)

    def decisions_skipping(self, point: int) -> list[int]:
        """Return the decisions on which a point has a summary control dependence."""
        groups = self.reading.listed(point).tolist()
        return sorted({number for group in groups for number in self.skipping.listed(group).tolist()})

    @cached_property
    def _decisions(self) -> dict[Span, int]:
        return {
            span: point
            for point, (kind, span) in enumerate(zip(self.kind, self.span, strict=True))
            if kind is PointKind.DECISION and span is not None
        }

    @cached_property
    def _ends(self) -> dict[tuple[int, int], int]:
        return {
            span[:2]: point
            for point, (kind, span) in enumerate(zip(self.kind, self.span, strict=True))
            if kind is PointKind.END and span is not None
        }

    @cached_property
    def _by_line(self) -> dict[int, list[int]]:
        """The points on each line, without decisions and ends."""
        found: dict[int, list[int]] = {}
        for point, (kind, span) in enumerate(zip(self.kind, self.span, strict=True)):
            if span is not None and kind not in (PointKind.DECISION, PointKind.END):
                for line in range(span.line, span.end_line + 1):
                    found.setdefault(line, []).append(point)
        return found


def scopes_in(source: bytes) -> list[ScopePoints]:
    """Find the points of a source that may be anything.

    Empty for what is not Python.
    """
    try:
        return scopes_of(parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def joined(tables: Sequence[PointDependences]) -> PointDependences:
    """Number the points of several sources one after the other.

    The first point of a source follows the last one of the source before.
    """
    points = np.cumsum([0, *map(len, tables)]).tolist()
    groups = np.cumsum([0, *[len(table.skipping.start) - 1 for table in tables]]).tolist()

    def put(lists: Iterable[Lists], shifts: Sequence[int]) -> Lists:
        start: list[Ints] = [np.zeros(1, np.int64)]
        number: list[Ints] = [np.zeros(0, np.int32)]
        total = 0
        for one, shift in zip(lists, shifts, strict=False):
            start.append(one.start[1:] + total)
            number.append((one.number + shift).astype(np.int32))
            total += int(one.start[-1])
        return Lists(np.concatenate(start), np.concatenate(number))

    return PointDependences(
        tuple(kind for table in tables for kind in table.kind),
        tuple(span for table in tables for span in table.span),
        put((table.controlling for table in tables), points),
        put((table.inside for table in tables), points),
        put((table.reading for table in tables), groups),
        put((table.skipping for table in tables), points),
        put((table.writing for table in tables), points),
        put((table.changing for table in tables), points),
    )


class _Group(NamedTuple):
    """Something that is read, and may have been written or not."""

    skipping: tuple[int, ...]
    writing: tuple[int, ...]
    changing: tuple[int, ...]


def _shifted(points: Iterable[int], by: int) -> tuple[int, ...]:
    return tuple(point + by for point in points)


def _controlling(scope: ScopePoints) -> list[list[int]]:
    """What each point is control dependent on, and the decisions above."""
    size = len(scope.points)
    direct: list[set[int]] = [set() for _ in range(size)]
    for decision, point in control_dependences(size, sorted(scope.edges), [EXIT]):
        direct[point].add(decision)
    found = []
    for point in range(size):
        nearest, above = set(), set()
        waiting = [(one, True) for one in direct[point]]
        seen = set()
        while waiting:
            one, near = waiting.pop()
            if one in seen and not near:
                continue
            seen.add(one)
            kind = scope.points[one].kind
            if near and kind is not PointKind.JOIN:
                nearest.add(one)
            if kind is PointKind.DECISION:
                above.add(one)
            # a join has no instances of its own, and a part may have none, so what they depend on takes their place
            still_near = near and kind in (PointKind.JOIN, PointKind.PART)
            waiting += [(more, still_near) for more in direct[one] if more not in seen]
        found.append(sorted(nearest | above))
    return found


class _Merged:
    """What each point of a scope reads that several writes may have given its value: a phi function has it."""

    def __init__(self, scope: ScopePoints, controlling: Sequence[Sequence[int]]):
        self._scope, self._controlling = scope, controlling
        self._writes = ReachingWrites(scope)

    def groups(self) -> Iterator[list[_Group]]:
        """For each point what it reads that a decision could have left as it was."""
        writes = self._writes
        of_path = {path: (writes.about(path), self._writing(path)) for path in writes.read}
        above = [frozenset(self._decisions(some)) for some in self._controlling]
        known: dict[tuple[int, Path], _Group | None] = {}
        for point, reached in zip(self._scope.points, writes.reach, strict=True):
            found: dict[_Group, None] = {}
            for path in sorted(point.names.reads):
                if path not in of_path:
                    continue
                bits, writing = of_path[path]
                reaching = reached & bits
                if (reaching, path) not in known:
                    known[reaching, path] = self._group(reaching, writing, above)
                if (group := known[reaching, path]) is not None:
                    found[group] = None
            yield list(found)

    def _group(self, reaching: int, writing: tuple[int, ...], above: Sequence[frozenset[int]]) -> _Group | None:
        """None where one write alone reaches: then no definition is merged by a phi function."""
        if reaching & (reaching - 1) == 0:
            return None
        changing = sorted({*self._writes.points_of(reaching)})
        skipping = {decision for point in changing for decision in above[point]}
        return _Group(tuple(sorted(skipping)), writing, tuple(changing)) if skipping else None

    def _decisions(self, points: Iterable[int]) -> Iterator[int]:
        return (point for point in points if self._scope.points[point].kind is PointKind.DECISION)

    def _writing(self, path: Path) -> tuple[int, ...]:
        return tuple(sorted({point for point, other in self._writes.certain if path[: len(other)] == other}))
