"""Problems of many files, merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from suspectra.base.english import many
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
            files = dict.fromkeys(problem.file for problem in group[1:] if problem.file != first.file)
            others = _listed(list(files), len(group) - 1)
            result.append(replace(first, cause=f"{first.cause} (and so it is with {others})"))
    return result


def _listed(files: Sequence[str], total: int) -> str:
    """The names of some files, and how many more there are of a number."""
    shown = [file for file in files if 0 < len(file) <= _SHORT][:_NAMED]
    left = total - len(shown)
    named = [*shown, many(left, "other")] if left else shown
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
