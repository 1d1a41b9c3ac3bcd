"""What is compared and decided, as the sources say it."""

from __future__ import annotations

import re
from collections.abc import Callable

from suspectra.base.location import Location
from suspectra.c.paths.comparison_texts import ComparedTexts, comparison_texts, literal
from suspectra.c.paths.disassembly import Comparing

_HEADER = re.compile(r"\b(?:if|while|for|switch)\s*\(")


class SourceTexts:
    """Reads texts from lines of sources."""

    def __init__(self, read: Callable[[str], bytes | None]):
        self._read = read
        self._lines: dict[str, list[str]] = {}

    def line(self, place: Location) -> str:
        """The line; empty if there is none."""
        if place.file not in self._lines:
            self._lines[place.file] = (self._read(place.file) or b"").decode("utf-8", "replace").splitlines()
        lines = self._lines[place.file]
        return lines[place.line - 1] if place.line <= len(lines) else ""

    def condition(self, place: Location) -> str:
        """The condition of the statement on a line; the whole line if it is not all there."""
        line = self.line(place)
        found = _HEADER.search(line)
        if found is None:
            return line.strip()
        depth, end = 1, found.end()
        while depth and end < len(line):
            depth += {"(": 1, ")": -1}.get(line[end], 0)
            end += 1
        if depth:
            return line.strip()
        parts = line[found.end() : end - 1].split(";")
        return (parts[1] if len(parts) > 1 else parts[0]).strip()

    def sides(self, code: Comparing, constant: int | None, place: Location) -> ComparedTexts | None:
        """The sides of a comparison: of a constant and another value the other one first.

        None where the line leaves open which comparison is meant.
        """
        texts = comparison_texts(self.line(place))
        if len(texts) != code.total:
            return None
        left, right = texts[code.number]
        values = literal(left), literal(right or "0")
        if constant is None and values == (None, None):
            return texts[code.number]
        if constant is not None and values[0] is None:
            if values[1] in (None, constant):
                return texts[code.number]
            if abs(values[1] - constant) == 1:  # compilers make `c > 96` of `c >= 'a'`
                return ComparedTexts(left, str(constant))
        if constant is not None and values[0] == constant and values[1] is None:
            return ComparedTexts(right, left)
        return None
