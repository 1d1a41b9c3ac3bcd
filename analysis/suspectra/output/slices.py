"""Slices as text: a tree of what led to a failure, or of what a line influenced, with values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TextIO

from suspectra.base.english import many, ordinal
from suspectra.dependences.graph import DependenceKind
from suspectra.dependences.shown_links import Direction
from suspectra.dependences.slice_tree import SliceBranch, slice_tree
from suspectra.output.terminal import Style, fit, safe, terminal_width
from suspectra.program.python.decision_texts import in_one_line

if TYPE_CHECKING:
    from suspectra.dependences.slices import Slice, SliceStep

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
    tree = slice_tree(found, limit)
    for root in tree.roots:
        for indent, text, result in _lines(root, found.direction, line_of):
            space = columns - len(indent) - (len(result) + 3 if result else 0)
            out.write(f"{style(indent, 'dim')}{fit(text, max(space, 20))}")
            out.write(f" {style('→', 'dim')} {style(result, 'cyan')}\n" if result else "\n")
    lines = sum(map(len, found.lines(tests=False).values()))
    out.write(f"{many(len(found), 'value')} and decisions of the run, on {many(lines, 'line')} outside the tests")
    out.write(f"; the nearest {limit} are shown: --top shows more\n" if tree.is_cut else "\n")
    for sentence in found.trace.left_out:
        out.write(f"{style(safe(sentence), 'dim')}\n")


def write_slice_json(found: Slice, limit: int, out: TextIO) -> None:
    """Write a slice as one JSON object."""
    json.dump(slice_object(found, limit), out, indent=1)
    out.write("\n")


def slice_object(found: Slice, limit: int) -> dict[str, object]:
    """What JSON can contain of a slice."""
    return {
        "test": found.trace.test,
        "direction": found.direction.value,
        "nodes": len(found),
        "lines": found.lines(),
        "tree": [_branch_object(root) for root in slice_tree(found, limit).roots],
        "left_out": list(found.trace.left_out),
    }


def _branch_object(branch: SliceBranch) -> dict[str, object]:
    return {
        **branch.step._asdict(),
        "rounds": len(branch.steps),
        "results": branch.results,
        "why": None if branch.why is None else branch.why.name.lower(),
        "branches": [_branch_object(inner) for inner in branch.branches],
        "more": branch.more,
    }


def step_in_words(step: SliceStep, line_of: LineOf, rounds: int = 1) -> str:
    """Say where a step is.

    Place, source, and which time the place was executed if not the first, or that it was while it was imported; or in
    how many rounds of a loop.
    """
    again = f"  (the {ordinal(step.instance)} time)" if step.instance > 1 else "" if step.instance else "  (at import)"
    if rounds > 1:
        again = f"  ({rounds} times)"
    lines = range(step.line, max(step.line, step.end_line) + 1)
    source = step.operand or in_one_line([line_of(step.file, line) for line in lines]).strip()
    return safe(f"{step.place}  {source}{again}")


def results_of(branch: SliceBranch) -> str:
    """Return the values of a branch in short, each once."""
    return fit(", ".join(fit(safe(result), _MAX_VALUE) for result in branch.results), _MAX_VALUE)


def _lines(root: SliceBranch, direction: Direction, line_of: LineOf) -> Iterator[tuple[str, str, str]]:
    """Indentation, text and value of each line of a tree."""
    waiting: list[tuple[SliceBranch, str, str]] = [(root, "", "")]
    while waiting:
        branch, indent, below = waiting.pop()
        why = "" if branch.why is None else f"{WHY[direction, branch.why]} "
        yield indent, f"{why}{step_in_words(branch.step, line_of, len(branch.steps))}", results_of(branch)
        last = len(branch.branches) - 1
        waiting += [
            (inner, below + ("└─ " if number == last else "├─ "), below + ("   " if number == last else "│  "))
            for number, inner in reversed(list(enumerate(branch.branches)))
        ]
