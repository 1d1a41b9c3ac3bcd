"""Pauses of experiments while a failure is explained, and while a module is imported for the first time.

What is executed then is no part of the test. Without pauses, code that only describes a failure, such as ``__repr__``,
would be part of a failing test's path and of no passing one's, and its decisions would be switched in vain. A module is
imported by whichever test needs it first, and its decisions are those of the platform.

Each thread pauses by itself. The limit of decisions still counts, so an endless loop in a `__repr__` ends. What a test
does after a failed comparison, as in ``finally``, belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from suspectra_recorder.experiments.pausable import Pausable
from suspectra_recorder.failures.explaining_functions import Explaining, in_pytest, in_unittest
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.failure_guard import Guard, like_an_import
from suspectra_recorder.instrumentation.first_imports import LOADER, first_import
from suspectra_recorder.instrumentation.library_references import _thread, sys

__builtins__ = library_references.builtins

_ident = _thread.get_ident


class Pauses(Explaining):
    """The plugin that lets experiments pause: in explanations of failures, in reports of tests, at first imports."""

    def __init__(self, pausable: Iterable[Pausable]):
        super().__init__(self._pause)
        self._pausable = tuple(pausable)
        self._threads: set[int] = set()

    def begin(self, config: pytest.Config, is_own: Callable[[str], bool]) -> None:
        """Mark what explains failures, in modules that are imported by now, and first imports from now on."""
        from _pytest.assertion import rewrite

        in_pytest(self, rewrite, config)
        in_unittest(self, _never)
        self._at_first_imports(is_own)

    def _at_first_imports(self, is_own: Callable[[str], bool]) -> None:
        # what is imported by now was not imported by a test
        original, imported = LOADER.exec_module, set(sys.modules)

        def is_first(module: ModuleType) -> bool:
            first = first_import(module, imported)
            if first is None or not is_own(first[1]):
                return False
            imported.add(first[0])
            return True

        def exec_module(loader: object, module: ModuleType) -> None:
            with self.capture(needed=bool(attempt("a module", is_first, module))):
                original(loader, module)

        attempt = Guard().attempt
        self.replace(LOADER, "exec_module", like_an_import(exec_module))

    @contextmanager
    def _pause(self) -> Iterator[None]:
        thread = _ident()
        # one may be inside of another, as an explanation in the report of a test
        if thread in self._threads:
            yield
            return
        self._threads.add(thread)
        for one in self._pausable:
            one.begin_pause()
        try:
            yield
        finally:
            for one in self._pausable:
                one.end_pause()
            self._threads.discard(thread)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        """A phase of a test has ended, is reported, or has failed."""
        with self.capture():
            yield

    pytest_runtest_logreport = pytest_exception_interact = pytest_runtest_makereport


def _never(name: str, do: Callable[[], None]) -> None:
    pass
