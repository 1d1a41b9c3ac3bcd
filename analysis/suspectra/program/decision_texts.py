"""Decisions by their own text: a line may have several, and a condition several lines."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Sequence
from typing import NamedTuple

from suspectra.program.points import Span
from suspectra_recorder.instrumentation.own_syntax import decode_source

_WHOLE_LINES = frozenset(("if", "while", "for", "case"))
"""Kinds of decisions of which a statement has only one: its first line names them, unless it has several."""

_ALWAYS_NAMED = frozenset(("for", "case"))
"""Kinds that their first line names in any case."""

_MAX_LENGTH = 120  # characters of a condition


class OwnText(NamedTuple):
    """A decision that its line does not name.

    Parameters
    ----------
    line, column : int
        Where it begins: the line from 1, the column in bytes from 0.
    text : str
        Its source, in one line.

    Examples
    --------
    >>> OwnText(3, 8, "weight > 10").text
    'weight > 10'
    """

    line: int
    column: int
    text: str


class DecisionTexts:
    r"""The texts of the decisions of a program. Each source is read when it is first asked about.

    Parameters
    ----------
    read : callable
        Given the path of a source, returns it as it was run, or None.

    Examples
    --------
    >>> source = b"if (\n    weight > 10  # kg\n    and (express or\n         member)\n):\n    fee = 20\n"
    >>> texts = DecisionTexts({"cart.py": source, "a.py": b"if a or b:\n    c = 1\n"}.get)
    >>> print(texts.own("cart.py", "if", Span(2, 4, 4, 16)).text)
    weight > 10 and (express or member)
    >>> texts.own("cart.py", "operand", Span(4, 9, 4, 15))
    OwnText(line=4, column=9, text='member')
    >>> texts.own("a.py", "operand", Span(1, 3, 1, 4)).text, texts.own("a.py", "if", Span(1, 3, 1, 9))
    ('a', None)
    """

    def __init__(self, read: Callable[[str], bytes | None]):
        self._read = read
        self._lines_of: dict[str, list[str]] = {}

    def own(self, file: str, kind: str, span: Span) -> OwnText | None:
        """Return the text of a decision.

        Parameters
        ----------
        file : str
            The path of its source.
        kind : str
            ``if``, ``while``, ``for``, ``conditional``, ``operand``, ``comprehension`` or ``case``.
        span : Span
            Where it is.

        Returns
        -------
        OwnText or None
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

    Parameters
    ----------
    lines : sequence of str
        As the source has them.

    Returns
    -------
    str
        Without comments, if there are several; shortened if it is long.

    Examples
    --------
    >>> in_one_line(["if (", "    weight > 10  # kg", "    and member", "):"])
    'if ( weight > 10 and member ):'
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
