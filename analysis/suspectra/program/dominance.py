"""Dominators of directed graphs, and the control dependences that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_UNREACHED = -2
_NONE = -1


@dataclass(frozen=True)
class DominatorTree:
    """For each node the last one that every way to it leads through.

    Found by the algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001).
    """

    # the immediate dominator of each node; -1 for roots, for nodes where ways from several roots meet, and for nodes
    # that no root leads to
    immediate: tuple[int, ...]

    @classmethod
    def from_edges(cls, nodes: int, edges: Iterable[tuple[int, int]], roots: Sequence[int]) -> DominatorTree:
        """Find the dominators of a graph."""
        before, after = _neighbours(nodes, edges)
        order = _reverse_postorder(roots, after)
        place = {node: number for number, node in enumerate(order)}
        begins = frozenset(roots)
        immediate = [_NONE if node in begins else _UNREACHED for node in range(nodes)]
        changed = True
        while changed:
            changed = False
            for node in order:
                if node in begins:
                    continue
                found = _UNREACHED
                for one in before[node]:
                    if immediate[one] != _UNREACHED:
                        found = one if found == _UNREACHED else _meet(found, one, immediate, place)
                if found != immediate[node]:
                    immediate[node], changed = found, True
        return cls(tuple(_NONE if one == _UNREACHED else one for one in immediate))

    def dominators(self, node: int) -> Iterator[int]:
        """Iterate over the dominators of a node, nearest first."""
        while node != _NONE:
            yield node
            node = self.immediate[node]


def control_dependences(
    nodes: int, edges: Sequence[tuple[int, int]], exits: Sequence[int]
) -> frozenset[tuple[int, int]]:
    """Find which decision says whether a node is executed.

    A node is control dependent on a decision if one way out of the decision is sure to lead to it, and another may
    avoid it (Ferrante, Ottenstein and Warren 1987, Section 3.1). Of a loop that never ends one node counts as an exit.

    Pairs of a decision and a node; a loop's decision is also dependent on itself.
    """
    back = [(target, source) for source, target in edges]
    tree = DominatorTree.from_edges(nodes, back, [*exits, *_endless(nodes, edges, exits)])
    ways: dict[int, set[int]] = {}
    for source, target in edges:
        ways.setdefault(source, set()).add(target)
    found = set()
    for decision, targets in ways.items():
        if len(targets) > 1:
            for target in targets:
                for node in tree.dominators(target):
                    if node == tree.immediate[decision]:
                        break
                    found.add((decision, node))
    return frozenset(found)


def _endless(nodes: int, edges: Sequence[tuple[int, int]], exits: Sequence[int]) -> list[int]:
    """One node of each loop that leads nowhere else, the first one."""
    before, after = _neighbours(nodes, edges)
    ending = set(_reverse_postorder(exits, before))
    firsts: list[int] = []
    leading = set[int]()  # nodes from which a way leads to one of these loops
    # backwards, what is led to comes before what leads there: so each node that is left is in such a loop
    for node in _reverse_postorder((node for node in range(nodes) if node not in ending), before):
        if node not in ending and node not in leading:
            firsts.append(min(_reverse_postorder([node], after)))
            leading.update(_reverse_postorder([node], before))
    return firsts


def _neighbours(nodes: int, edges: Iterable[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    before: list[list[int]] = [[] for _ in range(nodes)]
    after: list[list[int]] = [[] for _ in range(nodes)]
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    return before, after


def _meet(one: int, other: int, immediate: Sequence[int], place: dict[int, int]) -> int:
    """The nearest common dominator of two nodes; -1 if they have none."""
    while one != other:
        if one == _NONE or other == _NONE:
            return _NONE
        if place[one] > place[other]:
            one = immediate[one]
        else:
            other = immediate[other]
    return one


def _reverse_postorder(starts: Iterable[int], after: Sequence[Sequence[int]]) -> list[int]:
    seen: set[int] = set()
    done: list[int] = []
    for start in starts:
        if start in seen:
            continue
        seen.add(start)
        stack = [(start, iter(after[start]))]
        while stack:
            node, rest = stack[-1]
            following = next((one for one in rest if one not in seen), None)
            if following is None:
                done.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(after[following])))
    return done[::-1]
