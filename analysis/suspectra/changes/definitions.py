"""What changes define: names that only one of two texts has, and what is not inside of a function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from suspectra.changes.units import ChangeUnit, FileDifference
from suspectra.program.languages import is_python
from suspectra_recorder.instrumentation.source import parse


def defined_once(differences: Iterable[FileDifference]) -> frozenset[str]:
    """Find the names that one text of a file defines and the other does not, and functions whose parameters changed."""
    found: set[str] = set()
    for difference in differences:
        if is_python(difference.path):
            before, after = (set(_definitions(text)) for text in (difference.before, difference.after))
            found |= {name for name, _ in before ^ after}
    return frozenset(found)


def in_functions(differences: Iterable[FileDifference]) -> frozenset[ChangeUnit]:
    """Find the changes inside of functions, which are made without loading the program again."""
    found: set[ChangeUnit] = set()
    for difference in differences:
        if is_python(difference.path) and difference.pieces:
            inner = _lines_in_functions(difference.after)
            found |= {one for one in difference.units if {one.line, max(one.line, one.end_line)} <= inner}
    return frozenset(found)


def _lines_in_functions(text: bytes | None) -> set[int]:
    tree = _parsed(text)
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return {line for node in functions for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)}


def _parsed(text: bytes | None) -> ast.Module:
    """The tree of a text; an empty one where it is no Python."""
    try:
        return parse(text or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _definitions(text: bytes | None) -> Iterator[tuple[str, str]]:
    """What a text defines, each with what else its users must know of it."""
    for node in ast.walk(_parsed(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, ast.dump(node.args)
        elif isinstance(node, ast.ClassDef):
            yield node.name, "class"
        elif isinstance(node, ast.arg):
            yield node.arg, ""
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, ""
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, ""
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0], ""
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name, ""
