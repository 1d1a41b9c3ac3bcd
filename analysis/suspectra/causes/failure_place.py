"""How far a run of a failing test gets: whether it fails later in the test than it did unaltered."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from suspectra.causes.states import StatesRun
from suspectra_recorder.instrumentation.source import parse


class FailurePlace(NamedTuple):
    """Where in its function a test failed."""

    path: str  # the module of the test, as frames have it
    name: str  # the same as loops have it: relative to the workspace
    function: range = range(0)  # the lines of the function, from 1. Empty where nothing is known
    rest: range = range(0)  # those that come after the statement which failed
    # the line of each loop around the statement, the outermost first, and how many rounds had begun
    loops: tuple[tuple[int, int], ...] = ()

    @classmethod
    def from_run(cls, run: StatesRun, path: str, name: str, source: bytes | str) -> FailurePlace:
        """Find out where a test failed.

        With an empty function where that can't be told.
        """
        line = _line_in(run, path)
        try:
            around = list(_around(parse(source), line)) if line else []
        except (SyntaxError, ValueError):
            around = []
        functions = [node for node in around if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        if not functions:
            return cls(path, name)
        function = functions[-1]
        inside = around[around.index(function) + 1 :]
        loops = tuple((node.lineno, run.rounds.get((name, node.lineno), 0)) for node in inside if _is_loop(node))
        if not inside or (any(begun == 0 for _, begun in loops) and not _is_loop(inside[-1])):
            return cls(path, name)  # nobody has counted
        last = function.end_lineno or line
        return cls(path, name, range(function.lineno, last + 1), range(_end(inside[-1], line) + 1, last + 1), loops)

    def is_before(self, run: StatesRun) -> bool:
        """Whether another run failed later in the test.

        False also where that can't be told.
        """
        line = _line_in(run, self.path)
        if line not in self.function:
            return False
        begun = tuple(run.rounds.get((self.name, loop), 0) for loop, _ in self.loops)
        before = tuple(rounds for _, rounds in self.loops)
        return line in self.rest if begun == before else begun > before


def _line_in(run: StatesRun, path: str) -> int:
    """The line at which the test was when it failed; 0 if that was in another file."""
    return next((line for file, line in run.frames if file == path), 0)


def _around(tree: ast.AST, line: int) -> Iterator[ast.stmt]:
    """The statements that a line is in, the outermost first."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            if node.lineno <= line <= (node.end_lineno or node.lineno):
                yield node
                yield from _around(node, line)
        elif not isinstance(node, ast.expr):
            yield from _around(node, line)


def _is_loop(node: ast.stmt) -> bool:
    return isinstance(node, (ast.For, ast.AsyncFor, ast.While))


def _end(node: ast.stmt, line: int) -> int:
    """The last line of what has to be over for a run to be past a line of this statement, the innermost one there."""
    body = next((part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt)), None)
    # the head of a loop is there again after each round, and a `with` may expect an exception in the whole of it
    whole = body is None or line >= body.lineno or _is_loop(node) or isinstance(node, (ast.With, ast.AsyncWith))
    return (node.end_lineno or line) if whole or body is None else body.lineno - 1
