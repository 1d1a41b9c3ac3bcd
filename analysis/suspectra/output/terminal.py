"""Text for terminals: text from the evidence must not control the terminal, and columns must be aligned."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from textwrap import wrap
from typing import TextIO

from suspectra.base.visible import safe as safe

WIDTH_WITHOUT_TERMINAL, NARROWEST = 120, 72
LEAST = 10
"""The columns below which a shortened text says nothing."""
MARKS = 4
"""Characters for each column: letters of some languages have several marks, but only nonsense has more than that."""

_STYLES = {"bold": "1", "dim": "2", "red": "31", "yellow": "33", "cyan": "36"}


def width(text: str) -> int:
    """Count the columns of a text: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, columns: int, *, keep_end: bool = False) -> str:
    """Shorten a text to some columns, with an ellipsis for the removed part.

    The text itself if it fits.
    """
    most = MARKS * columns
    if len(text) <= most and width(text) <= columns:
        return text
    kept: list[str] = []
    used = 1
    for character in reversed(text) if keep_end else text:
        used += _columns(character)
        if used > columns or len(kept) == most:
            break
        kept.append(character)
    return "…" + "".join(reversed(kept)) if keep_end else "".join(kept) + "…"


def after_place(place: str, text: str, columns: int) -> str:
    """Write a text after a place, which stays whole, since terminals open only whole ones.

    Longer than `columns` only if `place` is.
    """
    left = columns - width(place)
    return (place + fit(text, left) if left >= LEAST else place).rstrip()


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Fill a text with spaces to some columns.

    The text itself if it is wider.
    """
    space = " " * (columns - width(text))
    return space + text if right else text + space


def terminal_width(out: TextIO) -> int:
    """Return the number of columns of the terminal, or a fixed number without one."""
    if out.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return max(NARROWEST, shutil.get_terminal_size().columns)
    return WIDTH_WITHOUT_TERMINAL


def wrapped(text: str, out: TextIO) -> list[str]:
    """Break a sentence into lines that fit; a longer word, such as a path, stays whole."""
    return wrap(safe(text), terminal_width(out), break_long_words=False, break_on_hyphens=False)


class Style:
    """Adds colours on a terminal that supports them, unless NO_COLOR is set, and elsewhere if FORCE_COLOR is.

    https://no-color.org, https://force-color.org; that NO_COLOR counts more if both are set is pytest's rule, too.
    """

    def __init__(self, out: TextIO):
        fits = out.isatty() and os.environ.get("TERM") != "dumb"
        forced = os.environ.get("FORCE_COLOR", "0") not in ("", "0")
        self.on = (fits or forced) and not os.environ.get("NO_COLOR")

    def __call__(self, text: str, *styles: str) -> str:
        """The text in these styles."""
        if not self.on or not styles or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"


def soften(stream: TextIO) -> None:
    """Make a stream replace characters that it can't encode, instead of failing."""
    if stream is not None and hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace" if stream is sys.stderr else "replace")
