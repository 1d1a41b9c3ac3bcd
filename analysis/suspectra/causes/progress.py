"""How far a run of a failing test gets: whether it fails later in the test than it did unaltered."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

Frames = Sequence[tuple[str, int]]
"""File and line of the calls that led to a failure, the outermost first."""


class Progress(NamedTuple):
    r"""The lines of a test that run only after the statement in which it failed.

    Parameters
    ----------
    file : str
        The module of the test, as frames have it.
    lines : range
        From 1. Empty where nothing comes after the statement.

    Examples
    --------
    >>> source = "def test_a():\n    assert f(1) == 1\n    assert f(2) == 2\n    assert f(3) == 3\n"
    >>> progress = Progress.after_failure([("/w/test_a.py", 3), ("/w/a.py", 8)], "/w/test_a.py", source)
    >>> progress.lines
    range(4, 5)
    >>> progress.is_past([("/w/test_a.py", 4)]), progress.is_past([("/w/test_a.py", 2)]), progress.is_past([])
    (True, False, False)
    """

    file: str
    lines: range

    @classmethod
    def after_failure(cls, frames: Frames, file: str, source: bytes | str) -> Progress:
        """Find out what comes after a failure.

        Parameters
        ----------
        frames : sequence of (str, int)
            Of the failure.
        file : str
            The module of the test, as frames have it.
        source : bytes or str
            Of that module.

        Returns
        -------
        Progress
            Without lines where the failure has no frame in the module, or the module can't be parsed.
        """
        line = _line_in(frames, file)
        try:
            tree = ast.parse(source) if line else None
        except (SyntaxError, ValueError):
            tree = None
        return cls(file, range(0) if tree is None else _lines_after(tree, line))

    def is_past(self, frames: Frames) -> bool:
        """Whether a failure comes later in the test.

        Parameters
        ----------
        frames : sequence of (str, int)
            Of another failure.

        Returns
        -------
        bool
            False also where the test has no frame.
        """
        return _line_in(frames, self.file) in self.lines


def _line_in(frames: Frames, file: str) -> int:
    """The line at which the test was; 0 if it was in another file."""
    return next((line for path, line in frames if path == file), 0)


def _lines_after(tree: ast.AST, line: int) -> range:
    """The rest of the innermost function around a line, after the statement at it.

    Of a loop around the line nothing counts: what stands behind it may have run in an earlier round.
    """
    end, done = 0, 0
    for node in _around(tree, line):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            end, done = node.end_lineno or 0, 0
        elif not done:
            done = _end_of(node, line)
    return range(done + 1, end + 1) if done else range(0)


def _around(tree: ast.AST, line: int) -> Iterator[ast.stmt]:
    """The statements that a line is in, the outermost first."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            if node.lineno <= line <= (node.end_lineno or node.lineno):
                yield node
                yield from _around(node, line)
        elif not isinstance(node, ast.expr):
            yield from _around(node, line)


def _end_of(node: ast.stmt, line: int) -> int:
    """The last line of what has to be over for the run to be past a line of this statement; 0 if a part of it says."""
    if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        return node.end_lineno or line
    inside = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt)]
    if not inside:
        return node.end_lineno or line
    if line >= inside[0].lineno:
        return 0
    # an exception is expected in the whole of a `with`; other headers are over where their body begins
    return (node.end_lineno or line) if isinstance(node, (ast.With, ast.AsyncWith)) else inside[0].lineno - 1
