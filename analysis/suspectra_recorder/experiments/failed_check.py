"""Where test code fails, and whether an altered run that passes went through there.

A test also passes when an alteration keeps its code from being called, as in a decorator of the program around it, or
when the exception that shows the fault is caught before pytest sees it. Neither repairs anything.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, TypedDict

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys
from suspectra_recorder.instrumentation.parser_references import ast
from suspectra_recorder.instrumentation.source import parse

if TYPE_CHECKING:
    from _typeshed import TraceFunction

__builtins__ = library_references.builtins

_HANDLING = (ast.Try, getattr(ast, "TryStar", ast.Try), ast.With, ast.AsyncWith)
_EXAMPLE = "<doctest "  # so doctest names the file of an example


class FailedCheck(TypedDict):
    """Where the failure of a test leaves the test's code, or that of a fixture."""

    path: str
    """The file, as the code itself names it."""
    function: str
    """The name of its code."""
    begins: int
    """The first line of its code."""
    line: int
    """Where the exception came from, or passed through."""
    exception: str
    """The name of its type."""


def failed_check(
    traceback: TracebackType | None, exception: str, module: str, is_test: Callable[[str], bool]
) -> FailedCheck | None:
    """Find where a failure leaves the code of a test.

    The outermost function of that file, or example of a doctest, or else of other test code, such as a fixture; None
    where there is none.
    """
    found: FailedCheck | None = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        own_code = code.co_filename == module or code.co_filename.startswith(_EXAMPLE)
        if own_code or (found is None and is_test(code.co_filename)):
            found = {
                "path": code.co_filename,
                "function": code.co_name,
                "begins": code.co_firstlineno,
                "line": traceback.tb_lineno,
                "exception": exception,
            }
        if own_code:
            return found
        traceback = traceback.tb_next
    return found


def passes_only_by(check: FailedCheck, test: object) -> bool:
    """Whether a test can't pass without its check: its own function has it, and handles no exception there.

    Watching a run makes it many times as slow.
    """
    function = getattr(test, "__func__", test)
    code = getattr(function, "__code__", None)
    if code is None or (code.co_filename, code.co_name) != (check["path"], check["function"]):
        return False
    return code.co_firstlineno == check["begins"] and not _is_handled(check["path"], check["begins"], check["line"])


@cache
def _is_handled(path: str, begins: int, line: int) -> bool:
    """Whether something in a function may handle an exception of a line, or leave the line out."""
    try:
        with open(path, "rb") as stream:
            tree = parse(stream.read(), path)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return True
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first == begins:
                inside = (one for one in ast.walk(node) if isinstance(one, _HANDLING))
                return any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in inside)
    return True


class WatchedCheck:
    """Watches a run for the check that failed without an alteration."""

    def __init__(self, check: FailedCheck):
        self._check = check
        self._called = self._raised = False
        self._before: TraceFunction | None = None

    def begin(self) -> None:
        """Watch the calls of this thread from now on."""
        self._before = sys.gettrace()
        sys.settrace(self._call)

    def end(self) -> bool:
        """Watch no longer.

        Whether the run did without the check: its function was not called, or raised the same there again. False where
        the test itself traced calls, so that nothing is known.
        """
        watched = sys.gettrace() == self._call
        sys.settrace(self._before)
        return watched and (self._raised or not self._called)

    def _call(self, frame: FrameType, event: str, value: object) -> TraceFunction | None:
        """A call begins, or goes on; Python calls this."""
        code, check = frame.f_code, self._check
        if code.co_name != check["function"] or code.co_firstlineno != check["begins"]:
            return None
        if code.co_filename != check["path"]:
            return None
        self._called = True
        # only exceptions matter, and each event costs
        frame.f_trace_lines = False
        return self._inside

    def _inside(self, frame: FrameType, event: str, value: object) -> TraceFunction:
        if event == "exception" and frame.f_lineno == self._check["line"]:
            assert isinstance(value, tuple)
            self._raised = self._raised or value[0].__name__ == self._check["exception"]
        return self._inside
