"""Between Suspectra's nouns and LSP's: URIs, ranges, and text that is safe to show."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from suspectra.errors import Problem
from suspectra_server.state.documents import Document, Units
from suspectra_server.state.snapshot import Mark

# control characters, and those that reorder or hide text
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
# words that Markdown, or what editors add to it, could take for markup, up to the last of those that follow each other
_MARKED = r"\S*(?:[\\`*_\[\]<>~$|]|&(?=[#\w])|://|www\.)\S*?"
_MARKUP = re.compile(rf"{_MARKED}(?:\s+{_MARKED})*(?=[.,:;]*(?:\s|$))")
LONGEST_NAME = 300
LONGEST_MESSAGE = 2000


def path_of(uri: str) -> Path | None:
    """The path of a ``file:`` URI, None for any other."""
    try:
        path = to_fs_path(uri)
    except (ValueError, AttributeError):
        return None
    return Path(path) if path and "\0" not in path else None


def plain(text: str, longest: int = LONGEST_NAME) -> str:
    r"""Text of foreign origin on one line, without characters that control or disguise, cut when overlong.

    Examples
    --------
    >>> plain("a\x1b[31m\nb")
    'a [31m b'
    """
    text = _INVISIBLE.sub(" ", text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def markdown(text: str) -> str:
    """Foreign text as Markdown that shows it as it is: words that could be markup become code.

    Some editors show the backslash of an escape, and entities too; all of them know code.

    Examples
    --------
    >>> markdown("assert f(<div[2]>, a_b) == 3, or not")
    'assert `f(<div[2]>`, `a_b)` == 3, or not'
    """
    return _MARKUP.sub(lambda match: code(match[0]), plain(text))


def code(text: str) -> str:
    """Foreign text as a Markdown code span, whatever back quotes it holds.

    Examples
    --------
    >>> code("f(x)"), code("a`b")
    ('`f(x)`', '``a`b``')
    """
    text = plain(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    fence = "`" * (longest + 1)
    return f"{fence}{pad}{text or ' '}{pad}{fence}"


def number(value: float) -> float:
    """A score that JSON can hold: an infinite one becomes the largest double."""
    return math.copysign(sys.float_info.max, value) if math.isinf(value) else value


def range_of(mark: Mark, lines: list[str] | tuple[str, ...], units: Units) -> lsp.Range:
    """The whole statement."""
    return lsp.Range(
        position(mark.first, mark.start, lines, units),
        position(mark.last, mark.end, lines, units),
    )


def first_line_of(mark: Mark, lines: list[str] | tuple[str, ...], units: Units) -> lsp.Range:
    """The first line of the statement."""
    return lsp.Range(
        position(mark.first, mark.start, lines, units),
        position(mark.first, mark.line_end, lines, units),
    )


def position(line: int, column: int, lines: Sequence[str], units: Units) -> lsp.Position:
    """A column of a line, both counted from 0 and the column in code points, in the client's units."""
    text = lines[line] if line < len(lines) else ""
    return lsp.Position(line, units.count(text[:column]))


def whole_line(line: int) -> lsp.Range:
    """A line from its start to the start of the next."""
    return lsp.Range(lsp.Position(line, 0), lsp.Position(line + 1, 0))


def version_of(document: Document | None) -> int | None:
    """The version of an open document."""
    return document.version if document else None


def problem_dict(problem: Problem) -> dict[str, str]:
    """A problem's four fields, safe to show."""
    return {name: plain(value) for name, value in problem.as_dict().items()}
