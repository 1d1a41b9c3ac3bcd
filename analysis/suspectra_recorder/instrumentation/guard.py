"""What the recorder does in the middle of the program must not disturb it, whatever fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, TypeVar

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import signal

__builtins__ = own.builtins

_Result = TypeVar("_Result")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_TOO_DEEP = "there was no room for it on the stack of the code that loads it (RecursionError)"


class Guard:
    """Lets the recorder try what may fail.

    Attributes
    ----------
    failures : dict of str to str
        By what was tried, mostly the name of a file: why it failed.
    """

    def __init__(self) -> None:
        self.failures: dict[str, str] = {}

    def attempt(self, about: str, do: Callable[..., _Result], *arguments: Any) -> _Result | None:
        """Call a function; when it fails, nobody but :attr:`failures` hears of it.

        The program's own interruptions go on: what a signal handler raises that happens to be called here, and
        KeyboardInterrupt.

        Parameters
        ----------
        about : str
            What is tried, mostly the name of a file.
        do : callable
            The function.
        *arguments : object
            Its arguments.

        Returns
        -------
        object
            What the function returns; None when it fails.
        """
        try:
            return do(*arguments)
        except RecursionError:
            self.failures[about] = _TOO_DEEP  # a call might fail like the one before
        except Exception as error:
            if _raised_by_a_signal_handler(error):
                raise
            self.failures[about] = named(error)
        return None


def named(error: BaseException) -> str:
    """What an error says, behind its type.

    Parameters
    ----------
    error : BaseException
        The error.

    Returns
    -------
    str
        The name of its type, a colon, and its message.
    """
    return f"{type(error).__name__}: {error}"


def like_an_import(function: _Function) -> _Function:
    """Make a function look like a part of Python's import system, which it extends.

    Python leaves the import system out of tracebacks, and out of the count of ``warnings.warn(stacklevel=2)``.

    Parameters
    ----------
    function : callable
        One written in Python.

    Returns
    -------
    callable
        The same function, changed.
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
    """The code that a handler runs, None where that is not Python's."""
    handler = getattr(handler, "func", handler)  # functools.partial
    handler = getattr(handler, "__func__", handler)
    return getattr(handler, "__code__", None) or getattr(vars(type(handler)).get("__call__"), "__code__", None)
