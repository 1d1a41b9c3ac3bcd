"""Lines of source without comments and meaningless white space, to see whether a statement was edited."""

from __future__ import annotations

import re
from collections.abc import Sequence

from suspectra.program.languages import is_python_or_cython

_BLANKS = r"(?P<indent>^[ \t\f]+(?=\S))|(?P<gap>(?<=\w)[ \t\f]+(?=\w))|(?P<space>[ \t\f]+)"
# each alternative also ends at the end of the text, so that there is no backtracking
_QUOTED = r""""(?:[^"\\\n]+|\\.|\\\Z)*"?"""
_PYTHON = re.compile(
    r'''(?P<string>"""(?:[^"\\]+|\\.|\\\Z|"(?!""))*(?:"""|\Z)|\'\'\'(?:[^'\\]+|\\.|\\\Z|'(?!''))*(?:\'\'\'|\Z)'''
    rf"""|{_QUOTED}|'(?:[^'\\\n]+|\\.|\\\Z)*'?)|(?P<comment>[ \t\f]*\#[^\n]*)|{_BLANKS}""",
    re.DOTALL | re.MULTILINE,
)
_C = re.compile(
    r"""(?P<string>R"(?P<mark>[^()\\\s]{0,16})\((?:[^)]+|\)(?!(?P=mark)"))*(?:\)(?P=mark)"|\Z)"""
    rf"""|{_QUOTED}|(?<![0-9a-fA-F])'(?:[^'\\\n]+|\\.|\\\Z)*'?)"""
    rf"""|(?P<comment>/\*(?:[^*]+|\*(?!/))*(?:\*/|\Z)|//(?:[^\\\n]+|\\.|\\\Z)*)|{_BLANKS}""",
    re.DOTALL | re.MULTILINE,
)


def code_lines(lines: Sequence[str], path: str) -> list[str]:
    """The code of each line, with strings and Python's indentation unchanged; empty for a line without code.

    The text need not be complete, as it may be being edited.
    """
    python = is_python_or_cython(path)

    def kept(match: re.Match[str]) -> str:
        kind = match.lastgroup
        if kind == "comment":
            return "\n" * match[0].count("\n")
        if kind == "gap":
            return " "
        return match[0] if kind == "string" or (kind == "indent" and python) else ""

    return (_PYTHON if python else _C).sub(kept, "\n".join(lines)).split("\n")
