"""Letting each statement of a source's functions say that it is about to be executed, without changing what it does.

In front of each statement stands ``marks.at(number)``. Code that is executed by an import is left as it is, and so are
the bodies of classes.
"""

from __future__ import annotations

from typing import NamedTuple

from suspectra_recorder.experiments.decisions.inserted_calls import FUNCTIONS, MarkCalls
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

NOTHING = -1
"""The number of no statement."""


class MarkedStatement(NamedTuple):
    """A statement of a function: lines from 1."""

    line: int  # where it begins
    end_line: int  # where that ends which is evaluated before any statement inside of it
    block: int  # the first statement of the list of statements that it is in; a number in the source
    owner: int  # the statement that this list belongs to, `NOTHING` for the body of a function; a number in the source


def insert_statement_marks(tree: ast.Module, name: str, first: int) -> list[MarkedStatement]:
    """Mark the statements of all functions of a source.

    Its statements, by number from `first` on.

    Raises RecursionError when the source is nested too deeply.
    """
    marking = _Marking(name, first)
    for node in tree.body:
        marking.find_functions(node)
    return marking.statements


class _Marking(MarkCalls):
    def __init__(self, name: str, first: int):
        super().__init__(name)
        self.statements: list[MarkedStatement] = []
        self._first = first

    def find_functions(self, node: ast.AST) -> None:
        """Mark the functions in code that is not marked itself."""
        if isinstance(node, FUNCTIONS):
            self._mark(node.body, NOTHING, skip_text=True)
            return
        for child in ast.iter_child_nodes(node):
            self.find_functions(child)

    def _mark(self, body: list[ast.stmt], owner: int, *, skip_text: bool = False) -> None:
        """Mark the statements of a list, and those inside of them."""
        marked: list[ast.stmt] = []
        has_text = skip_text and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        if has_text:
            marked.append(body[0])
        # the number that its first statement gets
        block = len(self.statements)
        for node in body[has_text:]:
            number = len(self.statements)
            self.statements.append(MarkedStatement(_first_line(node), _last_line_of_head(node), block, owner))
            marked += [self._mark_at(number, node), node]
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                self.find_functions(node)
            else:
                self._mark_inside(node, number)
        body[:] = marked

    def _mark_inside(self, node: ast.AST, owner: int) -> None:
        for _, value in ast.iter_fields(node):
            if not isinstance(value, list) or not value:
                continue
            if isinstance(value[0], ast.stmt):
                self._mark(value, owner)
            elif isinstance(value[0], (ast.excepthandler, ast.match_case)):
                for part in value:
                    self._mark_inside(part, owner)

    def _mark_at(self, number: int, place: ast.stmt) -> ast.stmt:
        return ast.copy_location(ast.Expr(self.call("at", place, self.constant(self._first + number, place))), place)


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    # decorators are evaluated before the line that has the name
    return min([node.lineno, *[one.lineno for one in decorators]])


def _last_line_of_head(node: ast.stmt) -> int:
    """The last line of what is evaluated before any statement inside of a node."""
    if not hasattr(node, "body"):
        return node.end_lineno or node.lineno
    heads = (ast.expr, ast.withitem, ast.arguments)
    parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, heads)]
    lines = [getattr(inner, "end_lineno", 0) or 0 for part in parts for inner in ast.walk(part)]
    return max([node.lineno, *lines])
