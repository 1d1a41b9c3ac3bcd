"""How far a test gets in its loops: the rounds that each loop of test code has begun."""

from __future__ import annotations

from collections.abc import Callable

from suspectra_recorder.experiments.decisions.inserted_calls import MarkCalls
from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins


class LoopRounds(Instrument):
    """Counts the rounds of the loops in test code."""

    tests = True

    def __init__(self, is_test: Callable[[str], bool] = lambda path: True):
        self._is_test = is_test
        self.begun: dict[tuple[str, int], int] = {}  # by file and line of a loop, how many rounds have begun

    def begin(self, path: str, line: int) -> None:
        """Note that a round begins; this is what instrumented code calls."""
        self.begun[path, line] = self.begun.get((path, line), 0) + 1

    def insert(self, tree: ast.Module, path: str, placeholder: str, *, asserts: bool) -> Callable[[], None]:
        """Have the rounds of each loop noted, if this is test code."""
        if self._is_test(path):
            calls = MarkCalls(placeholder)
            for node in ast.walk(tree):
                if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
                    place = calls.constant(path, node), calls.constant(node.lineno, node)
                    node.body.insert(0, ast.copy_location(ast.Expr(calls.call("begin", node, *place)), node))
        return lambda: None
