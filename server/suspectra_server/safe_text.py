"""Text that is safe to show: untrusted names and messages, without characters that control, hide or format text."""

from __future__ import annotations

import re

from suspectra.base.visible import blanked

# consecutive words that Markdown, or an editor's extension of it, could take for markup; a test's parameters are one
_MARKED = r"(?:[^\s\[]*\w\[[^\[\]`]*\]\S*?|\S*(?:[\\`*_\[\]<>~$|]|&(?=[#\w])|://|www\.)\S*?)"
_MARKUP = re.compile(rf"{_MARKED}(?:\s+{_MARKED})*(?=[.,:;]*(?:\s|$))")
_WORD_END = re.compile(r"(?=[.,:;]*(?:\s|$))")
MAX_NAME = 300
MAX_TEXT = 2000


def plain(text: str, longest: int = MAX_NAME) -> str:
    """Untrusted text on one line, without control characters and invisible ones, cut when too long."""
    text = blanked(text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def markdown(text: str) -> str:
    """Untrusted text as Markdown that shows it as it is: words that could be markup become code.

    Escapes and entities are not used: some editors show them literally. All editors render code.
    """
    text = plain(text)
    found, at = "", 0
    for match in _MARKUP.finditer(text):
        if match.start() >= at:
            end = _closed(text, match.start(), match.end())
            found, at = f"{found}{text[at : match.start()]}{code(text[match.start() : end])}", end
    return found + text[at:]


def _closed(text: str, start: int, end: int) -> int:
    """The end of the words in which all brackets and quotes are closed that words open; else where these end."""
    for word in _WORD_END.finditer(text, end):
        part = text[start : word.start()]
        if all(part.count(a) == part.count(b) for a, b in ("()", "[]", "{}")) and not part.count('"') % 2:
            return word.start()
    return end


def code(text: str) -> str:
    """Untrusted text as a Markdown code span, whatever backticks it contains."""
    text = plain(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    fence = "`" * (longest + 1)
    return f"{fence}{pad}{text or ' '}{pad}{fence}"
