"""Colours in messages: of a sequence that controls a terminal nothing is kept, also not its visible characters."""

from __future__ import annotations

import re

# pytest writes the escape character as #x1B into XML
_SEQUENCE = re.compile(
    r"(?:\x1b\[|#x1B\[|\x9b)[0-?]*[ -/]*[@-~]"  # such as colours
    r"|(?:\x1b|#x1B)\][^\x07\x1b]*?(?:\x07|#x07|\x1b\\|#x1B\\)"  # such as titles and links
    r"|\x1b[ -/]*[0-Z\\^-~]"
)


def without_colours(text: str) -> str:
    """Leave out the sequences by which a text controls a terminal."""
    return _SEQUENCE.sub("", text) if "\x1b" in text or "#x1B" in text or "\x9b" in text else text
