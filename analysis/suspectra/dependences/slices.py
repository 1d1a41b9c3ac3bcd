"""Slices of a run: what led to a node, what it influenced, and what lies between two places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.dependences.graph import DependenceKind
from suspectra.dependences.shown_links import HIDDEN, Direction, ShownLinks
from suspectra.dependences.trace import DependenceTrace


class SliceStep(NamedTuple):
    """A node of a slice, as it is shown."""

    node: int  # its number in the trace
    file: str  # relative to the workspace
    # from 1, both included
    line: int
    end_line: int
    column: int  # in bytes, from 0
    kind: str  # as suspectra.dependences.trace.Site has it
    instance: int  # how often its place had been executed, from 1; 0 while its module was imported
    value: str  # a short literal, or the name of a type; empty for none
    outcome: bool | None  # how a decision came out; None for anything else
    is_test: bool  # whether it is in test code
    # the text of a decision that is only a part of its line, or goes over several; empty for anything else
    operand: str = ""

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"

    @property
    def result(self) -> str:
        """The value, or the outcome of a decision."""
        return self.value if self.outcome is None else str(self.outcome).lower()


@dataclass(frozen=True, eq=False)
class Slice:
    """A part of a run: some nodes, and what they depend on, or what depends on them."""

    trace: DependenceTrace  # the run
    direction: Direction  # which way its tree goes
    roots: tuple[int, ...]  # the nodes where the tree begins
    members: Bools  # whether each node is in the slice; shape (nodes,)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.members))

    def step(self, node: int) -> SliceStep:
        """Return a node as it is shown."""
        trace = self.trace
        site = trace.sites[trace.graph.site[node]]
        line, column, operand = site.own or (site.line, site.column, "")
        outcome = int(trace.outcome[node])
        return SliceStep(
            node,
            site.file,
            line,
            site.end_line,
            column,
            site.kind,
            int(trace.graph.instance[node]),
            trace.value[node],
            bool(outcome) if outcome >= 0 else None,
            bool(trace.is_test[node]),
            operand,
        )

    @cached_property
    def links(self) -> ShownLinks:
        """What follows each node in the tree."""
        return ShownLinks(self.trace, self.direction, self.members)

    def chain(self, node: int) -> list[SliceStep]:
        """Return the shortest chain of dependences from a node to a root, or from a root to it.

        From what came first to what came last.
        """
        came: dict[int, int] = {root: root for root in self.roots}
        level = list(self.roots)
        while level and node not in came:
            following = []
            for one in level:
                for other, _ in self.links.after(one):
                    if other not in came:
                        came[other] = one
                        following.append(other)
            level = following
        if node not in came:
            return []
        way = [node]
        while came[way[-1]] != way[-1]:
            way.append(came[way[-1]])
        return [self.step(one) for one in (way if self.direction is Direction.BACKWARD else way[::-1])]

    def lines(self, *, tests: bool = True) -> dict[str, list[int]]:
        """Return the lines of the slice.

        By file, ascending.
        """
        wanted = self.members if tests else self.members & ~self.trace.is_test
        found: dict[str, set[int]] = {}
        for number in np.unique(self.trace.graph.site[wanted]).tolist():
            site = self.trace.sites[number]
            if site.kind != "entry":
                found.setdefault(site.file, set()).update(range(site.line, site.end_line + 1))
        return {file: sorted(lines) for file, lines in sorted(found.items())}


def nodes_at(trace: DependenceTrace, file: str, line: int) -> Ints:
    """Find the nodes of a line.

    Of shape (k,). In the order in which they were made, without those that only pass something on.
    """
    here = [site.file == file and site.line <= line <= site.end_line for site in trace.sites]
    shown = [site.kind not in HIDDEN for site in trace.sites]
    return np.flatnonzero(np.array(here, bool)[trace.graph.site] & np.array(shown, bool)[trace.graph.site])


def backward(trace: DependenceTrace, ends: Sequence[int] | None = None) -> Slice:
    """Find what led to some nodes.

    Everything that they depend on, directly or not.
    """
    chosen = [trace.failure] if ends is None else list(ends)
    chosen = [node for node in chosen if node >= 0]
    return Slice(trace, Direction.BACKWARD, tuple(sorted(chosen, reverse=True)), trace.graph.backward(chosen))


def origin_of_failure(trace: DependenceTrace) -> int | None:
    """Find the node of another function that made what the failing statement reads; None if its own function did.

    Of a statement that raises an exception, what decides about it counts, too. Tests make nothing: they count as right.
    """
    links, waiting, seen = backward(trace).links, [trace.failure], {trace.failure}
    is_raised = trace.failure >= 0 and trace.sites[trace.graph.site[trace.failure]].kind == "raise"
    while waiting:
        node = waiting.pop(0)
        for other, kind in links.after(node):
            decides = is_raised and node == trace.failure and kind is DependenceKind.CONTROL
            if other in seen or trace.is_test[other] or not (decides or kind is DependenceKind.FLOW):
                continue
            if trace.call[other] != trace.call[trace.failure]:
                return other
            seen.add(other)
            waiting.append(other)
    return None


def forward(trace: DependenceTrace, begins: Sequence[int]) -> Slice:
    """Find what some nodes influenced.

    Everything that depends on them, directly or not.
    """
    return Slice(trace, Direction.FORWARD, tuple(sorted(begins)), trace.graph.forward(begins))


def chop(trace: DependenceTrace, begins: Sequence[int], ends: Sequence[int]) -> Slice:
    """Find how some nodes influenced others."""
    members = trace.graph.chop(begins, ends)
    roots = sorted({node for node in ends if members[node]}, reverse=True)
    return Slice(trace, Direction.BACKWARD, tuple(roots), members)
