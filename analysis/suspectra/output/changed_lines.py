"""What differs between two texts, line by line: a statement of several lines may have changed in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher


def changed_lines(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Find the lines that only one text has, each with its sign: first what is gone, then what came for it."""
    found: list[tuple[str, str]] = []
    for tag, first, end, new_first, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            found += [("−", line) for line in before[first:end]]
            found += [("+", line) for line in after[new_first:new_end]]
    return found
