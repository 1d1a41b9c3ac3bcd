"""Problems of many files, merged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from suspectra.base.errors import Problem


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
