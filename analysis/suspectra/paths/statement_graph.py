"""The control flow between statements, as far as a search for paths needs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from suspectra.paths.path import NO_BRANCH, Path
from suspectra.program.dominance import control_dependences


@dataclass(frozen=True, eq=False)
class StatementGraph:
    """Which statements can follow each other."""

    successors: Mapping[int, Sequence[int]]  # for each statement those that can come next, in the order of its arms

    def is_branch(self, statement: int) -> bool:
        """Say whether there are several ways on from a statement."""
        return len(self.successors.get(statement, ())) > 1

    @cached_property
    def decides(self) -> Mapping[int, frozenset[int]]:
        """The branches that each statement is statically control dependent on."""
        names = sorted({*self.successors, *(next_ for after in self.successors.values() for next_ in after)})
        number = {name: place for place, name in enumerate(names)}
        edges = [(number[name], number[next_]) for name, after in self.successors.items() for next_ in after]
        exits = [number[name] for name in names if not self.successors.get(name)]
        found: dict[int, set[int]] = {name: set() for name in names}
        for branch, dependent in control_dependences(len(names), edges, exits):
            found[names[dependent]].add(names[branch])
        return {name: frozenset(branches) for name, branches in found.items()}

    def path(self, statements: Sequence[int]) -> Path:
        """Find the dynamic control dependences of a run (paper 001, Definition 1)."""
        last: dict[int, int] = {}
        events = []
        for place, statement in enumerate(statements):
            reason = max((last[branch] for branch in self.decides[statement] if branch in last), default=-1)
            outcome = NO_BRANCH
            if self.is_branch(statement) and place + 1 < len(statements):
                outcome = self.successors[statement].index(statements[place + 1])
            events.append((statement, reason, outcome))
            last[statement] = place
        return Path.from_events(events)

    def ways(self, start: int, end: int, but_not: int) -> Iterator[tuple[int, ...]]:
        """Find the acyclic ways between two statements that leave the first one by another arm.

        All statements of a way, in order of the arms (`get_all` of paper 001, Section 4).
        """
        arms = dict.fromkeys(self.successors.get(start, ()))
        arms.pop(but_not, None)
        stack = [iter(arms)]
        way = [start]
        while stack:
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
                way.pop()
            elif following == end:
                yield (*way, end)
            elif following not in way:
                way.append(following)
                stack.append(iter(self.successors.get(following, ())))
