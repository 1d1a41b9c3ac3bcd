"""Letting each function of a source say when a call of it begins, waits and ends, without changing what it does.

The body of a function is put into ``try: … finally: marks.leave(number)``, behind ``marks.enter(number)``. Where it can
be suspended, ``yield value`` becomes ``marks.resume(marks.suspend(value), (yield marks.take()))``: what is done
meanwhile belongs to others. A lambda gets ``marks.left(marks.enter(number), body)``. The marks are a constant of the
code, as cells are in recorded code.
"""

from __future__ import annotations

from typing import NamedTuple

from suspectra_recorder.experiments.decisions.inserted_calls import FUNCTIONS, MarkCalls
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins


class Body(NamedTuple):
    """The body of a function: lines from 1, columns in bytes from 0, the last one not included."""

    line: int  # where it begins
    column: int
    end_line: int  # where it ends
    end_column: int
    name: str  # that of the function, with those around it


def insert_marks(tree: ast.Module, name: str, first: int) -> list[Body]:
    """Mark the calls of all functions of a source.

    Its functions, by number from `first` on.

    Raises RecursionError when the source is nested too deeply.
    """
    marking = _Marking(name, first)
    marking.fields(tree, "")
    ast.fix_missing_locations(tree)
    return marking.bodies


class _Marking(MarkCalls):
    def __init__(self, name: str, first: int):
        super().__init__(name)
        self.bodies: list[Body] = []
        self._first = first

    def fields(self, node: ast.AST, scope: str) -> None:
        """Mark what a node contains; `scope` is the name of the function or class around it."""
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                value[:] = [self._marked(child, scope) if isinstance(child, ast.AST) else child for child in value]
            elif isinstance(value, ast.AST):
                setattr(node, field, self._marked(value, scope))

    def _marked(self, node: ast.AST, scope: str) -> ast.AST:
        if isinstance(node, (*FUNCTIONS, ast.Lambda)):
            return self._function(node, scope)
        if isinstance(node, ast.ClassDef):
            scope = f"{scope}{node.name}."
        self.fields(node, scope)
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            return self._suspended(node)
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: str) -> ast.AST:
        name = f"{scope}{'<lambda>' if isinstance(node, ast.Lambda) else node.name}"
        if isinstance(node, ast.Lambda):
            number = self._number(node.body, node.body, name)
            self.fields(node, f"{name}.")
            value = node.body
            node.body = self.call("left", value, self.call("enter", value, self.constant(number, value)), value)
            return node
        has_text = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        text, body = (node.body[:1], node.body[1:]) if has_text else ([], node.body)
        number = self._number(body[0], body[-1], name) if body else -1
        # after its own number, so that functions are numbered from the outside
        self.fields(node, f"{name}.")
        if number >= 0:
            body = node.body[len(text) :]
            place = body[0]
            enter, leave = (
                ast.copy_location(ast.Expr(self.call(method, place, self.constant(number, place))), place)
                for method in ("enter", "leave")
            )
            # `enter` before the `try`: a call that did not begin must not end
            node.body = [*text, enter, ast.copy_location(ast.Try(body, [], [], [leave]), place)]
        return node

    def _suspended(self, node: ast.Yield | ast.YieldFrom | ast.Await) -> ast.expr:
        given = node.value or self.constant(None, node)
        node.value = self.call("take", node)
        return self.call("resume", node, self.call("suspend", node, given), node)

    def _number(self, begin: ast.expr | ast.stmt, end: ast.expr | ast.stmt, name: str) -> int:
        assert end.end_lineno is not None  # the parser sets both
        assert end.end_col_offset is not None
        self.bodies.append(Body(begin.lineno, begin.col_offset, end.end_lineno, end.end_col_offset, name))
        return self._first + len(self.bodies) - 1
