"""Which functions of pytest, unittest and its mocks execute code only to explain why a test failed.

They call ``__repr__`` and ``__eq__`` of the program's objects for the message of a failed assertion. The test itself
does not execute this code.

pytest has hooks for reports, and for asserts one for comparisons alone. So four functions of its module that explain
asserts are wrapped, and six of unittest and its mocks; none of them does anything else, and they are called only after
an assertion has failed. If the recorder rewrote asserts itself, those in modules that are not recorded would be
missing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import sys

__builtins__ = library_references.builtins

_PYTEST = ("_saferepr", "_format_assertmsg", "_should_repr_global_name", "_call_reprcompare")
_UNITTEST = ("safe_repr", "_common_shorten_repr")
_MOCKS = ("_format_mock_call_signature", "_format_mock_failure_message", "_calls_repr")
_CASE, _MOCK = "unittest.case", "unittest.mock"

WhenExecuted = Callable[[str, Callable[[], None]], None]
"""Calls a function once a module of this name has been executed."""


class Explaining:
    """Marks functions that explain failures, so that they run in a context."""

    def __init__(self, around: Callable[[], AbstractContextManager[None]]):
        self._around = around
        self._undo: list[Callable[[], None]] = []

    def capture(self, *, needed: bool = True) -> AbstractContextManager[None]:
        """Return a context for code that explains a failure."""
        return self._around() if needed else nullcontext()

    def explains(self, owner: object, name: str, unless: Callable[[], bool] = bool) -> None:
        """Mark a function of a module or class as an explanation of failures."""
        original = getattr(owner, name, None)
        # these names are not public, and differ between versions
        if original is None:
            return  # another version

        @functools.wraps(original)
        def explain(*arguments: Any, **more: Any) -> Any:
            __tracebackhide__ = True
            with self.capture(needed=not unless()):
                return original(*arguments, **more)

        self.replace(owner, name, explain)

    def replace(self, owner: object, name: str, stand_in: object) -> None:
        """Replace an attribute until :meth:`undo`."""
        original = getattr(owner, name)
        setattr(owner, name, stand_in)
        self._undo.append(lambda: setattr(owner, name, original))

    def undo(self) -> None:
        """Restore all functions."""
        while self._undo:
            self._undo.pop()()


def in_pytest(explaining: Explaining, rewrite: ModuleType, config: object) -> None:
    """Separate explanations of asserts that pytest rewrote."""
    util = rewrite.util

    def elsewhere() -> bool:
        # a test may run another pytest in this process, whose failures are what it tests
        running = getattr(util, "_config", None)
        return running is not None and running is not config

    for name in _PYTEST:
        explaining.explains(rewrite, name, elsewhere)


def in_unittest(explaining: Explaining, when_executed: WhenExecuted) -> None:
    """Separate explanations of failed assertions of unittest and its mocks, once these modules are imported."""

    def case() -> None:
        module = sys.modules[_CASE]
        for name in _UNITTEST:
            explaining.explains(module, name)
        # unittest calls `pprint.pformat`, which the program may use for itself
        explaining.replace(module, "pprint", _Pretty(module.pprint))
        explaining.explains(module.pprint, "pformat")

    def mock() -> None:
        for name in _MOCKS:
            explaining.explains(sys.modules[_MOCK].NonCallableMock, name)

    for name, there in ((_CASE, case), (_MOCK, mock)):
        if name in sys.modules:
            there()
        else:
            when_executed(name, there)


class _Pretty:
    """Stands in for the module pprint in unittest, where one of its functions explains failures."""

    def __init__(self, module: ModuleType):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def pformat(self, *arguments: Any, **more: Any) -> Any:
        return self._module.pformat(*arguments, **more)
