"""The comparisons that make tests fail, as pytest and unittest know them: one of their sides is what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins

_MAX_FAILED = 8


class FailedComparisons:
    """A plugin that keeps the sides of comparisons.

    Parameters
    ----------
    failed : list of tuple
        Takes the sides.

    Examples
    --------
    >>> failed = []
    >>> FailedComparisons(failed).pytest_assertrepr_compare(19, pytest.approx(20.0))
    >>> failed
    [(19, 20.0)]
    """

    def __init__(self, failed: list[tuple[object, object]]):
        self._failed = failed
        self._approximate = type(pytest.approx(0.0)), type(pytest.approx(Decimal(0)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_assertrepr_compare(self, left: object, right: object) -> None:
        """Keep the sides of an assert; pytest asks for an explanation only if it fails.

        Parameters
        ----------
        left, right : object
            What was compared.
        """
        self._add(left, right)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Keep what a method of unittest compared; pytest's plugin for unittest says first what failed.

        Parameters
        ----------
        call : pytest.CallInfo
            A phase of the test.

        Yields
        ------
        None
            Once.
        """
        yield
        trace = call.excinfo.tb if call.excinfo is not None else None
        while trace is not None:
            if trace.tb_frame.f_globals.get("__name__") == "unittest.case":
                names = trace.tb_frame.f_locals
                if "first" in names and "second" in names:
                    self._add(names["first"], names["second"])
                    return
            trace = trace.tb_next

    def _add(self, left: object, right: object) -> None:
        if len(self._failed) < _MAX_FAILED:
            self._failed.append((self._expected(left), self._expected(right)))

    def _expected(self, value: Any) -> Any:
        """What ``pytest.approx`` is about."""
        return value.expected if any(type(value) is known for known in self._approximate) else value
