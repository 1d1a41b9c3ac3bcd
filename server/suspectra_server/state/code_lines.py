"""Lines of source without comments and meaningless white space: by them it is seen whether a statement was edited."""

from __future__ import annotations

import re
from collections.abc import Sequence

from suspectra.program.languages import is_python_or_cython

_BLANKS = r"(?P<indent>^[ \t\f]+(?=\S))|(?P<gap>(?<=\w)[ \t\f]+(?=\w))|(?P<space>[ \t\f]+)"
# each part ends at the end of the text if not before, so that nothing is ever tried twice
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
    r"""Each line as far as it is code, in strings and in Python's indentation as it is; empty where it holds none.

    The text need not be complete: it is being edited.

    Parameters
    ----------
    lines : sequence of str
        Without their ends.
    path : str
        Of the file. What is neither Python nor Cython by its name is read as C or C++.

    Examples
    --------
    >>> code_lines(["x =  f( 1 )  # why", "# a comment", "    return  'a # b'"], "a.py")
    ['x=f(1)', '', "    return'a # b'"]
    >>> code_lines(["a /* one", "two */ + b; // three"], "a.c")
    ['a', '+b;']
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
