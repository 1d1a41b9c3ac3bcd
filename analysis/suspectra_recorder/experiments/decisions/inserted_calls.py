"""Syntax that calls what instrumented code has as a constant: its marks, its board, its tracer."""

from __future__ import annotations

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
"""The kinds of statements that define a function."""


Located = ast.expr | ast.stmt | ast.pattern | ast.excepthandler | ast.arg


def call_on_first_line(place: Located, name: str, method: str, *arguments: ast.expr | int | str) -> ast.expr:
    """A call on the first line of a place: of a call that has several, Python reports the last."""

    def at(node: ast.expr) -> ast.expr:
        node = ast.copy_location(node, place)
        if place.end_lineno != place.lineno:
            node.end_lineno, node.end_col_offset = place.lineno, place.col_offset
        return node

    given = [one if isinstance(one, ast.expr) else at(ast.Constant(one)) for one in arguments]
    function = at(ast.Attribute(at(ast.Constant(name)), method, ast.Load()))
    return at(ast.Call(function, [one if hasattr(one, "lineno") else at(one) for one in given], []))


class MarkCalls:
    """Makes calls of the marks, each at the place of what it is about."""

    def __init__(self, name: str):
        self._name = name

    def constant(self, value: object, place: ast.AST) -> ast.expr:
        """A constant."""
        return ast.copy_location(ast.Constant(value), place)  # type: ignore[arg-type]

    def call(self, method: str, place: ast.AST, *arguments: ast.expr) -> ast.expr:
        """Call a method of the marks."""
        function = ast.copy_location(ast.Attribute(self.constant(self._name, place), method, ast.Load()), place)
        return ast.copy_location(ast.Call(function, list(arguments), []), place)
