"""Phases of tests that failed, told to plugins once all of pytest knows how."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


class FailedPhases:
    """A plugin that is told of each phase of a test that failed, or was skipped."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Tell of a phase that raised an exception."""
        yield  # pytest's plugin for unittest says first what failed
        if call.excinfo is not None:
            self.failed(call.when, call.excinfo)

    def failed(self, phase: str, error: pytest.ExceptionInfo[BaseException]) -> None:
        """A phase of the test raised an exception."""
