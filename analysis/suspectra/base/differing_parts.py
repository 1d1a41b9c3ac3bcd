"""The parts in which two texts of one line differ."""

from __future__ import annotations

import re

_SHORT = 40
"""Characters of a text that is shown whole."""
_AROUND = 8
"""Tokens on each side of what differs."""


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
