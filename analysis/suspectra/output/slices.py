"""Slices as text: a tree of what led to a failure, or of what a line influenced, with values."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from suspectra.base.english import many, ordinal
from suspectra.dependences.graph import DependenceKind
from suspectra.dependences.shown_links import Direction
from suspectra.dependences.slices import Slice, SliceBranch
from suspectra.output.terminal import Style, fit, safe, terminal_width

if TYPE_CHECKING:
    from suspectra.dependences.slices import SliceStep

LineOf = Callable[[str, int], str]
"""Given a file and a line from 1, returns its text."""

WHY = {
    (Direction.BACKWARD, DependenceKind.FLOW): "from",
    (Direction.BACKWARD, DependenceKind.CONTROL): "decided by",
    (Direction.BACKWARD, DependenceKind.SUMMARY): "not changed by",
    (Direction.BACKWARD, DependenceKind.CHANGE): "changed after",
    (Direction.FORWARD, DependenceKind.FLOW): "read by",
    (Direction.FORWARD, DependenceKind.CONTROL): "decides on",
    (Direction.FORWARD, DependenceKind.SUMMARY): "did not change",
    (Direction.FORWARD, DependenceKind.CHANGE): "led to a change of",
}
"""How a step is related to the one above it."""

_MAX_VALUE = 40  # columns
_ROUNDS = 8  # of a loop for each line that is shown: so many more nodes are looked at


@dataclass
class _Rounds:
    """A line of a tree: a node, with those of the other rounds of its loop."""

    branches: list[SliceBranch]  # of the rounds, the nearest first
    below: list[_Rounds] = field(default_factory=list)


def write_slice(found: Slice, heading: str, line_of: LineOf, limit: int, out: TextIO) -> None:
    """Write a slice as a tree."""
    style, columns = Style(out), terminal_width(out)
    out.write(f"{style(safe(heading), 'bold')}\n")
    tree, more = _folded(found, limit)
    for root in tree:
        for indent, text, result in _lines(root, found.direction, line_of):
            space = columns - len(indent) - (len(result) + 3 if result else 0)
            out.write(f"{style(indent, 'dim')}{fit(text, max(space, 20))}")
            out.write(f" {style('→', 'dim')} {style(result, 'cyan')}\n" if result else "\n")
    lines = sum(map(len, found.lines(tests=False).values()))
    out.write(f"{many(len(found), 'value')} and decisions of the run, on {many(lines, 'line')} outside the tests")
    out.write(f"; the nearest {limit} are shown: --top shows more\n" if more else "\n")
    for sentence in found.trace.left_out:
        out.write(f"{style(safe(sentence), 'dim')}\n")


def write_slice_json(found: Slice, limit: int, out: TextIO) -> None:
    """Write a slice as one JSON object."""
    json.dump(found.to_json(limit), out, indent=1)
    out.write("\n")


def step_in_words(step: SliceStep, line_of: LineOf, rounds: int = 1) -> str:
    """Say where a step is.

    Place, source, and which time the place was executed if not the first, or that it was while it was imported; or in
    how many rounds of a loop.
    """
    again = f"  (the {ordinal(step.instance)} time)" if step.instance > 1 else "" if step.instance else "  (at import)"
    if rounds > 1:
        again = f"  ({rounds} times)"
    return safe(f"{step.place}  {step.operand or line_of(step.file, step.line).strip()}{again}")


def result_of(step: SliceStep) -> str:
    """Return the value of a step in short."""
    return fit(safe(step.result), _MAX_VALUE)


def _folded(found: Slice, limit: int) -> tuple[list[_Rounds], bool]:
    """The tree of a slice with as many lines as are wanted, and whether there are more."""
    tree = found.tree(limit * _ROUNDS)
    roots = _by_place(found, tree)
    level, left, looked = roots[:limit], limit - len(roots), 0
    more = left < 0
    while level:
        following: list[_Rounds] = []
        for one in level:
            below = _by_place(found, _below(found, one))
            looked += len(one.branches)
            more |= len(below) > max(left, 0)
            one.below = below[: max(left, 0)]
            left -= len(one.below)
            following += one.below
        level = following
    return roots[:limit], more or (looked >= limit * _ROUNDS and len(found) > looked)


def _by_place(found: Slice, branches: Iterable[SliceBranch]) -> list[_Rounds]:
    """Put together what the rounds of a loop have at one place, related in one way to the line above."""
    places: dict[Hashable, _Rounds] = {}
    for branch in branches:
        places.setdefault((branch.why, _place(found, branch)), _Rounds([])).branches.append(branch)
    return list(places.values())


def _below(found: Slice, rounds: _Rounds) -> list[SliceBranch]:
    """What follows any of the rounds; what is of an earlier round of the same is added to them."""
    below, waiting = list[SliceBranch](), deque(rounds.branches)
    place = _place(found, rounds.branches[0])
    while waiting:
        for inner in waiting.popleft().branches:
            if _place(found, inner) == place:
                rounds.branches.append(inner)
                waiting.append(inner)
            else:
                below.append(inner)
    return below


def _place(found: Slice, branch: SliceBranch) -> Hashable:
    """What rounds of a loop have in common: the place, and of values the call, since other calls make other values."""
    step = branch.step
    call = int(found.trace.call[step.node]) if step.outcome is None else None
    return step.file, step.line, step.column, step.kind, step.operand, call


def _lines(rounds: _Rounds, direction: Direction, line_of: LineOf) -> Iterator[tuple[str, str, str]]:
    """Indentation, text and value of each line of a tree."""
    waiting: list[tuple[_Rounds, str, str]] = [(rounds, "", "")]
    while waiting:
        one, indent, below = waiting.pop()
        first = one.branches[0]
        why = "" if first.why is None else f"{WHY[direction, first.why]} "
        results = dict.fromkeys(filter(None, (result_of(branch.step) for branch in one.branches)))
        text = step_in_words(first.step, line_of, len(one.branches))
        yield indent, f"{why}{text}", fit(", ".join(results), _MAX_VALUE)
        last = len(one.below) - 1
        waiting += [
            (inner, below + ("└─ " if number == last else "├─ "), below + ("   " if number == last else "│  "))
            for number, inner in reversed(list(enumerate(one.below)))
        ]
