"""What follows a node in the tree of a slice: nodes that only pass something on are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Bools
from suspectra.dependences.graph import DependenceKind
from suspectra.dependences.trace import DependenceTrace

HIDDEN = frozenset({"entry", "parameter", "default", "argument"})
"""Kinds of nodes that only pass something on: a tree shows what they depend on in their place, if there is anything."""

_OF_ALL_ON_THE_WAY = frozenset({DependenceKind.SUMMARY, DependenceKind.CHANGE})


class Direction(Enum):
    """Which way a tree goes."""

    BACKWARD = "backward"
    """From a node to what it depends on."""
    FORWARD = "forward"
    """From a node to what depends on it."""


class ShownLinks:
    """Finds what follows a node in the tree of a slice."""

    def __init__(self, trace: DependenceTrace, direction: Direction, members: Bools):
        self._trace, self._direction, self._members = trace, direction, members

    def after(self, node: int) -> list[tuple[int, DependenceKind]]:
        """Return what follows a node: what it depends on, or what depends on it.

        Nodes that are shown and why, the latest first when going backward, the first when going forward; last those
        because of which another function changed nothing.
        """
        found: dict[int, DependenceKind] = {}
        waiting = list(self._next(node))
        seen = {node}
        while waiting:
            other, kind = waiting.pop()
            if other in seen:
                continue
            seen.add(other)
            if (self._is_hidden[other] and not self._decided_apart(other, kind, node)) or self._is_part(other, node):
                waiting += [(more, kind if kind in _OF_ALL_ON_THE_WAY else why) for more, why in self._next(other)]
            else:
                found[other] = kind
        if self._direction is Direction.BACKWARD and all(self._trace.is_test[other] for other in found):
            found = self._passed_to(node) or found  # nothing else of the program says where it comes from
        ordered = sorted(found.items(), reverse=self._direction is Direction.BACKWARD)
        return sorted(ordered, key=lambda one: self._is_elsewhere(node, *one))  # there may be very many

    def _passed_to(self, node: int) -> dict[int, DependenceKind]:
        """The arguments that a node reads, with the calls in the program that pass them."""
        found: dict[int, DependenceKind] = {}
        waiting, seen = list(self._next(node)), {node}
        while waiting:
            other, kind = waiting.pop()
            if other in seen or not self._is_hidden[other]:
                continue
            seen.add(other)
            if self._trace.sites[self._trace.graph.site[other]].kind == "argument":
                if not self._trace.is_test[other]:
                    found[other] = kind
            else:
                waiting += self._next(other)
        return found

    def _is_elsewhere(self, node: int, other: int, kind: DependenceKind) -> bool:
        """Whether one of two functions left as it was what the other one reads."""
        return kind is DependenceKind.SUMMARY and bool(self._trace.call[other] != self._trace.call[node])

    def _next(self, node: int) -> Iterator[tuple[int, DependenceKind]]:
        graph = self._trace.graph
        if self._direction is Direction.BACKWARD:
            places: Iterable[int] = range(int(graph.start[node]), int(graph.start[node + 1]))
            ends = graph.source
        else:
            order, start = graph.by_source
            places = order[start[node] : start[node + 1]].tolist()
            ends = graph.target
        for place in places:
            other = int(ends[place])
            if self._members[other]:
                yield other, DependenceKind(int(graph.kind[place]))

    def _decided_apart(self, other: int, kind: DependenceKind, node: int) -> bool:
        """Whether decisions say what a node reads, by a call that passed it on, and not that it is executed."""
        if self._direction is Direction.FORWARD or kind is not DependenceKind.FLOW:
            return False
        decisions = [one for one in self._control_sources(other) if not self._is_hidden[one]]
        return not all(self._is_decided_by(node, decision) for decision in decisions)

    def _is_decided_by(self, node: int, decision: int) -> bool:
        """Whether a node is executed because of a decision of its call, or of one of the calls around it."""
        call, entry = self._trace.call, self._entry_of.get(int(self._trace.call[node]))
        if decision in self._control_sources(node):
            return True
        while entry is not None:
            sources = self._control_sources(entry)
            if decision in sources:
                return True
            outer = max((int(call[one]) for one in sources), default=-1)
            entry = self._entry_of.get(outer) if call[decision] <= outer < call[entry] else None
        return False

    def _control_sources(self, node: int) -> list[int]:
        """What is the reason that a node was made: decisions, or the beginning of its call."""
        graph = self._trace.graph
        edges = slice(int(graph.start[node]), int(graph.start[node + 1]))
        return [int(one) for one in graph.source[edges][graph.kind[edges] == DependenceKind.CONTROL]]

    @cached_property
    def _entry_of(self) -> dict[int, int]:
        """The node that stands for the beginning of each call."""
        trace = self._trace
        is_entry = np.array([site.kind == "entry" for site in trace.sites], bool)
        entries = np.flatnonzero(is_entry[trace.graph.site])[::-1]
        return dict(zip(trace.call[entries].tolist(), entries.tolist(), strict=True))

    def _is_part(self, other: int, node: int) -> bool:
        """Whether a node is a call of untraced code within the statement of another one."""
        one, whole = (self._trace.sites[self._trace.graph.site[some]] for some in (other, node))
        if self._direction is Direction.FORWARD or one.kind != "native" or whole.kind == "native":
            return False
        same = one.file == whole.file and whole.line <= one.line <= whole.end_line
        return same and bool(self._trace.call[other] == self._trace.call[node])

    @cached_property
    def _is_hidden(self) -> Bools:
        hidden = np.array([site.kind in HIDDEN for site in self._trace.sites], bool)
        return np.asarray(hidden[self._trace.graph.site])
