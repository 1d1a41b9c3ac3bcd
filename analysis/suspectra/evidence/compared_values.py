"""The two values that a failed assertion compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from suspectra_recorder.log.stack import Stack

_CUT = re.compile(r"\.\.\.|\[\d+ chars\]")  # how pytest and unittest shorten what is long
_HEADING = re.compile(r"[A-Z]\w+ differ: ")  # of unittest, for what has parts
_ELEMENT = re.compile(r"First differing element (\d+):")
_PART = re.compile(r"\s*(?:At (?P<at>.+?) diff|(?P<name>[\w.\[\]]+)): (?P<actual>.+) != (?P<expected>.+)")
_SAID = re.compile(r"Expected:? (?P<expected>.+) (?:Got:?|Was) (?P<actual>.+)")  # by a doctest, or by Unity
_OPENING, _CLOSING = "([{<", ")]}>"


class ComparedValues(NamedTuple):
    """What a failed assertion compared."""

    expected: str  # the value on the right: pytest says so, and unittest leaves it open
    actual: str  # the value on the left
    part: str = ""  # the part of the values that these are, where the whole values are too long to be shown

    def __str__(self) -> str:
        return f"{self.part + ': ' if self.part else ''}expected {self.expected}, actual {self.actual}"

    @classmethod
    def from_stack(cls, stack: Stack) -> ComparedValues | None:
        """Read the values in the message of a failed assertion.

        None where no assertion failed, or where it did not compare two values for equality.
        """
        if said := _SAID.fullmatch(stack.message):
            return cls(said["expected"], said["actual"])
        if not stack.assertion:
            return None
        text = stack.message.removeprefix("assert ")
        sign = " == " if text != stack.message else " != "  # unittest has no "assert", and says what it found
        sides = list(_split(text, sign))
        if len(sides) != 2:
            return None
        actual, expected = (side.strip() for side in sides)
        if sign == " != ":
            actual = _HEADING.sub("", actual, count=1)
            expected = expected.partition(" : ")[0]  # the text that the test gives
        if not _CUT.search(actual + expected):
            return cls(expected, actual)
        return cls._for_part(stack.details) or cls(expected, actual)

    @classmethod
    def _for_part(cls, details: Sequence[str]) -> ComparedValues | None:
        """The last part that differs, which is the innermost; or the first line that does."""
        for line, actual, expected in zip(details, details[1:], details[2:], strict=False):
            if found := _ELEMENT.fullmatch(line):
                return cls(expected, actual, f"index {found[1]}")
        parts = [found for line in details if (found := _PART.fullmatch(line))]
        if parts:
            found = parts[-1]
            return cls(found["expected"], found["actual"], found["at"] or found["name"])
        expected, actual = (next((one.strip() for one in details if one.strip().startswith(s)), "") for s in "-+")
        return cls(expected[1:].strip(), actual[1:].strip(), "line") if expected and actual else None


def _split(text: str, sign: str) -> Iterator[str]:
    """The parts of a text between a sign, where that is in no quotes and no brackets."""
    begin, depth, quote, at = 0, 0, "", 0
    while at < len(text):
        character = text[at]
        if quote:
            at += character == "\\"
            quote = "" if character == quote else quote
        elif character in "'\"" and not text[at - 1 : at].isalpha():
            quote = character
        elif depth == 0 and text.startswith(sign, at):
            yield text[begin:at]
            begin = at + len(sign)
            at = begin - 1
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth = max(depth - 1, 0)
        at += 1
    yield text[begin:]
