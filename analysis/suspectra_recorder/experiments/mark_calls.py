"""Syntax that calls the marks of a source."""

from __future__ import annotations

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own_syntax import ast

__builtins__ = own.builtins

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
"""The kinds of statements that define a function."""


class MarkCalls:
    """Makes calls of the marks, each at the place of what it is about.

    Parameters
    ----------
    name : str
        The string that stands for the marks; nowhere else in the source.

    Examples
    --------
    >>> calls, place = MarkCalls("marks"), ast.parse("a").body[0]
    >>> ast.unparse(calls.call("enter", place, calls.constant(4, place)))
    "'marks'.enter(4)"
    """

    def __init__(self, name: str):
        self._name = name

    def constant(self, value: object, place: ast.AST) -> ast.expr:
        """A constant.

        Parameters
        ----------
        value : object
            What it is.
        place : ast.AST
            Where it is.

        Returns
        -------
        ast.expr
            With that place.
        """
        return ast.copy_location(ast.Constant(value), place)  # type: ignore[arg-type]

    def call(self, method: str, place: ast.AST, *arguments: ast.expr) -> ast.expr:
        """Call a method of the marks.

        Parameters
        ----------
        method : str
            Its name.
        place : ast.AST
            Where it is called.
        *arguments : ast.expr
            What it gets.

        Returns
        -------
        ast.expr
            The call.
        """
        function = ast.copy_location(ast.Attribute(self.constant(self._name, place), method, ast.Load()), place)
        return ast.copy_location(ast.Call(function, list(arguments), []), place)
