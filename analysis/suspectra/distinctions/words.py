"""Statements in words."""

from __future__ import annotations

from collections.abc import Iterable

from suspectra.spectrum import Elements

_MAX_RANGES = 6  # ranges of lines that a sentence names


def listed(elements: Elements, members: Iterable[int]) -> str:
    """Several statements by their files and lines; those that follow each other as a range."""
    runs: list[list[int]] = []
    for member in members:
        if runs and member == runs[-1][-1] + 1 and elements.file[member] == elements.file[runs[-1][-1]]:
            runs[-1].append(member)
        else:
            runs.append([member])
    parts, file = [], -1
    for run in runs[:_MAX_RANGES]:
        first, last = int(elements.line[run[0]]), int(elements.line[run[-1]])
        lines = str(first) if first == last else f"{first}–{last}"
        same, file = file == int(elements.file[run[0]]), int(elements.file[run[0]])
        parts.append(lines if same else f"{elements.files[file].rpartition('/')[2]}:{lines}")
    more = sum(map(len, runs[_MAX_RANGES:]))
    return ", ".join(parts) + (f" and {more} more" if more else "")
