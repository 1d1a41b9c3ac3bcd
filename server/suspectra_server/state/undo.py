"""Changes of the user without which failing tests pass, and how to take them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from suspectra.base.location import Location
from suspectra.runs.experiment import MOVE, UNDO, Experiment
from suspectra_server.state.documents import Lines, Placement


@dataclass(frozen=True)
class TextBefore:
    """A part of a file that the user changed."""

    file: str  # relative to the workspace
    line: int  # the first line of what is there now, from 1; of deleted text the line that follows
    end_line: int  # the last one; less than `line` where nothing is left
    before: str  # what was there


@dataclass(frozen=True)
class Undo:
    """Changes that are taken back together."""

    parts: tuple[TextBefore, ...]
    tests: tuple[str, ...]  # the failing tests that pass then

    def edits(self, placements: Mapping[str, Placement]) -> dict[str, list[tuple[int, int, str]]] | None:
        """By file: the first line now, counted from 0, the line behind the last one, and the text that was there.

        None if any of it was edited since the tests ran.
        """
        found: dict[str, list[tuple[int, int, str]]] = {}
        for part in self.parts:
            placement = placements.get(part.file)
            lines = _lines_now(part, placement) if placement is not None else None
            if lines is None:
                return None
            found.setdefault(part.file, []).append((*lines, part.before))
        return found


def narrowed(now: Sequence[str], first: int, end: int, before: str) -> tuple[int, int, str]:
    """An edit of `Undo.edits` without its first and last lines that stay, so that a preview shows what changes."""
    present, past = list(now[first:end]), before.splitlines(keepends=True)
    while present and past and present[0] == past[0].rstrip("\r\n"):
        del present[0], past[0]
        first += 1
    while present and past and present[-1] == past[-1].rstrip("\r\n"):
        del present[-1], past[-1]
    return first, first + len(present), "".join(past)


def undos_at(experiments: Iterable[Experiment], found: Iterable[Experiment]) -> tuple[Undo, ...]:
    """What can be undone so that tests pass, of the experiments at a statement; each once."""
    tests: dict[tuple[TextBefore, ...], list[str]] = {}
    for one in found:
        if one.kind == UNDO and one.outcome.repairs:
            together = [one] if one.action == "1" else [other for other in experiments if _belongs(other, one)]
            parts = tuple(sorted({_part(other) for other in together}, key=lambda part: (part.file, part.line)))
            if not any(other.place == MOVE for other in together):  # a file is moved back by hand
                tests.setdefault(parts, []).append(one.test)
    return tuple(Undo(parts, tuple(dict.fromkeys(names))) for parts, names in tests.items())


def _belongs(one: Experiment, other: Experiment) -> bool:
    return (one.kind, one.test, one.action, one.detail) == (other.kind, other.test, other.action, other.detail)


def _part(one: Experiment) -> TextBefore:
    return TextBefore(one.file, one.line, one.end_line, one.replacement)


def _lines_now(part: TextBefore, placement: Placement) -> tuple[int, int] | None:
    """The first line of a change now, and the one behind it."""
    if part.end_line >= part.line:
        lines = placement.current_lines(Location(part.file, part.line, part.end_line))
        if lines is None or not _same(placement, part.line - 1, part.end_line, lines[0]):
            return None
        return lines[0], lines[1] + 1
    if part.line == 1:
        return (0, 0) if list(placement.run[:1]) == list(placement.now[:1]) else None
    before = placement.current_lines(Location(part.file, part.line - 1, part.line - 1))
    return None if before is None else (before[1] + 1, before[1] + 1)


def _same(placement: Placement, first: int, end: int, now: int) -> bool:
    was: Lines = placement.run[first:end]
    return list(was) == list(placement.now[now : now + len(was)])
