"""Automated path generation: paths that lie near a failing run's, nearest first (paper 001, Section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, Protocol

from suspectra.base.cancellation import check
from suspectra.paths.path import dependents
from suspectra.paths.statement_graph import StatementGraph

MAX_PER_SET = 64
"""Paths that are made by turning the same branches; nested branches make many."""

Statements = tuple[int, ...]
"""What is executed, in order."""


class Judge(Protocol):
    """Says whether inputs can drive a program along a path, and what comes out then."""

    def feasible(self, statements: Statements, whole: bool) -> bool:
        """Whether there may be an input.

        True also where it is not known.
        """

    def successful(self, statements: Statements) -> bool:
        """Whether the run along a feasible path is right."""


class Candidate(NamedTuple):
    """A path that was tried."""

    turned: tuple[int, ...]  # positions of the failing run's branches that come out differently: its distance
    statements: Statements  # the path
    # how it was judged
    feasible: bool
    successful: bool


@dataclass
class _Level:
    """The paths of one set of turned branches, and the branches that are turned next."""

    paths: list[Statements]
    branches: Iterator[int]
    turned: tuple[int, ...]
    found: list[Statements] = field(default_factory=list)


class PathSearch:
    """Generates paths near a failing run's until one is feasible and successful (`generatePaths`, Figure 3)."""

    def __init__(
        self,
        graph: StatementGraph,
        failing: Sequence[int],  # the statements of the failing run, in order
        judge: Judge,
        *,
        fixed: frozenset[int] = frozenset(),  # branches that are never turned
        max_per_set: int = MAX_PER_SET,  # paths that are made by turning the same branches, at most
    ):
        self._graph, self._judge, self._max_per_set = graph, judge, max_per_set
        self._failing = tuple(failing)
        self._depends_on = graph.path(self._failing).depends_on.tolist()
        self._branches = [
            place
            for place, statement in enumerate(self._failing[:-1])
            if graph.is_branch(statement) and statement not in fixed
        ]
        self.left_out = 0  # sets of branches of which paths were left out because of `max_per_set`

    def candidates(self) -> Iterator[Candidate]:
        """Try paths, the nearest first.

        In an order in which none is nearer than an earlier one (Theorem 1). The last one is successful, or there is
        none.
        """
        levels = [_Level([self._failing], reversed(self._branches), ())]
        while levels:
            check()
            level = levels[-1]
            branch = next(level.branches, None)
            if branch is None or not level.paths:
                levels.pop()
            elif any(self._depends(event, branch) for event in level.turned):
                level.paths = [path for path in level.paths if self._judge.feasible(path[branch:], False)]
            else:
                made = []
                for candidate in self._turn(level, branch):
                    yield candidate
                    if candidate.successful:
                        return
                    made.append(candidate.statements)
                if made:
                    earlier = [place for place in self._branches if place < branch]
                    levels.append(_Level(made, reversed(earlier), (branch, *level.turned)))

    def _turn(self, level: _Level, branch: int) -> Iterator[Candidate]:
        """Let a branch come out differently in all paths of a level. What is before it is as in the failing run."""
        turned, made = (branch, *level.turned), 0
        for path in level.paths:
            depends_on = self._graph.path(path).depends_on.tolist()
            after = ~dependents(depends_on, branch)
            rejoins = next((place for place in range(branch + 1, len(path)) if after[place]), None)
            if rejoins is None:
                continue
            rest = path[rejoins + 1 :]
            for way in self._graph.ways(path[branch], path[rejoins], but_not=path[branch + 1]):
                check()
                if not self._judge.feasible(way + rest, False):
                    continue
                if made == self._max_per_set:
                    self.left_out += 1
                    return
                made += 1
                whole = path[:branch] + way + rest
                feasible = self._judge.feasible(whole, True)
                yield Candidate(turned, whole, feasible, feasible and self._judge.successful(whole))

    def _depends(self, event: int, branch: int) -> bool:
        """Whether an event of the failing run is transitively dependent on a branch."""
        while event > branch:
            event = self._depends_on[event]
        return event == branch


def sets_of_branches(depends_on: Sequence[int], branches: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Choose the branches that come out differently together, in the order in which `PathSearch` turns them.

    Positions, ascending. No branch depends on another one of its set: turned, that would not be executed.
    """
    reasons = cache(lambda branch: frozenset(_reasons(depends_on, branch)))

    def chosen(before: int, others: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for place in range(before - 1, -1, -1):
            branch = branches[place]
            if any(branch in reasons(event) or event in reasons(branch) for event in others):
                continue
            turned = (branch, *others)
            if len(turned) == size:
                yield tuple(sorted(turned))
            else:
                yield from chosen(place, turned)

    yield from chosen(len(branches), ())


def _reasons(depends_on: Sequence[int], branch: int) -> Iterator[int]:
    """All events that one depends on, directly or not."""
    reason = depends_on[branch]
    while reason >= 0:
        yield reason
        reason = depends_on[reason]
