"""How far a test gets in its loops: the rounds that each loop of test code has begun."""

from __future__ import annotations

from collections.abc import Callable

from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.mark_calls import MarkCalls
from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own_syntax import ast

__builtins__ = own.builtins


class LoopRounds(Instrument):
    r"""Counts the rounds of the loops in test code.

    Parameters
    ----------
    is_test : callable
        Whether a file, relative to the workspace, is test code.

    Attributes
    ----------
    begun : dict of (str, int) to int
        By file and line of a loop, how many rounds have begun.

    Examples
    --------
    >>> from suspectra_recorder.experiments.loading import ExperimentHook
    >>> from suspectra_recorder.scope import Scope
    >>> rounds = LoopRounds(lambda path: path.startswith("test_"))
    >>> hook = ExperimentHook(Scope(str(folder), include_tests=True), [rounds])
    >>> for name in ("test_cart.py", "cart.py"):
    ...     exec(hook.code(str(folder / name), name, b"free = 0\nfor n in range(3):\n    free += n\n"), {})
    >>> rounds.begun
    {('test_cart.py', 2): 3}
    >>> rounds.begin("test_cart.py", 2)
    >>> rounds.begun
    {('test_cart.py', 2): 4}
    """

    tests = True

    def __init__(self, is_test: Callable[[str], bool] = lambda path: True):
        self._is_test = is_test
        self.begun: dict[tuple[str, int], int] = {}

    def begin(self, path: str, line: int) -> None:
        """Note that a round begins; this is what instrumented code calls.

        Parameters
        ----------
        path : str
            Relative to the workspace.
        line : int
            Of the loop.
        """
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
