"""Python source text as statements and functions, on the lines coverage.py would name.

What a statement is, the recorder decides (:mod:`suspectra_recorder.instrumentation.source`), and it decides as
coverage.py
does, so evidence of both kinds speaks of the same columns.
"""

from __future__ import annotations

import ast
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from suspectra.arrays import Ints
from suspectra_recorder.instrumentation.source import LogicalLines, parse, statement_lines

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Positioned = ast.stmt | ast.expr | ast.excepthandler | ast.pattern
"""The nodes that know their lines."""


@dataclass(frozen=True, eq=False)
class PythonSource:
    r"""The executable statements of one source file.

    Parameters
    ----------
    line, end_line : ndarray of int32, shape (k,)
        First and last line of each statement, ascending. A compound statement ends where its header ends.
    function : ndarray of int32, shape (k,)
        Index of the innermost enclosing function, -1 outside any. A ``def`` runs in the scope around it.
    functions : tuple of (name, line, end_line)
        Qualified names, classes included; `line` is that of the ``def``.
    first_line : ndarray of int32, shape (lines + 1,)
        For every raw line the first line of its logical line; lines count from 1.

    Examples
    --------
    >>> source = PythonSource.parse(b"def f(a):\n    '''Doc.'''\n    return max(\n        a, 1)\n")
    >>> source.line.tolist(), source.end_line.tolist(), source.functions
    ([1, 3], [1, 4], (('f', 1, 4),))
    >>> source.statements_of(np.array([4, 2, 99])).tolist()
    [1, -1, -1]
    """

    line: Ints
    end_line: Ints
    function: Ints
    functions: tuple[tuple[str, int, int], ...]
    first_line: Ints

    @classmethod
    def parse(cls, data: bytes) -> PythonSource:
        """Read a source file's bytes; nothing of it is executed.

        Parameters
        ----------
        data : bytes
            The whole file, in the encoding it declares.

        Returns
        -------
        PythonSource
            Its statements and functions.

        Raises
        ------
        SyntaxError
            When this Python can't compile the source, whatever the reason.
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
        # a file without any code has an instruction nevertheless, and nothing to point at
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
        r"""Move raw line numbers, negative ones as well, to the first line of their logical line.

        Parameters
        ----------
        lines : ndarray of int, shape (k,)
            As the interpreter reports them.

        Returns
        -------
        ndarray of int, shape (k,)
            With the sign they had; lines behind the end stay as they are.

        Examples
        --------
        >>> source = PythonSource.parse(b"total = max(\n    1,\n    2)\n")
        >>> source.first_lines(np.array([3, -1])).tolist()
        [1, -1]
        """
        size = np.abs(lines)
        known = size < len(self.first_line)
        return np.where(known, np.sign(lines) * self.first_line[np.where(known, size, 0)], lines)

    def statements_of(self, lines: Ints) -> Ints:
        """The index of the statement at each raw line, -1 where there is none.

        Parameters
        ----------
        lines : ndarray of int, shape (k,)
            As the interpreter reports them.

        Returns
        -------
        ndarray of int64, shape (k,)
            Indices into `line`.
        """
        if not len(self.line):
            return np.full(len(lines), -1, np.int64)
        first = self.first_lines(lines)
        index = np.minimum(np.searchsorted(self.line, first), len(self.line) - 1)
        return np.where(self.line[index] == first, index, -1)


def start_line(node: Positioned) -> int:
    r"""The first line of a node, that of its first decorator where it has some.

    Parameters
    ----------
    node : Positioned
        Of a parsed source.

    Returns
    -------
    int
        Counted from 1.

    Examples
    --------
    >>> start_line(ast.parse("@cache\ndef total():\n    return 1").body[0])
    1
    """
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(node: Positioned) -> int:
    r"""The last line of a node that was parsed; only made ones may have none.

    Parameters
    ----------
    node : Positioned
        Of a parsed source.

    Returns
    -------
    int
        Counted from 1; the line of `node` where it has no last one.

    Examples
    --------
    >>> last_line(ast.parse("def total():\n    return 1").body[0])
    2
    """
    return node.end_lineno or node.lineno


def _functions(tree: ast.Module, lines: LogicalLines, size: int) -> tuple[tuple[tuple[str, int, int], ...], Ints]:
    """The functions in the order of their lines, and for every line the function it runs in."""
    functions: list[tuple[str, int, int]] = []
    owner = np.full(size, -1, np.int32)
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, scope = waiting.pop()
        if isinstance(node, (ast.ClassDef, *_DEFINITIONS)):
            scope = f"{scope}.{node.name}" if scope else node.name
        if isinstance(node, _DEFINITIONS):
            # outer functions come off the stack before inner ones, so the innermost paints last
            owner[_start(node, lines) : last_line(node) + 1] = len(functions)
            functions.append((scope, node.lineno, last_line(node)))
        waiting += [(child, scope) for child in reversed(list(_statements(node)))]
    return tuple(functions), owner


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements and the clauses directly inside a node; expressions hold neither."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        block = getattr(node, name, ())
        if isinstance(block, list):
            yield from block


def _start(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: LogicalLines) -> int:
    """Where a function's own lines start: a body on the line of the ``def`` is part of that statement."""
    return max(start_line(function.body[0]), lines.last(lines.first(function.lineno)) + 1)
