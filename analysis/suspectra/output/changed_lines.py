"""What differs between two texts, line by line: a statement of several lines may have changed in one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from suspectra.base.english import many

_GONE, _NEW = "−", "+"
_SHORT = 40
"""Characters of a text that is shown whole."""
_AROUND = 8
"""Tokens on each side of what differs."""


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


def difference_of(before: str, after: str) -> tuple[str, str]:
    """Two texts of one line; of long ones the part in which they differ, with a few words around it."""
    if max(len(before), len(after)) <= _SHORT:
        return before, after
    one, other = (re.findall(r"\w+|\s+|.", text) for text in (before, after))
    same = [a == b for a, b in zip(one, other, strict=False)]
    begin = same.index(False) if False in same else len(same)
    same = [a == b for a, b in zip(reversed(one[begin:]), reversed(other[begin:]), strict=False)]
    end = same.index(False) if False in same else len(same)
    first, behind = max(begin - _AROUND, 0), max(end - _AROUND, 0)
    cut = ["".join(words[first : len(words) - behind]).strip() for words in (one, other)]
    was, now = (f"{'…' * (first > 0)}{text}{'…' * (behind > 0)}" for text in cut)
    return was, now
