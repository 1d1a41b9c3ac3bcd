"""What stands in the place of a value in the other side of a failed comparison.

A test that expects ``"8 (nail:7)"`` and gets ``"4 (nail:3)"`` says of a total of 4 that it should be 8, and of the list
``["nail:3"]`` that it should be ``["nail:7"]``. Neither alone makes the test pass. So what a run computed on several
ways is altered together, each state to what stands in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import permutations
from typing import Any

MAX_SIDES = 4
"""Sides of failed comparisons that are held against each other."""

_TOKEN = re.compile(r"-?\d+(?:\.\d+)?|[^\W\d_]+|.", re.DOTALL)
_NUMBERS = (int, float)
_MAX_DEPTH = 4


class Counterparts:
    """Holds the sides of failed comparisons against each other."""

    def __init__(self, sides: Sequence[object]):
        self._pairs = [
            pair for one, other in permutations(sides[:MAX_SIDES], 2) for pair in _pairs(one, other, _MAX_DEPTH)
        ]

    def for_value(self, value: object) -> Iterator[object]:
        """What a value should have been, if it stands in one side as it is; of another one, its items."""
        for one, other in self._pairs:
            if type(one) is type(value) and _are_equal(one, value) and not _are_equal(one, other):
                yield other
            elif isinstance(one, str) and isinstance(other, str):
                found = _Alignment(one, other).replaced(value)
                if found is not value and not _are_equal(found, value):
                    yield found


def _are_equal(one: object, other: object) -> bool:
    """Whether two values compare equal; those that refuse to be compared, as arrays and signaling NaNs do, are not."""
    try:
        return bool(one == other)
    except Exception:
        return False


def _pairs(one: Any, other: Any, depth: int) -> Iterator[tuple[object, object]]:
    """Two values, and what of them stands in the same place."""
    yield one, other
    if type(one) is not type(other) or not depth:
        return
    if type(one) is dict:
        for key in one:
            if key in other:
                yield from _pairs(one[key], other[key], depth - 1)
    elif type(one) in (list, tuple) and len(one) == len(other):
        for item, counterpart in zip(one, other, strict=True):
            yield from _pairs(item, counterpart, depth - 1)


class _Alignment:
    """Two texts, token by token."""

    def __init__(self, one: str, other: str):
        self._text, self._other = one, other
        tokens, others = _TOKEN.findall(one), _TOKEN.findall(other)
        at, other_at = _offsets(tokens), _offsets(others)
        # by offset in the first text: where what begins there, and what ends there, does so in the other one
        self._begins: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        for _, i, end, j, other_end in SequenceMatcher(None, tokens, others, autojunk=False).get_opcodes():
            inner = end - i if end - i == other_end - j else 0
            for n in range(inner):
                self._begins[at[i + n]], self._ends[at[i + n + 1]] = other_at[j + n], other_at[j + n + 1]
            if end > i:
                self._begins[at[i]], self._ends[at[end]] = other_at[j], other_at[other_end]

    def replaced(self, value: Any) -> Any:
        """The value with what stands in its place, or in that of its items; the same value if that is nowhere."""
        return self._replaced(value, [0], _MAX_DEPTH)

    def _replaced(self, value: Any, cursor: list[int], depth: int) -> Any:
        if type(value) in _NUMBERS:
            found = self._counterpart(str(value), cursor)
            try:
                return value if found is None else type(value)(found)
            except ValueError:
                return value
        if type(value) is str:
            found = self._counterpart(value, cursor) if value else None
            return value if found is None else found
        if not depth:
            return value
        if type(value) in (list, tuple):
            return type(value)(self._replaced(item, cursor, depth - 1) for item in value)
        if type(value) is dict:
            return {key: self._replaced(item, cursor, depth - 1) for key, item in value.items()}
        return value

    def _counterpart(self, text: str, cursor: list[int]) -> str | None:
        """What stands in the place of a text that is looked for from a cursor on, and else from the beginning."""
        for start in (cursor[0], 0):
            begin = self._text.find(text, start)
            while begin >= 0:
                end = begin + len(text)
                if begin in self._begins and end in self._ends:
                    cursor[0] = end
                    return self._other[self._begins[begin] : self._ends[end]]
                begin = self._text.find(text, begin + 1)
        return None


def _offsets(tokens: Sequence[str]) -> list[int]:
    offsets = [0]
    for token in tokens:
        offsets.append(offsets[-1] + len(token))
    return offsets
