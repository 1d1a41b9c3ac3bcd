"""Explanations of failures: what a runner executes to say why a test failed.

pytest and unittest call the ``__repr__`` and ``__eq__`` of the program's objects for the message of a failed assertion,
and hooks of the project's own report the failure. No test asked for that. As hardly any but failing tests would execute
it, it would always be among the most suspicious. So it belongs to no test; but tests rest on it, because a message may
be what a test expects.
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
    """What was executed to explain the failures of one test after the other.

    Parameters
    ----------
    recorder : Recorder
        Where they are recorded.
    """

    def __init__(self, recorder: Recorder):
        self._recorder = recorder
        self._executed: dict[LoadedFile, int] = {}
        self._undo: list[Callable[[], None]] = []

    def begin(self) -> None:
        """A test begins."""
        self._executed.clear()

    def end(self) -> tuple[str, ...]:
        """End a test, and record what explained its failures.

        Returns
        -------
        tuple of str
            The name under which that is recorded, alone; empty where nothing was executed for it.
        """
        numbers = {file: number for number, file in enumerate(self._recorder.hook.files)} if self._executed else {}
        passed = {numbers[file]: cells for file, cells in self._executed.items() if file in numbers}
        name = self._recorder.share(dict(sorted(passed.items())))
        return (name,) if name else ()

    def capture(self, *, needed: bool = True) -> AbstractContextManager[None]:
        """A context for what explains a failure.

        Parameters
        ----------
        needed : bool
            With False the context does nothing.

        Returns
        -------
        context manager
            What runs inside belongs to no test.
        """
        return self._attempt() if needed else nullcontext()

    def _attempt(self) -> AbstractContextManager[None]:
        guard, captures = self._recorder.hook.guard, self._recorder.imports.captures
        return guard.attempt(_ABOUT, _Explanation, captures, _ABOUT, self._add) or nullcontext()

    def _add(self, file: LoadedFile, executed: int) -> None:
        self._executed[file] = self._executed.get(file, 0) | executed

    def explains(self, owner: Any, name: str, unless: Callable[[], bool] = bool) -> None:
        """Note that a function of a module or class explains failures.

        Parameters
        ----------
        owner : module or class
            What has the function.
        name : str
            The function; nothing happens where this version has none of that name.
        unless : callable
            Asked at each call; where it gives True, the call is what a test does and explains nothing.
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

    def replace(self, owner: Any, name: str, stand_in: object) -> None:
        """Set an attribute until all is undone.

        Parameters
        ----------
        owner : object
            What has the attribute.
        name : str
            The attribute.
        stand_in : object
            Its value until then.
        """
        original = getattr(owner, name)
        setattr(owner, name, stand_in)
        self._undo.append(lambda: setattr(owner, name, original))

    def undo(self) -> None:
        """Let all functions be what they were."""
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


def in_pytest(explanations: Explanations, rewrite: Any, config: Any) -> None:
    """Take out what explains asserts that pytest rewrote.

    Parameters
    ----------
    explanations : Explanations
        What they are added to.
    rewrite : module
        ``_pytest.assertion.rewrite``.
    config : pytest.Config
        A test may run pytest itself; what explains the asserts of that run is what the test does.
    """
    util = rewrite.util

    def elsewhere() -> bool:
        running = getattr(util, "_config", None)
        return running is not None and running is not config

    for name in _PYTEST:
        explanations.explains(rewrite, name, elsewhere)


def in_unittest(explanations: Explanations, imports: FirstImports) -> None:
    """Take out what explains the failed assertions of unittest and its mocks, as soon as they are there.

    Parameters
    ----------
    explanations : Explanations
        What they are added to.
    imports : FirstImports
        What says when unittest or its mocks are there.
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
    """The module pprint as unittest sees it, one function of which explains failures there."""

    def __init__(self, module: ModuleType):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def pformat(self, *arguments: Any, **more: Any) -> Any:
        return self._module.pformat(*arguments, **more)
