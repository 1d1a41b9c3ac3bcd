"""Automated path generation: paths that lie near a failing run's, nearest first (paper 001, Section 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Generic, NamedTuple, Protocol, TypeVar

from suspectra.base.cancellation import check

Run = TypeVar("Run", covariant=True)
"""A run of the program."""


class TriedPath(NamedTuple):
    """A path that was tried."""

    turned: tuple[int, ...]  # positions of the failing run's branches that come out differently: its distance
    # how it was judged
    feasible: bool  # whether a run took it; a run with forced decisions may differ in others, too
    successful: bool
    forced: bool = False  # whether these decisions were forced, instead of looking for an input
    places: tuple[str, ...] = ()  # where they are, as files and lines


class Judge(Protocol[Run]):
    """Says whether inputs can drive a program along a path, and what comes out then."""

    def may_end(self, turned: tuple[int, ...], begin: int) -> bool:
        """Whether an input may let a run end as the failing one from an event on, but for some branches there.

        True also where it is not known. What is executed only because of a turned branch may be anything.
        """

    def tried(self, turned: tuple[int, ...]) -> tuple[TriedPath, Run | None]:
        """Look for an input that turns some branches and no others; the run with it if that is right."""


@dataclass
class _Level:
    """The paths of one set of turned branches, and the branches that are turned next."""

    branches: Iterator[int]
    turned: tuple[int, ...]
    possible: bool = True  # whether there may be such paths


class PathSearch(Generic[Run]):
    """Generates paths near a failing run's until one is feasible and successful (`generatePaths`, Figure 3).

    The paths of one set of turned branches differ in what is executed because of those. Here they are one: a solver and
    runs find the inputs that take any of them, and so the ways through loops and calls need not be listed.
    """

    def __init__(
        self,
        depends_on: Sequence[int],  # of each event of the failing run the one that it depends on; -1 for none
        branches: Sequence[int],  # positions of those events that may be turned, ascending
        judge: Judge[Run],
        is_over: Callable[[], bool] = lambda: False,  # whether to stop
    ):
        self._depends_on, self._branches, self._judge, self._is_over = depends_on, branches, judge, is_over

    def candidates(self) -> Iterator[tuple[TriedPath, Run | None]]:
        """Try paths, the nearest first.

        In an order in which none is nearer than an earlier one (Theorem 1). The last one is successful, or there is
        none. Numbers of lines are those of Figure 3.
        """
        levels = [_Level(reversed(self._branches), ())]
        while levels and not self._is_over():
            check()
            level = levels[-1]
            branch = next(level.branches, None) if level.possible else None  # 28, 29
            if branch is None:
                levels.pop()
            elif any(self._depends(event, branch) for event in level.turned):  # 3
                level.possible = self._judge.may_end(level.turned, branch)  # 26
            elif self._judge.may_end(turned := (branch, *level.turned), branch):  # 11
                tried, run = self._judge.tried(turned)  # 14
                yield tried, run
                if tried.successful:
                    return
                levels.append(_Level(reversed([place for place in self._branches if place < branch]), turned))  # 20

    def _depends(self, event: int, branch: int) -> bool:
        """Whether an event of the failing run is transitively dependent on a branch."""
        while event > branch:
            event = self._depends_on[event]
        return event == branch


def sets_of_branches(
    depends_on: Sequence[int], branches: Sequence[int], most: int, least: int = 1
) -> Iterator[tuple[int, ...]]:
    """Choose so many branches that come out differently together, in the order in which `PathSearch` turns them.

    Positions, ascending. No branch depends on another one of its set: turned, that would not be executed.
    """
    reasons = cache(lambda branch: frozenset(_reasons(depends_on, branch)))

    def chosen(before: int, others: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for place in range(before - 1, -1, -1):
            branch = branches[place]
            if any(branch in reasons(event) or event in reasons(branch) for event in others):
                continue
            turned = (branch, *others)
            if len(turned) >= least:
                yield tuple(sorted(turned))
            if len(turned) < most:
                yield from chosen(place, turned)

    yield from chosen(len(branches), ())


def _reasons(depends_on: Sequence[int], branch: int) -> Iterator[int]:
    """All events that one depends on, directly or not."""
    reason = depends_on[branch]
    while reason >= 0:
        yield reason
        reason = depends_on[reason]
