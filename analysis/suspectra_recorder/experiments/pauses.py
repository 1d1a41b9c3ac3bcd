"""Pauses of experiments while a failure is explained: what is executed then is no part of the test.

Without them, code that only describes a failure, such as ``__repr__``, would be part of a failing test's path and of no
passing one's, and its decisions would be switched in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest

from suspectra_recorder.experiments.pausable import Pausable
from suspectra_recorder.explaining import Explaining, in_pytest, in_unittest
from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import _thread

__builtins__ = own.builtins

_ident = _thread.get_ident


class Pauses(Explaining):
    """The plugin that lets experiments pause: in explanations of failed assertions, and in reports of tests.

    Parameters
    ----------
    pausable : iterable of Pausable
        What pauses.

    Examples
    --------
    An explanation may need another one:

    >>> marks = Pausable()
    >>> pauses = Pauses([marks])
    >>> with pauses.capture():
    ...     with pauses.capture():
    ...         pass
    ...     len(marks.paused)
    1
    >>> marks.paused
    set()

    From now on, comparisons are explained in a pause:

    >>> pauses.begin(config=None)
    >>> pauses.undo()
    """

    def __init__(self, pausable: Iterable[Pausable]):
        super().__init__(self._pause)
        self._pausable = tuple(pausable)
        self._threads: set[int] = set()

    def begin(self, config: pytest.Config) -> None:
        """Mark what explains failures: modules that no test has imported by now are left out.

        Parameters
        ----------
        config : pytest.Config
            That of this run.
        """
        from _pytest.assertion import rewrite

        in_pytest(self, rewrite, config)
        in_unittest(self, _never)

    @contextmanager
    def _pause(self) -> Iterator[None]:
        thread = _ident()
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
        """A phase of a test has ended, is reported, or has failed.

        Yields
        ------
        None
            Once.
        """
        with self.capture():
            yield

    pytest_runtest_logreport = pytest_exception_interact = pytest_runtest_makereport


def _never(name: str, do: Callable[[], None]) -> None:
    pass
