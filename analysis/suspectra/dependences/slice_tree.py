"""Slices as trees: each node once, as near to a root as it is, and the rounds of a loop in one branch."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from suspectra.dependences.graph import DependenceKind
from suspectra.dependences.slices import Slice, SliceStep

_MAX_DEPTH = 200  # nobody reads further to the right, and few programs read JSON that is much deeper
_NODES = 8  # that are looked at for each branch that is wanted, since one branch may have many rounds


class SliceBranch(NamedTuple):
    """A step of a tree with those of the other rounds of its loop, and what follows it."""

    steps: tuple[SliceStep, ...]  # at one place of the program, the nearest first
    why: DependenceKind | None  # how it is related to the branch above; None for a root
    branches: tuple[SliceBranch, ...]  # below it
    # how many steps below it are not in the tree, since they are nearer to another step or there are too many
    more: int

    @property
    def step(self) -> SliceStep:
        """The nearest one."""
        return self.steps[0]

    @property
    def results(self) -> list[str]:
        """The values of all rounds, or the outcomes of the decision, each once."""
        return list(dict.fromkeys(step.result for step in self.steps if step.result))


class SliceTree(NamedTuple):
    """The branches of a slice that are nearest to its roots."""

    roots: tuple[SliceBranch, ...]
    is_cut: bool  # whether the slice has more of them


def slice_tree(found: Slice, limit: int = 200) -> SliceTree:
    """Compute the tree of a slice, with at most so many branches."""
    return _Folding(found, limit).tree()


@dataclass
class _Rounds:
    """A branch that is being made."""

    why: DependenceKind | None
    nodes: list[int] = field(default_factory=list)
    below: list[_Rounds] = field(default_factory=list)
    more: int = 0


class _Folding:
    def __init__(self, found: Slice, limit: int):
        self._found, self._limit = found, limit
        self._below: dict[int, list[tuple[int, DependenceKind]]] = {}  # what is nearest to each node
        self._elsewhere: dict[int, int] = {}  # how many more follow it
        self._reach(limit * _NODES)

    def _reach(self, most: int) -> None:
        """Go from the roots to the nodes that are nearest."""
        known = set(self._found.roots)
        level = list(self._found.roots)
        while level:
            following: list[int] = []
            for node in level:
                after = self._found.links.after(node)
                new = [(other, why) for other, why in after if other not in known][: max(most - len(known), 0)]
                self._below[node], self._elsewhere[node] = new, len(after) - len(new)
                known.update(other for other, _ in new)
                following += [other for other, _ in new]
            level = following

    def tree(self) -> SliceTree:
        """Put rounds together, from the roots on, until there are enough branches."""
        roots = self._together((root, None) for root in self._found.roots)
        is_cut = len(roots) > self._limit
        made = level = roots[: self._limit]
        depth = 0
        while level:
            depth += 1
            following: list[_Rounds] = []
            for one in level:
                below = self._together(self._after(one))
                free = max(self._limit - len(made) - len(following), 0) if depth < _MAX_DEPTH else 0
                one.below = below[:free]
                one.more = sum(map(self._elsewhere.__getitem__, one.nodes)) + len(below[free:])
                is_cut |= len(below) > free
                following += one.below
            made = [*made, *following]
            level = following
        seen = sum(len(one.nodes) for one in made)
        all_looked_at = len(self._below) >= self._limit * _NODES and len(self._found) > seen
        return SliceTree(self._branches(made, min(len(roots), self._limit)), is_cut or all_looked_at)

    def _branches(self, made: list[_Rounds], roots: int) -> tuple[SliceBranch, ...]:
        """Build the tree from its leaves up, since it may be deep."""
        branches: dict[int, SliceBranch] = {}
        for one in reversed(made):
            below = tuple(branches.pop(id(inner)) for inner in one.below)
            branches[id(one)] = SliceBranch(tuple(map(self._found.step, one.nodes)), one.why, below, one.more)
        return tuple(branches[id(one)] for one in made[:roots])

    def _together(self, nodes: Iterable[tuple[int, DependenceKind | None]]) -> list[_Rounds]:
        """Put together what the rounds of a loop have at one place, related in one way to the branch above."""
        places: dict[Hashable, _Rounds] = {}
        for node, why in nodes:
            places.setdefault((why, self._place(node)), _Rounds(why)).nodes.append(node)
        return list(places.values())

    def _after(self, rounds: _Rounds) -> list[tuple[int, DependenceKind]]:
        """What follows any of the rounds; what is of an earlier round of the same is added to them."""
        below, waiting = list[tuple[int, DependenceKind]](), deque(rounds.nodes)
        place = self._place(rounds.nodes[0])
        while waiting:
            for node, why in self._below[waiting.popleft()]:
                if self._place(node) == place:
                    rounds.nodes.append(node)
                    waiting.append(node)
                else:
                    below.append((node, why))
        return below

    def _place(self, node: int) -> Hashable:
        """What rounds of a loop have in common: the place, and of values the call, as other calls make others."""
        trace = self._found.trace
        site = trace.sites[trace.graph.site[node]]
        call = int(trace.call[node]) if trace.outcome[node] < 0 else None
        return site.file, site.own or (site.line, site.column), site.kind, call
