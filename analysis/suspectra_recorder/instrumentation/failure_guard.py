"""Catching failures of the recorder, so that they do not disturb the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, TypeVar

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import signal

__builtins__ = library_references.builtins

_Result = TypeVar("_Result")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_TOO_DEEP = "the stack of the code that loads it was too deep to instrument it (RecursionError)"


class Guard:
    """Runs functions of the recorder that may fail."""

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}  # reasons of failures by what was tried, mostly the name of a file

    def attempt(self, about: str, do: Callable[..., _Result], *arguments: object) -> _Result | None:
        """Call a function; a failure is only noted in :attr:`failures`.

        Interruptions of the program are not caught: exceptions that a signal handler raises during the call, and
        KeyboardInterrupt.

        The result of the function; None if it fails.
        """
        try:
            return do(*arguments)
        except RecursionError:
            self.failures[about] = _TOO_DEEP  # calling anything could raise it again
        except Exception as error:
            # a test may interrupt itself by an alarm, which can come while the recorder runs
            if _raised_by_a_signal_handler(error):
                raise
            self.failures[about] = named(error)
        return None


def named(error: BaseException) -> str:
    """Describe an error by its type and message."""
    return f"{type(error).__name__}: {error}"


def like_an_import(function: _Function) -> _Function:
    """Make a function look like a part of Python's import system.

    Python omits the import system from tracebacks, and does not count it for ``warnings.warn(stacklevel=2)``.
    """
    function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap_external>")
    return function


def _raised_by_a_signal_handler(error: Exception) -> bool:
    handlers = {_code(signal.getsignal(number)) for number in signal.valid_signals()}
    return any(code in handlers for code in _codes(error))


def _codes(error: Exception) -> Iterator[CodeType]:
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame.f_code
        traceback = traceback.tb_next


def _code(handler: Any) -> CodeType | None:
    """The code of a handler, None if it is not written in Python."""
    handler = getattr(handler, "func", handler)  # functools.partial
    handler = getattr(handler, "__func__", handler)
    return getattr(handler, "__code__", None) or getattr(vars(type(handler)).get("__call__"), "__code__", None)
