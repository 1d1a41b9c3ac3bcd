"""The comparisons that make tests fail, as pytest and unittest know them: one of their sides is what was expected."""

from __future__ import annotations

from decimal import Decimal
from traceback import walk_tb
from typing import Any

import pytest

from suspectra_recorder.experiments.failed_phases import FailedPhases
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

_MAX_FAILED = 8


class FailedComparisons(FailedPhases):
    """A plugin that keeps the sides of comparisons."""

    def __init__(self, failed: list[tuple[object, object]]):
        self._sides = failed
        # pytest does not name these classes in public
        self._approximate = type(pytest.approx(0.0)), type(pytest.approx(Decimal(0)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_assertrepr_compare(self, left: object, right: object) -> None:
        """Keep the sides of an assert; pytest asks for an explanation only if it fails."""
        self._add(left, right)

    def failed(self, phase: str, error: pytest.ExceptionInfo[BaseException]) -> None:
        """Keep what a method of unittest compared."""
        for frame, _ in walk_tb(error.tb):
            # unittest has no hook, but its methods have the sides as local variables
            if frame.f_globals.get("__name__") == "unittest.case":
                names = frame.f_locals
                if "first" in names and "second" in names:
                    self._add(names["first"], names["second"])
                    return

    def _add(self, left: object, right: object) -> None:
        if len(self._sides) < _MAX_FAILED:
            self._sides.append((self._expected(left), self._expected(right)))

    def _expected(self, value: Any) -> Any:
        """What ``pytest.approx`` is about."""
        return value.expected if any(type(value) is known for known in self._approximate) else value
