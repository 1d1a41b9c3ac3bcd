"""Text that is safe to show: foreign names and messages without what controls, hides or formats."""

from __future__ import annotations

import math
import re
import sys
from typing import TypeGuard

# control characters, and those that reorder or hide text
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
# words that Markdown, or what editors add to it, could take for markup, up to the last of those that follow each other
_MARKED = r"\S*(?:[\\`*_\[\]<>~$|]|&(?=[#\w])|://|www\.)\S*?"
_MARKUP = re.compile(rf"{_MARKED}(?:\s+{_MARKED})*(?=[.,:;]*(?:\s|$))")
MAX_NAME = 300
MAX_TEXT = 2000


def plain(text: str, longest: int = MAX_NAME) -> str:
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


def is_count(value: object) -> TypeGuard[int]:
    """Whether a value of a message is a whole number that is not negative."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
