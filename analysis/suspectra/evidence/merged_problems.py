"""Problems of many files, merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from suspectra.base.errors import Problem

_NAMED, _SHORT = 8, 60
"""Of how many more files a merged problem gives the names, and how long these may be."""


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
            result.append(replace(first, cause=f"{first.cause} (and so it is with {_listed(group[1:])})"))
    return result


def _listed(others: Sequence[Problem]) -> str:
    """The names of some files, and how many more there are."""
    *shown, last = list(dict.fromkeys(problem.file for problem in others if 0 < len(problem.file) <= _SHORT))[
        :_NAMED
    ] or [""]
    left = len(others) - len(shown) - bool(last)
    if left:
        shown, last = [*shown, *([last] if last else [])], f"{left} other{'s' * (left > 1)}"
    return f"{', '.join(shown)} and {last}" if shown else last
