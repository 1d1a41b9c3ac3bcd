"""What can be seen in the text of a source of C or C++ without knowing its macros."""

from __future__ import annotations

import re

_LEFT_OUT = re.compile(
    r"""/\*(?:.*?\*/|.*)|//(?:\\\n|[^\n])*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|^[ \t]*\#(?:\\\n|[^\n])*""",
    re.DOTALL | re.MULTILINE,
)
"""Comments, texts, characters and what is for the preprocessor, closed or not: so each part is read once."""

_LABEL = re.compile(r"(?:case\b.*|\w+)\s*:")
_OPERATORS = ("&&", "||", "?", ":")


def operand_lines(text: str) -> frozenset[int]:
    """The lines of a source that hold nothing but an operand, counted from 1."""
    lines = _lines(text)
    found = set()
    for (_, before), (number, line), (_, behind) in zip(lines, lines[1:], lines[2:], strict=False):
        if (_ends(before) or _begins(line)) and (_ends(line) or _begins(behind)):
            found.add(number)
    return frozenset(found)


def code_lines(text: str) -> frozenset[int]:
    """The lines of a source that have more than brackets, comments and what is for the preprocessor."""
    return frozenset(number for number, line in _lines(text) if line.strip("{}();, \t"))


def _lines(text: str) -> list[tuple[int, str]]:
    plain = _LEFT_OUT.sub(_without_code, text)
    return [(number, line.strip()) for number, line in enumerate(plain.split("\n"), 1) if line.strip()]


def _without_code(found: re.Match[str]) -> str:
    return ("0" if found[0][0] in "\"'" else "") + found[0].count("\n") * "\n"


def _begins(line: str) -> bool:
    return line.startswith(_OPERATORS) and not line.startswith("::")


def _ends(line: str) -> bool:
    return line.endswith(_OPERATORS) and not line.endswith("::") and not _LABEL.fullmatch(line)
