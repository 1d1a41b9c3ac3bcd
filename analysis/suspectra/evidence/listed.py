"""Lists of things in messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from suspectra.base.errors import Problem

_NAMED = 10  # the largest number of items that a message names


def listed(items: Sequence[object], noun: str) -> str:
    """Say how many items there are, and name the first ones."""
    names = ", ".join(str(item) for item in items[:_NAMED])
    more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return f"{len(items)} {noun}{'s' if len(items) != 1 else ''} ({names}{more})"


def merged(problems: Iterable[Problem], max_files: int = 3) -> list[Problem]:
    """Merge equal problems of many files into one.

    In the order of first occurrence.
    """
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in dict.fromkeys(problems):
        groups.setdefault((problem.cause, problem.cure), []).append(problem)
    result = []
    for group in groups.values():
        if len(group) <= max_files:
            result += group
        else:
            first = group[0]
            cause = f"{first.cause} (and so it is with {len(group) - 1} others)"
            result.append(replace(first, cause=cause))
    return result
