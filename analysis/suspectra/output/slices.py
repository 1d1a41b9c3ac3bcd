"""Slices as text: a tree of what led to a failure, or of what a line influenced, with values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
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


def write_slice(found: Slice, heading: str, line_of: LineOf, limit: int, out: TextIO) -> None:
    """Write a slice as a tree."""
    style, columns = Style(out), terminal_width(out)
    out.write(f"{style(safe(heading), 'bold')}\n")
    tree = found.tree(limit)
    for branch in tree:
        for indent, text, result in _lines(branch, found.direction, line_of):
            space = columns - len(indent) - (len(result) + 3 if result else 0)
            out.write(f"{style(indent, 'dim')}{fit(text, max(space, 20))}")
            out.write(f" {style('→', 'dim')} {style(result, 'cyan')}\n" if result else "\n")
    lines = sum(map(len, found.lines(tests=False).values()))
    out.write(f"{many(len(found), 'value')} and decisions of the run, on {many(lines, 'line')} outside the tests")
    shown = _size(tree)
    more = shown >= limit and _size(found.tree(limit + 1)) > shown
    out.write(f"; the nearest {limit} are shown: --top shows more\n" if more else "\n")
    for sentence in found.trace.left_out:
        out.write(f"{style(safe(sentence), 'dim')}\n")


def write_slice_json(found: Slice, limit: int, out: TextIO) -> None:
    """Write a slice as one JSON object."""
    json.dump(found.to_json(limit), out, indent=1)
    out.write("\n")


def step_in_words(step: SliceStep, line_of: LineOf) -> str:
    """Say where a step is.

    Place, source, and which time the place was executed if not the first, or that it was while it was imported.
    """
    again = f"  (the {ordinal(step.instance)} time)" if step.instance > 1 else "" if step.instance else "  (at import)"
    return safe(f"{step.place}  {step.operand or line_of(step.file, step.line).strip()}{again}")


def result_of(step: SliceStep) -> str:
    """Return the value of a step in short."""
    return fit(safe(step.result), _MAX_VALUE)


def _size(tree: Sequence[SliceBranch]) -> int:
    """How many steps a tree has."""
    waiting, steps = [*tree], 0
    while waiting:
        waiting += waiting.pop().branches
        steps += 1
    return steps


def _lines(branch: SliceBranch, direction: Direction, line_of: LineOf) -> Iterator[tuple[str, str, str]]:
    """Indentation, text and value of each line of a tree."""
    waiting: list[tuple[SliceBranch, str, str]] = [(branch, "", "")]
    while waiting:
        one, indent, below = waiting.pop()
        why = "" if one.why is None else f"{WHY[direction, one.why]} "
        yield indent, f"{why}{step_in_words(one.step, line_of)}", result_of(one.step)
        following = _with_ends(one.branches)
        waiting += [
            (inner, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))
            for inner, last in reversed(following)
        ]


def _with_ends(branches: Sequence[SliceBranch]) -> list[tuple[SliceBranch, bool]]:
    return [(branch, number == len(branches) - 1) for number, branch in enumerate(branches)]
