"""The notifications of a result object of unittest."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any

from suspectra_recorder.explanations import Explanations


def listen(
    result: unittest.TestResult, handlers: dict[str, Callable[..., None]], explanations: Explanations
) -> Callable[[], None]:
    """Follow the notifications of a result object, and capture the code that explains failures separately.

    Parameters
    ----------
    result : unittest.TestResult
        Of any class; its methods are replaced.
    handlers : dict of str to callable
        By the name of a method what is called before it, with the same arguments. Methods that it lacks are left out.
    explanations : Explanations
        What captures it.

    Returns
    -------
    callable
        Stops following.

    Examples
    --------
    >>> from suspectra_recorder.recorder import Recorder
    >>> from suspectra_recorder.scope import Scope
    >>> recorder = Recorder(Scope(str(folder)), "8f3a")
    >>> explanations = Explanations(recorder)
    >>> explanations.begin()
    >>> result = unittest.TestResult()
    >>> undo = listen(result, {"addSkip": lambda test, reason: print(reason)}, explanations)
    >>> result.addSkip(unittest.FunctionTestCase(print), "too slow")
    too slow
    >>> undo()
    >>> recorder.stop()
    """
    before = {name: vars(result).get(name) for name in handlers if hasattr(result, name)}
    for name in before:
        setattr(result, name, _both(handlers[name], getattr(result, name), explanations))

    def undo() -> None:
        for name, method in before.items():
            if method is None:
                vars(result).pop(name, None)
            else:
                setattr(result, name, method)

    return undo


def _both(handle: Callable[..., None], report: Callable[..., Any], explanations: Explanations) -> Callable[..., Any]:
    @functools.wraps(report)
    def listening(*arguments: Any, **more: Any) -> Any:
        failed = any(isinstance(argument, tuple) for argument in (*arguments, *more.values()))  # sys.exc_info()
        with explanations.capture(needed=failed):
            handle(*arguments, **more)
            return report(*arguments, **more)

    return listening
