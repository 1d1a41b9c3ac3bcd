"""What is different between the states of two runs, as places that can be changed one by one.

A state is the graph of the objects that variables refer to. A place is an access path in it, such as ``items[2].price``
or ``len(items)``. Objects of the two runs correspond if they are at the same place; each is compared at the first one
that it is found at, so cycles end.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from suspectra_recorder.experiments.messages import MemoryChange, MemoryGraph, MemoryNode
from suspectra_recorder.experiments.values.literals import from_text, shown

MISSING = "missing"
"""What is said of a place that one of two runs does not have."""

_WITH_IDENTITY = ("list", "dict", "set", "object", "other")
_NO_NODES: list[MemoryNode] = []


class AccessPath(NamedTuple):
    """A place in a state."""

    depth: int  # which of the functions that are being executed, the outermost first
    function: str  # its name
    name: str  # the variable
    steps: tuple[str, ...]  # from its value on, as `suspectra_recorder.experiments.values.memory_graph` has them
    of_length: bool = False  # whether it is the length of the list there

    def __str__(self) -> str:
        text = self.name
        for step in self.steps:
            if step[0] == ".":
                text += step
            elif step[0] == "[":
                text += f"[{shown(from_text(step[1:]))}]"
            else:
                text = f"{shown(from_text(step[1:]))} in {text}"
        return f"len({text})" if self.of_length else text


class StateDifference(NamedTuple):
    """A place where the states of two runs are different."""

    place: AccessPath  # where
    # what is there in each run, for people
    failing: str
    passing: str
    change: MemoryChange  # makes the passing run have there what the failing one has


class ComparedStates(NamedTuple):
    """What is different between two states."""

    differences: list[StateDifference]  # those that can be applied
    fixed: list[str]  # places that may be different, but can't be changed, with the type of what is there


def compare_states(failing: MemoryGraph, passing: MemoryGraph) -> ComparedStates:
    """Find the places where two states are different.

    In the order in which they can be applied together. Variables that only the passing run has are left as they are,
    since nothing in the failing run reads them.
    """
    return _Comparison(failing, passing).compared()


def content_at(state: MemoryGraph, place: AccessPath) -> str | None:
    """Say what a place of a state contains, to find out whether another state has something else there.

    The value, or of a container or an object its kind and size; None if there is no such place.
    """
    variables = {(depth, function, name): node for depth, function, name, node in state["variables"]}
    node = variables.get(place[:3])
    for step in place.steps:
        node = None if node is None else _parts(state["nodes"][node]).get(step)
    if node is None:
        return None
    kind, text, _, size = state["nodes"][node]
    return f"{kind} {text}" if kind == "value" else f"{kind} {text} {size}"


class _Comparison:
    def __init__(self, failing: MemoryGraph, passing: MemoryGraph):
        self._ours, self._theirs = failing["nodes"], passing["nodes"]
        self._failing, self._passing = failing, passing
        self._mates: dict[
            int, tuple[int, AccessPath]
        ] = {}  # of nodes of the failing run: those of the other, and where
        self._used: set[int] = set()
        self._found: list[tuple[AccessPath, int | None, int | None]] = []
        self._fixed: list[str] = []
        self._pending: deque[tuple[AccessPath, int, int]] = deque()

    def compared(self) -> ComparedStates:
        there = {(depth, function, name): node for depth, function, name, node in self._passing["variables"]}
        # objects are named by the outermost function that knows them, so their names stay the same during calls
        for depth, function, name, node in sorted(self._failing["variables"], key=lambda one: one[0]):
            place = AccessPath(depth, function, name, ())
            if (depth, function, name) in there:
                self._pending.append((place, node, there[depth, function, name]))
            else:
                self._found.append((place, node, None))
        while self._pending:
            self._compare(*self._pending.popleft())
        self._found.sort(key=lambda one: (not one[0].of_length, len(one[0].steps)))  # stable
        differences = [made for one in self._found if (made := self._difference(*one)) is not None]
        return ComparedStates(differences, self._fixed)

    def _compare(self, place: AccessPath, our: int, their: int) -> None:
        kind, text, _, _ = self._ours[our]
        if kind in _WITH_IDENTITY and (our in self._mates or their in self._used):
            if self._mates.get(our, (-1, place))[0] != their:
                self._found.append((place, our, their))
            return
        if (kind, text) != tuple(self._theirs[their][:2]):
            self._found.append((place, our, their))
            return
        if kind in _WITH_IDENTITY:
            self._mates[our] = their, place
            self._used.add(their)
        if kind == "other":
            self._fixed.append(f"{place} ({text})")
        elif kind not in ("value", "name"):
            self._compare_parts(place, our, their)

    def _compare_parts(self, place: AccessPath, our: int, their: int) -> None:
        kind, _, _, size = self._ours[our]
        ours, theirs = _parts(self._ours[our]), _parts(self._theirs[their])
        complete = len(ours) == size and len(theirs) == self._theirs[their][3]
        fewer = _items(self._ours[our]) - _items(self._theirs[their])
        if (kind == "tuple" and fewer) or (kind == "frozenset" and ours.keys() != theirs.keys()):
            self._found.append((place, our, their))
            return
        if kind == "list" and fewer:
            self._found.append((place._replace(of_length=True), our, their))
        for step in [*ours, *(step for step in theirs if step not in ours)]:
            at = place._replace(steps=(*place.steps, step))
            if step in ours and step in theirs:
                if step[0] != "{":
                    self._pending.append((at, ours[step], theirs[step]))
            elif complete and not (kind == "list" and step[0] == "["):
                self._found.append((at, ours.get(step), theirs.get(step)))

    def _difference(self, place: AccessPath, our: int | None, their: int | None) -> StateDifference | None:
        change: MemoryChange = {
            "depth": place.depth,
            "name": place.name,
            "steps": list(place.steps),
            "what": "length" if place.of_length else "remove" if our is None else "set",
            "length": 0,
            "nodes": _NO_NODES,
        }
        if place.of_length and our is not None and their is not None:
            items, others = _items(self._ours[our]), _items(self._theirs[their])
            change["length"] = items
            longer = [part for part in self._ours[our][2] if part[0][0] == "["][others:]
            known = len(self._ours[our][2]) == self._ours[our][3]
            failing, passing = str(items), str(others)
            if items <= others:
                nodes: list[MemoryNode] | None = _NO_NODES
            else:
                nodes = self._copied([("list", "", longer, len(longer))]) if known else None
        else:
            member = bool(place.steps) and place.steps[-1][0] == "{"
            failing, passing = self._shown(self._ours, our, member), self._shown(self._theirs, their, member)
            nodes = _NO_NODES if our is None or member else self._copied([self._ours[our]], our)
        if nodes is None:
            self._fixed.append(f"{place} ({failing})")
            return None
        change["nodes"] = nodes
        return StateDifference(place, failing, passing, change)

    def _shown(self, nodes: Sequence[MemoryNode], at: int | None, member: bool) -> str:
        if member:
            return "False" if at is None else "True"
        if at is None:
            return MISSING
        kind, text, _, _ = nodes[at]
        if kind == "value":
            return shown(from_text(text))
        if kind == "name":
            return text.partition(":")[2] or text.partition(":")[0]
        if nodes is self._ours and at in self._mates:
            return f"the object at {self._mates[at][1]}"
        if kind == "object":
            return f"an instance of {text.partition(':')[2]}"
        if kind == "other":
            return text
        items = _items(nodes[at])
        return f"a {kind} of {items} item{'' if items == 1 else 's'}"

    def _copied(self, first: list[MemoryNode], of: int | None = None) -> list[MemoryNode] | None:
        """Nodes that make a value; None if a part of it can't be made."""
        made: list[MemoryNode] = [] if of is not None else first
        numbers: dict[int, int] = {}
        pending: deque[int] = deque()

        def number_of(node: int) -> int:
            if node not in numbers:
                numbers[node] = len(made)
                made.append(self._ours[node])
                pending.append(node)
            return numbers[node]

        if of is not None:
            number_of(of)
        else:
            kind, text, parts, size = made[0]
            made[0] = kind, text, [(step, number_of(part)) for step, part in parts], size
        while pending:
            node = pending.popleft()
            kind, text, parts, size = self._ours[node]
            if node in self._mates:
                place = self._mates[node][1]
                made[numbers[node]] = "live", json.dumps([place.depth, place.name, *place.steps]), [], 0
            elif kind == "other" or len(parts) < size:
                return None
            else:
                made[numbers[node]] = kind, text, [(step, number_of(part)) for step, part in parts], size
        return made


def _parts(node: MemoryNode) -> dict[str, int]:
    return {step: part for step, part in node[2]}  # noqa: C416 - lists, where they come from JSON


def _items(node: MemoryNode) -> int:
    """How many parts a value has besides attributes."""
    _, _, parts, size = node
    return size - sum(step[0] == "." for step, _ in parts)
