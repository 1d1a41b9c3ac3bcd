"""Properties of lines from the text of a Python source: where logical lines begin, and which may have decisions.

Searching the text is faster than walking the tree or reading the tokens, which takes as long as parsing the source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from suspectra.program.python.source import last_line, start_line
from suspectra_recorder.instrumentation.source import LogicalLines

FirstLine = Callable[[int], int]
"""Returns the first line of the logical line that contains a line."""

# words of decisions inside expressions, and the word that suspends a function
_WORDS = re.compile(r"\b(?:and|or|else|if|yield)\b")


@dataclass(frozen=True)
class WordLines:
    """The lines of a source with certain words; only there the tree needs to be searched."""

    deciding: frozenset[int]  # lines with a word of decisions inside expressions
    deciding_besides: frozenset[int]  # lines with such a word besides the `if` of a statement
    suspending: frozenset[int]  # lines with a `yield`

    @classmethod
    def from_source(cls, text: str) -> WordLines:
        """Find the words, also in comments and strings."""
        found: dict[str, list[int]] = {"and": [], "or": [], "else": [], "if": [], "yield": []}
        line, counted = 1, 0
        for match in _WORDS.finditer(text):
            line += text.count("\n", counted, match.start())
            counted = match.start()
            found[match.group()].append(line)
        inside = {*found["and"], *found["or"], *found["else"]}
        twice = {line for line, next_line in pairwise(found["if"]) if line == next_line}
        return cls(frozenset(inside.union(found["if"])), frozenset(inside | twice), frozenset(found["yield"]))


def first_line(tree: ast.Module, text: str, data: bytes) -> FirstLine:
    """Find where logical lines begin.

    Returns the first line of the logical line that contains a line.
    """
    firsts = _first_lines(tree, text)
    if firsts is None:  # the tokens always tell, but reading them takes longer than parsing the source
        return LogicalLines(data).first
    return lambda line: firsts.get(line, line)


def _first_lines(tree: ast.Module, text: str) -> dict[int, int] | None:
    """Map the further lines of logical lines to their first lines, as far as the tree tells.

    None if the tree does not tell: if a logical line has several statements or a backslash at the end of a line, and
    for a ``match``, whose cases have no line numbers.
    """
    firsts: dict[int, int] = {}
    if "\\\n" in text or text.endswith("\\"):
        return None
    lines = text.split("\n")
    pending: list[ast.stmt | ast.excepthandler] = list(tree.body)
    while pending:
        node = pending.pop()
        line = node.lineno
        column = node.col_offset
        if isinstance(node, ast.Match) or (column and not lines[line - 1][:column].isspace()):
            return None
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        for decorator in decorators:
            if not lines[decorator.lineno - 1].lstrip().startswith("@"):
                return None
            firsts.update(dict.fromkeys(range(decorator.lineno + 1, last_line(decorator) + 1), decorator.lineno))
        body: list[ast.stmt] = getattr(node, "body", [])
        last = last_line(node)
        if body:
            last = start_line(body[0]) - 1
            for name in ("body", "handlers", "orelse", "finalbody"):
                pending += getattr(node, name, ())
        if last > line:
            firsts.update(dict.fromkeys(range(line + 1, last + 1), line))
    return firsts
