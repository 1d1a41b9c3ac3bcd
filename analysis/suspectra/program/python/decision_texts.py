"""Decisions by their own text: a line may have several, and a condition several lines."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Sequence
from typing import NamedTuple

from suspectra.program.python.points import Span
from suspectra_recorder.instrumentation.parser_references import decode_source

_WHOLE_LINES = frozenset(("if", "while", "for", "case"))
"""Kinds of decisions of which a statement has only one: its first line names them, unless it has several."""

_ALWAYS_NAMED = frozenset(("for", "case"))
"""Kinds that their first line names in any case."""

_MAX_LENGTH = 120  # characters of a condition


class OwnText(NamedTuple):
    """A decision that its line does not name."""

    # where it begins: the line from 1, the column in bytes from 0
    line: int
    column: int
    text: str  # its source, in one line


class DecisionTexts:
    """The texts of the decisions of a program. Each source is read when it is first asked about."""

    def __init__(self, read: Callable[[str], bytes | None]):
        self._read = read
        self._lines_of: dict[str, list[str]] = {}

    def own(self, file: str, kind: str, span: Span) -> OwnText | None:
        """Return the text of a decision.

        None where its first line says which decision it is, or the source does not have it.
        """
        if kind in _ALWAYS_NAMED or (kind in _WHOLE_LINES and span.line == span.end_line):
            return None
        lines = self._lines(file)[span.line - 1 : span.end_line]
        if len(lines) <= span.end_line - span.line:
            return None
        lines[-1] = lines[-1].encode()[: span.end_column].decode(errors="replace")
        lines[0] = lines[0].encode()[span.column :].decode(errors="replace")
        return OwnText(span.line, span.column, in_one_line(lines))

    def _lines(self, file: str) -> list[str]:
        if file not in self._lines_of:
            try:
                self._lines_of[file] = decode_source(self._read(file) or b"").split("\n")
            except (SyntaxError, ValueError):
                self._lines_of[file] = []
        return self._lines_of[file]


def in_one_line(lines: Sequence[str]) -> str:
    """Put the lines of an expression, or of the head of a statement, into one.

    Without comments, if there are several; shortened if it is long.
    """
    text = lines[0] if len(lines) == 1 else _joined(list(lines))
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"


def _joined(lines: list[str]) -> str:
    """An expression of several lines in one, without comments."""
    try:
        for token in tokenize.generate_tokens(io.StringIO("(" + "\n".join(lines) + ")").readline):
            if token.type == tokenize.COMMENT:
                lines[token.start[0] - 1] = lines[token.start[0] - 1].removesuffix(token.string)
    except (tokenize.TokenError, SyntaxError):
        pass  # then comments are shown, too
    return " ".join(" ".join(lines).split())
