"""Explanations of failures: code that a runner executes to describe why a test failed.

pytest and unittest call ``__repr__`` and ``__eq__`` of the program's objects for the message of a failed assertion, and
the project's own hooks may report the failure. The test itself does not execute this code. As almost only failing tests
would execute it, it would always rank among the most suspicious. So it counts for no test. But a change of it may
affect tests that check such messages, so it is recorded as a dependency.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.captures import Capture
from suspectra_recorder.instrumentation.first_imports import FirstImports
from suspectra_recorder.instrumentation.imports import bits
from suspectra_recorder.instrumentation.loaded_file import LoadedFile
from suspectra_recorder.instrumentation.own import sys
from suspectra_recorder.recorder import Recorder

__builtins__ = own.builtins

_ABOUT = "an explanation"
_PYTEST = ("_saferepr", "_format_assertmsg", "_should_repr_global_name", "_call_reprcompare")
_UNITTEST = ("safe_repr", "_common_shorten_repr")
_MOCKS = ("_format_mock_call_signature", "_format_mock_failure_message", "_calls_repr")
_CASE, _MOCK = "unittest.case", "unittest.mock"


class Explanations:
    r"""Records what is executed to explain the failures of tests.

    Parameters
    ----------
    recorder : Recorder
        The recorder to which explanations are written.

    Examples
    --------
    Code that describes a failure does not count for the test, but is shared with it:

    >>> from suspectra_recorder.scope import Scope
    >>> recorder = Recorder(Scope(str(folder)), "8f3a")
    >>> describe = recorder.hook.code("price.py", "price.py", b"text = 'Price(20)'\n")
    >>> explanations = Explanations(recorder)
    >>> explanations.begin()
    >>> with explanations.capture():
    ...     exec(describe, {})
    >>> recorder.passed()
    {}
    >>> len(explanations.end())
    1

    A function can be such an explanation, or be replaced:

    >>> import textwrap
    >>> explanations.explains(textwrap, "shorten")
    >>> explanations.replace(textwrap, "dedent", str.strip)
    >>> textwrap.shorten("a long text", 8, placeholder="…"), textwrap.dedent("  text")
    ('a long…', 'text')
    >>> explanations.undo()
    >>> textwrap.dedent is str.strip
    False
    >>> recorder.stop()
    """

    def __init__(self, recorder: Recorder):
        self._recorder = recorder
        self._executed: dict[LoadedFile, int] = {}
        self._undo: list[Callable[[], None]] = []

    def begin(self) -> None:
        """Begin a test."""
        self._executed.clear()

    def end(self) -> tuple[str, ...]:
        """End a test, and record the explanations of its failures.

        Returns
        -------
        tuple of str
            The name of the recorded rows; empty if nothing was executed.
        """
        numbers = {file: number for number, file in enumerate(self._recorder.hook.files)} if self._executed else {}
        passed = {numbers[file]: cells for file, cells in self._executed.items() if file in numbers}
        name = self._recorder.share(dict(sorted(passed.items())))
        return (name,) if name else ()

    def capture(self, *, needed: bool = True) -> AbstractContextManager[None]:
        """Return a context for code that explains a failure.

        Parameters
        ----------
        needed : bool
            If False, the context does nothing.

        Returns
        -------
        context manager
            Code inside it counts for no test.
        """
        return self._attempt() if needed else nullcontext()

    def _attempt(self) -> AbstractContextManager[None]:
        guard, captures = self._recorder.hook.guard, self._recorder.imports.captures
        return guard.attempt(_ABOUT, _Explanation, captures, _ABOUT, self._add) or nullcontext()

    def _add(self, file: LoadedFile, executed: int) -> None:
        self._executed[file] = self._executed.get(file, 0) | executed

    def explains(self, owner: object, name: str, unless: Callable[[], bool] = bool) -> None:
        """Mark a function of a module or class as an explanation of failures.

        Parameters
        ----------
        owner : module or class
            The module or class with the function.
        name : str
            The name of the function, which may not exist in this version.
        unless : callable
            Called before each call; if it returns True, the call belongs to the test.
        """
        original = getattr(owner, name, None)
        if original is None:
            return  # another version

        @functools.wraps(original)
        def explain(*arguments: Any, **more: Any) -> Any:
            __tracebackhide__ = True
            with self.capture(needed=not unless()):
                return original(*arguments, **more)

        self.replace(owner, name, explain)

    def replace(self, owner: object, name: str, stand_in: object) -> None:
        """Replace an attribute until :meth:`undo`.

        Parameters
        ----------
        owner : object
            The object with the attribute.
        name : str
            The name of the attribute.
        stand_in : object
            The new value.
        """
        original = getattr(owner, name)
        setattr(owner, name, stand_in)
        self._undo.append(lambda: setattr(owner, name, original))

    def undo(self) -> None:
        """Restore all functions."""
        while self._undo:
            self._undo.pop()()


class _Explanation(Capture):
    def __init__(self, captures: Any, name: str, add: Callable[[LoadedFile, int], None]):
        super().__init__(captures, name)
        self._add = add

    def end(self, failed: bool) -> None:
        self.captures.remove(self)
        for file, cells in self.cells.items():
            if any(cells):
                self._add(file, bits(cells))


def in_pytest(explanations: Explanations, rewrite: ModuleType, config: object) -> None:
    """Separate explanations of asserts that pytest rewrote.

    Parameters
    ----------
    explanations : Explanations
        The explanations of the recorder.
    rewrite : module
        ``_pytest.assertion.rewrite``.
    config : pytest.Config
        The configuration of this run. If a test runs pytest itself, explanations of that run belong to the test.

    Examples
    --------
    >>> from _pytest.assertion import rewrite
    >>> from suspectra_recorder.scope import Scope
    >>> recorder = Recorder(Scope(str(folder)), "8f3a")
    >>> explanations = Explanations(recorder)
    >>> original = rewrite._saferepr
    >>> in_pytest(explanations, rewrite, config=None)
    >>> rewrite._saferepr.__wrapped__ is original
    True
    >>> explanations.undo(), recorder.stop()
    (None, None)
    """
    util = rewrite.util

    def elsewhere() -> bool:
        running = getattr(util, "_config", None)
        return running is not None and running is not config

    for name in _PYTEST:
        explanations.explains(rewrite, name, elsewhere)


def in_unittest(explanations: Explanations, imports: FirstImports) -> None:
    """Separate explanations of failed assertions of unittest and its mocks, once these modules are imported.

    Parameters
    ----------
    explanations : Explanations
        The explanations of the recorder.
    imports : FirstImports
        Notifies when unittest or its mocks are imported.

    Examples
    --------
    >>> import unittest
    >>> from suspectra_recorder.scope import Scope
    >>> recorder = Recorder(Scope(str(folder)), "8f3a")
    >>> explanations = Explanations(recorder)
    >>> original = unittest.case.safe_repr
    >>> in_unittest(explanations, recorder.imports)
    >>> unittest.case.safe_repr.__wrapped__ is original
    True
    >>> explanations.undo(), recorder.stop()
    (None, None)
    """

    def case() -> None:
        module = sys.modules[_CASE]
        for name in _UNITTEST:
            explanations.explains(module, name)
        explanations.replace(module, "pprint", _Pretty(module.pprint))
        explanations.explains(module.pprint, "pformat")

    def mock() -> None:
        for name in _MOCKS:
            explanations.explains(sys.modules[_MOCK].NonCallableMock, name)

    for name, there in ((_CASE, case), (_MOCK, mock)):
        if name in sys.modules:
            there()
        else:
            imports.when_executed(name, there)


class _Pretty:
    """Stands in for the module pprint in unittest, where one of its functions explains failures."""

    def __init__(self, module: ModuleType):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def pformat(self, *arguments: Any, **more: Any) -> Any:
        return self._module.pformat(*arguments, **more)
