"""Names that only one of two texts of a program defines: what mentions them belongs together."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from suspectra.changes.units import FileDifference
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


def _definitions(text: bytes | None) -> Iterator[tuple[str, str]]:
    """What a text defines, each with what else its users must know of it."""
    try:
        tree = parse(text or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
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
