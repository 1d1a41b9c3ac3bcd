"""Explanations of failures: code that a runner executes to describe why a test failed.

pytest and unittest call ``__repr__`` and ``__eq__`` of the program's objects for the message of a failed assertion, and
the project's own hooks may report the failure. The test itself does not execute this code. As almost only failing tests
would execute it, it would always rank among the most suspicious. So it counts for no test. But a change of it may
affect tests that check such messages, so it is recorded as a dependency.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from suspectra_recorder.failures.explaining_functions import Explaining
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.imports import bits
from suspectra_recorder.instrumentation.loaded_file import LoadedFile
from suspectra_recorder.instrumentation.thread_captures import Capture
from suspectra_recorder.recorder import Recorder

__builtins__ = library_references.builtins

_ABOUT = "an explanation"


class Explanations(Explaining):
    """Records what is executed to explain the failures of tests."""

    def __init__(self, recorder: Recorder):
        super().__init__(self._attempt)
        self._recorder = recorder
        self._executed: dict[LoadedFile, int] = {}

    def begin(self) -> None:
        """Begin a test."""
        self._executed.clear()

    def end(self) -> tuple[str, ...]:
        """End a test, and record the explanations of its failures.

        The name of the recorded rows; empty if nothing was executed.
        """
        numbers = {file: number for number, file in enumerate(self._recorder.hook.files)} if self._executed else {}
        passed = {numbers[file]: cells for file, cells in self._executed.items() if file in numbers}
        name = self._recorder.share(dict(sorted(passed.items())))
        return (name,) if name else ()

    def _attempt(self) -> AbstractContextManager[None]:
        guard, captures = self._recorder.hook.guard, self._recorder.imports.captures
        # a failure of the recorder must not hide that of the test
        return guard.attempt(_ABOUT, _Explanation, captures, _ABOUT, self._add) or nullcontext()

    def _add(self, file: LoadedFile, executed: int) -> None:
        self._executed[file] = self._executed.get(file, 0) | executed


class _Explanation(Capture):
    def __init__(self, captures: Any, name: str, add: Callable[[LoadedFile, int], None]):
        super().__init__(captures, name)
        self._add = add

    def end(self, failed: bool) -> None:
        self.captures.remove(self)
        for file, cells in self.cells.items():
            if any(cells):
                self._add(file, bits(cells))
