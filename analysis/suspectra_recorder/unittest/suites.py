"""The tests in a suite of unittest."""

from __future__ import annotations

import unittest
from collections.abc import Collection, Iterable, Iterator
from unittest import suite as suites

from suspectra_recorder.instrumentation.library_references import sys


def tests_of(suite: Iterable[object]) -> Iterator[unittest.TestCase]:
    """The tests of a suite and of the suites in it."""
    try:
        for test in suite:
            if isinstance(test, suites.BaseTestSuite):
                yield from tests_of(test)
            elif isinstance(test, unittest.TestCase):
                yield test
    except TypeError:
        return


def leave_out(suite: suites.BaseTestSuite, left_out: Collection[int]) -> None:
    """Take tests out of a suite."""
    suite._tests = [test for test in suite._tests if id(test) not in left_out]
    for test in suite._tests:
        if isinstance(test, suites.BaseTestSuite):
            leave_out(test, left_out)


def succeed_without_tests() -> None:
    """Let unittest succeed where no test is affected; from Python 3.12 on it has a status of its own for no test."""
    main = sys.modules.get("unittest.main")
    if main is not None and "_NO_TESTS_EXITCODE" in vars(main):
        vars(main)["_NO_TESTS_EXITCODE"] = 0
