"""The text of a source, by the nodes of its syntax tree."""

from __future__ import annotations

import ast
from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from suspectra.mutation.edit import Edit
from suspectra_recorder.instrumentation.parser_references import decode_source
from suspectra_recorder.instrumentation.source import parse


class TextSpan(NamedTuple):
    """A part of a text."""

    # in bytes of UTF-8; the last one is not included
    start: int
    end: int


class ParsedSource:
    """A source and its syntax tree.

    Raises SyntaxError, ValueError, RecursionError when Python can't parse it.
    """

    def __init__(self, source: bytes):
        self.text = decode_source(source)  # the source; lines end with a line feed
        self.lines = self.text.split("\n")
        self.tree = parse(self.text)  # columns are in bytes of UTF-8
        self._bytes = self.text.encode()
        self._starts = [0, *accumulate(len(line.encode()) + 1 for line in self.lines)]

    def span(self, node: ast.expr | ast.stmt) -> TextSpan:
        """Where a node is; parentheses around an expression are not included."""
        assert node.end_lineno is not None  # the parser sets both
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return TextSpan(start, self._starts[node.end_lineno - 1] + node.end_col_offset)

    def span_end(self, name: ast.alias) -> int:
        """Where a name of an import ends."""
        assert name.end_lineno is not None
        assert name.end_col_offset is not None
        return self._starts[name.end_lineno - 1] + name.end_col_offset

    def part(self, span: TextSpan) -> str:
        """The text of a span."""
        return self._bytes[span.start : span.end].decode()

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node."""
        return self.part(self.span(node))

    def in_parentheses(self, node: ast.expr) -> bool:
        """Whether there is a parenthesis directly before and after a node.

        False also where there are spaces between.
        """
        start, end = self.span(node)
        return self._bytes[start - 1 : start] == b"(" and self._bytes[end : end + 1] == b")"

    def edit(self, span: TextSpan, text: str) -> Edit:
        """Replace a span."""
        (line, column), (end_line, end_column) = map(self._place, span)
        return Edit(line, column, end_line, end_column, text)

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1]
