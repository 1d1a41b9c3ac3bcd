"""Phases of tests that failed, told to plugins once all of pytest knows how."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins


class FailedPhases:
    """A plugin that is told of each phase of a test that failed, or was skipped.

    Examples
    --------
    >>> class Names(FailedPhases):
    ...     def failed(self, phase, error):
    ...         print(phase, error.typename)
    >>> call = pytest.CallInfo.from_call(lambda: {}["DE"], when="call")
    >>> list(Names().pytest_runtest_makereport(call))
    call KeyError
    [None]
    """

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Tell of a phase that raised an exception.

        Parameters
        ----------
        call : pytest.CallInfo
            A phase of the test.

        Yields
        ------
        None
            Once.
        """
        yield  # pytest's plugin for unittest says first what failed
        if call.excinfo is not None:
            self.failed(call.when, call.excinfo)

    def failed(self, phase: str, error: pytest.ExceptionInfo[BaseException]) -> None:
        """A phase of the test raised an exception.

        Parameters
        ----------
        phase : str
            ``setup``, ``call`` or ``teardown``.
        error : pytest.ExceptionInfo
            The exception, and where it was raised.
        """
