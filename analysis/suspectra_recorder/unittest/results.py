"""The notifications of a result object of unittest."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any

from suspectra_recorder.failures.explanations import Explanations


def listen(
    result: unittest.TestResult, handlers: dict[str, Callable[..., None]], explanations: Explanations
) -> Callable[[], None]:
    """Follow the notifications of a result object, and capture the code that explains failures separately."""
    # in the instance, since its class may be shared by other runs
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
