"""The statements and functions of Python source text, with the line numbers of coverage.py.

The recorder defines what a statement is (:mod:`suspectra_recorder.instrumentation.source`), in the same way as
coverage.py. So evidence of both kinds has the same columns.
"""

from __future__ import annotations

import ast
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Ints
from suspectra_recorder.instrumentation.source import LogicalLines, parse, statement_lines

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Positioned = ast.stmt | ast.expr | ast.excepthandler | ast.pattern
"""The kinds of syntax tree nodes with line numbers."""


@dataclass(frozen=True, eq=False)
class PythonSource:
    """The executable statements of one source file."""

    # first and last line of each statement, ascending
    line: Ints
    end_line: Ints
    function: Ints  # index of the innermost enclosing function, -1 outside any
    functions: tuple[tuple[str, int, int], ...]  # qualified names with classes; `line` is that of the `def`
    first_line: Ints  # for every raw line the first line of its logical line; lines count from 1; shape (lines + 1,)

    @classmethod
    def parse(cls, data: bytes) -> PythonSource:
        """Read a source file's bytes; nothing of it is executed.

        Raises SyntaxError when this Python can't compile the source, for any reason.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = parse(data)
                lines = LogicalLines(data)
                code = compile(tree, "<source>", "exec", dont_inherit=True, optimize=0)
        except SyntaxError:
            raise
        except tokenize.TokenError as error:
            cause, (line, column) = error.args
            raise SyntaxError(cause, ("<source>", line, column, "")) from None
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise SyntaxError(str(error) or type(error).__name__) from None
        numbers = range(lines.text.count("\n") + 2)
        line = np.array(statement_lines(tree, code, lines), np.int32)
        # a file without code has an instruction, but no statement for it
        line = line[line < len(numbers)] if tree.body else line[:0]
        end_line = np.array([lines.last(number) for number in line.tolist()], np.int32)
        first_line = np.array([lines.first(number) for number in numbers], np.int32)
        functions, owner = _functions(tree, lines, len(numbers))
        return cls(line, end_line, owner[line], functions, first_line)

    @property
    def line_count(self) -> int:
        """The number of lines of the text."""
        return len(self.first_line) - 1

    def first_lines(self, lines: Ints) -> Ints:
        """Convert raw line numbers, also negative ones, to the first line of their logical line.

        Of shape (k,). With the same sign; lines past the end are not changed.
        """
        size = np.abs(lines)
        known = size < len(self.first_line)
        return np.where(known, np.sign(lines) * self.first_line[np.where(known, size, 0)], lines)

    def statements_of(self, lines: Ints) -> Ints:
        """Return the index of the statement at each raw line, -1 where there is none.

        Of shape (k,).
        """
        if not len(self.line):
            return np.full(len(lines), -1, np.int64)
        first = self.first_lines(lines)
        index = np.minimum(np.searchsorted(self.line, first), len(self.line) - 1)
        return np.where(self.line[index] == first, index, -1)


def start_line(node: Positioned) -> int:
    """Return the first line of a node, with its decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(node: Positioned) -> int:
    """Return the last line of a node.

    Counted from 1; the first line if the node has no last one, because it was not parsed.
    """
    return node.end_lineno or node.lineno


def _functions(tree: ast.Module, lines: LogicalLines, size: int) -> tuple[tuple[tuple[str, int, int], ...], Ints]:
    """The functions sorted by line, and for every line the function in which it runs."""
    functions: list[tuple[str, int, int]] = []
    owner = np.full(size, -1, np.int32)
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, scope = pending.pop()
        if isinstance(node, (ast.ClassDef, *_DEFINITIONS)):
            scope = f"{scope}.{node.name}" if scope else node.name
        if isinstance(node, _DEFINITIONS):
            # outer functions come off the stack before inner ones, so the innermost one is written last
            owner[_start(node, lines) : last_line(node) + 1] = len(functions)
            functions.append((scope, node.lineno, last_line(node)))
        pending += [(child, scope) for child in reversed(list(_statements(node)))]
    return tuple(functions), owner


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements and clauses directly inside a node; expressions have neither."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        block = getattr(node, name, ())
        if isinstance(block, list):
            yield from block


def _start(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: LogicalLines) -> int:
    """The first line of a function's own statements; a body on the line of the ``def`` is part of that statement."""
    return max(start_line(function.body[0]), lines.last(lines.first(function.lineno)) + 1)
