"""Functions that read the source text of others: they depend on what they do not execute."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

_NAMES = frozenset({"getsource", "getsourcelines", "findsource", "getcomments", "linecache"})
_WORD = re.compile(rb"\b(?:getsource|getsourcelines|findsource|getcomments|linecache|ast)\b")
_PARSERS = frozenset({"parse", "get_source_segment", "literal_eval"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

AROUND = ""
"""Stands for code outside of functions."""


def readers(content: bytes | None, tree: Callable[[], ast.Module | None]) -> frozenset[str]:
    """Find the functions of a file that may read source text.

    Dotted names, with those of the functions around; `AROUND` for code at module level.
    """
    if content is None or not _WORD.search(content) or (module := tree()) is None:
        return frozenset()
    found: set[str] = set()
    _walk(module, (), found)
    return frozenset(found)


def _walk(node: ast.AST, names: tuple[str, ...], found: set[str]) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            _walk(child, (*names, child.name), found)
        else:
            if _reads(child):
                found.update(".".join(names[:count]) for count in range(1, len(names) + 1))
                found.update([AROUND] if not names else [])
            _walk(child, names, found)


def _reads(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        of_ast = isinstance(node.value, ast.Name) and node.value.id == "ast" and node.attr in _PARSERS
        return of_ast or node.attr in _NAMES
    return isinstance(node, ast.Name) and node.id in _NAMES
