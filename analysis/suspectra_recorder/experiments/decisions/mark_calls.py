"""Syntax that calls the marks of a source."""

from __future__ import annotations

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
"""The kinds of statements that define a function."""


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
