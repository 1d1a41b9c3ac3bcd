"""What differs between two texts, line by line: a statement of several lines may have changed in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from suspectra.base.english import many

_GONE, _NEW = "−", "+"


def said_lines(text: str) -> list[str]:
    """The lines of a text, without empty ones and the indentation that all have."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return [line[indent:] for line in lines]


def changed_lines(before: Sequence[str], after: Sequence[str], most: int) -> list[str]:
    """Find the lines that only one text has, each behind its sign, in order: what is gone, then what came for it.

    If there are more than `most`, some of each text, and how many there are besides.
    """
    found: list[tuple[str, str]] = []
    for tag, first, end, new_first, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            found += [(_GONE, line) for line in before[first:end]]
            found += [(_NEW, line) for line in after[new_first:new_end]]
    gone = sum(sign == _GONE for sign, _ in found)
    left = {_GONE: max(most // 2, most - (len(found) - gone)), _NEW: max(most // 2, most - gone)}
    lines = []
    for sign, line in found:
        left[sign] -= 1
        if left[sign] >= 0:
            lines.append(f"{sign} {line}")
    more = len(found) - len(lines)
    return [*lines, f"… {many(more, 'more line')}"] if more else lines
