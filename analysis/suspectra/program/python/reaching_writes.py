"""Which writes of variables and attributes may have given a point of a source what it reads."""

from __future__ import annotations

from collections.abc import Iterator

from suspectra.program.python.named_paths import Path, overlap
from suspectra.program.python.points import ENTRY, ScopePoints


class ReachingWrites:
    """The writes that reach each point of a scope, without one that certainly replaces them in between."""

    def __init__(self, scope: ScopePoints):
        self._scope = scope
        self._writes: list[tuple[int, Path]] = []
        self.certain: list[tuple[int, Path]] = []  # the points that certainly write a path
        for number, point in enumerate(scope.points):
            names = point.names
            self.certain += [(number, path) for path in names.writes]
            self._writes += [(number, path) for path in sorted(names.writes | names.changes)]
        roots = {path[0] for _, path in self._writes}
        # what is read and somewhere written in the scope, ascending
        self.read = sorted({path for point in scope.points for path in point.names.reads if path[0] in roots})
        self._place = {path: len(self._writes) + number for number, path in enumerate(self.read)}
        self._about: dict[Path, int] = {}
        self.reach = self._solve() if self.read else [0] * len(scope.points)  # for each point a set of writes

    def for_point(self, point: int, path: Path) -> list[int]:
        """Find the points that may have written what a point reads.

        In the order of the points.
        """
        return list(dict.fromkeys(self.points_of(self.reach[point] & self.about(path)))) if path in self._place else []

    def from_before(self, point: int, path: Path) -> bool:
        """Say whether a point may read a value from before its scope was entered.

        True also for what the scope never writes.
        """
        return path not in self._place or bool(self.reach[point] >> self._place[path] & 1)

    def about(self, path: Path) -> int:
        """Return all writes that concern a path, and its value from before."""
        if path not in self._about:
            writes = sum(1 << number for number, (_, other) in enumerate(self._writes) if overlap(other, path))
            self._about[path] = 1 << self._place[path] | writes
        return self._about[path]

    def points_of(self, writes: int) -> Iterator[int]:
        """Iterate over the points of some writes."""
        while writes:
            low = writes & -writes
            number = low.bit_length() - 1
            if number >= len(self._writes):
                return
            yield self._writes[number][0]
            writes ^= low

    def _solve(self) -> list[int]:
        size, writes = len(self._scope.points), len(self._writes)
        made, kept = [0] * size, [-1] * size
        for number, (point, _) in enumerate(self._writes):
            made[point] |= 1 << number
        inside = [path for _, path in self._writes] + self.read
        replaced: dict[Path, int] = {}
        for point, path in self.certain:
            if path not in replaced:
                replaced[path] = sum(1 << number for number, one in enumerate(inside) if one[: len(path)] == path)
            kept[point] &= ~replaced[path]
        before: list[list[int]] = [[] for _ in range(size)]
        after: list[list[int]] = [[] for _ in range(size)]
        for source, target in self._scope.edges:
            before[target].append(source)
            after[source].append(target)
        reach, leave = [0] * size, [0] * size
        leave[ENTRY] = ((1 << len(self.read)) - 1) << writes
        waiting = dict.fromkeys(after[ENTRY])
        while waiting:
            point = next(iter(waiting))
            del waiting[point]
            reach[point] = 0
            for one in before[point]:
                reach[point] |= leave[one]
            left = (reach[point] & kept[point]) | made[point]
            if left != leave[point]:
                leave[point] = left
                waiting.update(dict.fromkeys(after[point]))
        return reach
