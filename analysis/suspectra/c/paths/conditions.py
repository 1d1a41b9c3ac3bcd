"""Which statement of a C or C++ source a decision belongs to, and which lines it decides about.

This reads the source as far as brackets and keywords go; it is no parser. Where a line leaves open what a decision is,
nothing is said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

CONDITION = "condition"
"""The kind of a decision that belongs to no statement, or to one of several on its line."""

_TOKEN = re.compile(
    r"""//[^\n]*(?:\\\n[^\n]*)*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*   # comments and directives
      |R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'
      |[A-Za-z_]\w*|&&|\|\||[\[\](){};?]""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_KEYWORDS = frozenset({"if", "while", "for", "switch"})
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_MAX_NESTING = 200


class _Token(NamedTuple):
    text: str
    line: int


@dataclass(frozen=True)
class CCondition:
    """The condition of a statement."""

    kind: str  # its keyword
    lines: tuple[int, int]  # the first and the last line of what is in the brackets
    body: tuple[int, int]  # the first and the last line of what is executed if it is true

    def truth(self, line: int, other: int) -> bool | None:
        """Say whether a condition was true, from where execution went on.

        None if the lines leave it open.
        """
        if self.kind == "switch":
            return None
        here, there = self._where(line), self._where(other)
        if here == there or "" in (here, there):
            return None
        if "body" in (here, there):
            return here == "body"
        return here == "condition"  # the other one leaves the statement

    def _where(self, line: int) -> str:
        if not line:
            return ""
        if self.lines[0] <= line <= self.lines[1]:
            return "condition"
        return "body" if self.body[0] <= line <= self.body[1] else "outside"


class Conditions:
    """The conditions of a source."""

    def __init__(self, text: str):
        self._tokens = [
            _Token(match[0], line)
            for match, line in _with_lines(text)
            if not match[0].startswith(("//", "/*")) and not match[0].lstrip().startswith("#")
        ]
        self._partner = _partners(self._tokens)
        self._on: dict[int, list[CCondition]] = {}
        at = 0
        while at < len(self._tokens):
            if self._tokens[at].text in _KEYWORDS:
                self._add(at)
            at += 1

    def at(self, line: int) -> CCondition | None:
        """Find the condition on a line.

        None if there is none, or several.
        """
        found = self._on.get(line, ())
        return found[0] if len(found) == 1 else None

    def _add(self, at: int) -> None:
        tokens = self._tokens
        opening = at + 1
        if opening < len(tokens) and tokens[opening].text == "constexpr":
            opening += 1
        closing = self._partner.get(opening)
        if closing is None or tokens[opening].text != "(":
            return
        lines = (tokens[opening].line, tokens[closing].line)
        body = self._do_body(at) if tokens[at].text == "while" else None
        if body is None:
            end = self._statement_end(closing + 1)
            if end is None or closing + 1 >= len(tokens):
                return
            body = (tokens[closing + 1].line, tokens[end].line)
        condition = CCondition(tokens[at].text, lines, body)
        for line in range(lines[0], lines[1] + 1):
            self._on.setdefault(line, []).append(condition)

    def _do_body(self, at: int) -> tuple[int, int] | None:
        """The lines of the block between `do` and this `while`."""
        tokens = self._tokens
        if not at or tokens[at - 1].text != "}":
            return None
        opening = self._partner.get(at - 1)
        if not opening or tokens[opening - 1].text != "do":
            return None
        return tokens[opening].line, tokens[at - 1].line

    def _statement_end(self, at: int, nesting: int = 0) -> int | None:
        """The last token of the statement that begins at a token."""
        tokens = self._tokens
        if at >= len(tokens) or nesting > _MAX_NESTING:
            return None
        if tokens[at].text == "{":
            return self._partner.get(at)
        if tokens[at].text in _KEYWORDS:
            closing = self._partner.get(at + 1)
            end = self._statement_end(closing + 1, nesting + 1) if closing is not None else None
            if end is not None and tokens[at].text == "if" and end + 1 < len(tokens) and tokens[end + 1].text == "else":
                return self._statement_end(end + 2, nesting + 1)
            return end
        while at < len(tokens) and tokens[at].text not in (";", "}"):
            at = self._partner.get(at, at) + 1 if tokens[at].text in _PAIRS else at + 1
        return at if at < len(tokens) else None


def _with_lines(text: str) -> list[tuple[re.Match[str], int]]:
    found, line, at = [], 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        found.append((match, line))
        line += match[0].count("\n")
        at = match.end()
    return found


def _partners(tokens: list[_Token]) -> dict[int, int]:
    """For each bracket the number of the token that closes or opens it."""
    partner: dict[int, int] = {}
    open_: list[int] = []
    for at, token in enumerate(tokens):
        if token.text in _PAIRS:
            open_.append(at)
        elif token.text in _PAIRS.values():
            if open_ and _PAIRS[tokens[open_[-1]].text] == token.text:
                opening = open_.pop()
                partner[opening], partner[at] = at, opening
            else:
                open_.clear()  # brackets of alternatives of the preprocessor; what follows is read anew
    return partner
