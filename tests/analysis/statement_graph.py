"""Programs as the control flow between statements: models, of which paths are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
