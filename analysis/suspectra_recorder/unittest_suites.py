"""The tests in a suite of unittest."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from unittest import suite as suites

from suspectra_recorder.instrumentation.own import sys


def tests_of(suite: Iterable[object]) -> Iterator[unittest.TestCase]:
    """The tests of a suite and of the suites in it.

    Parameters
    ----------
    suite : iterable
        A suite, or anything else that may hold tests; what can't be iterated holds none.

    Yields
    ------
    unittest.TestCase
        Each test.

    Examples
    --------
    >>> case = unittest.FunctionTestCase(print)
    >>> list(tests_of(unittest.TestSuite([unittest.TestSuite([case])]))) == [case]
    True
    """
    try:
        for test in suite:
            if isinstance(test, suites.BaseTestSuite):
                yield from tests_of(test)
            elif isinstance(test, unittest.TestCase):
                yield test
    except TypeError:
        return


def leave_out(suite: suites.BaseTestSuite, left_out: Collection[int]) -> None:
    """Take tests out of a suite.

    Parameters
    ----------
    suite : unittest.TestSuite
        Changed in place, with those in it.
    left_out : collection of int
        The ``id`` of each test that is not to run.

    Examples
    --------
    >>> first, second = unittest.FunctionTestCase(print), unittest.FunctionTestCase(len)
    >>> suite = unittest.TestSuite([first, second])
    >>> leave_out(suite, {id(first)})
    >>> list(suite) == [second]
    True
    """
    suite._tests = [test for test in suite._tests if id(test) not in left_out]
    for test in suite._tests:
        if isinstance(test, suites.BaseTestSuite):
            leave_out(test, left_out)


def distinct_names(tests: Sequence[unittest.TestCase], name_of: Callable[[unittest.TestCase], str]) -> dict[int, str]:
    """Name the tests of a suite, and number those of the same method from the second one on.

    The first one keeps its name: where it is alone, as where a part of the tests runs, it is the same test.

    Parameters
    ----------
    tests : sequence of unittest.TestCase
        In the order of the suite.
    name_of : callable
        Names a test by its method.

    Returns
    -------
    dict of int to str
        By the ``id`` of the test.

    Examples
    --------
    >>> cases = [unittest.FunctionTestCase(function) for function in (print, len, print)]
    >>> list(distinct_names(cases, lambda case: case._testFunc.__name__).values())
    ['print', 'len', 'print[1]']
    """
    names: dict[int, str] = {}
    count: dict[str, int] = {}
    for test in {id(test): test for test in tests}.values():
        name = name_of(test)
        before = count[name] = count.get(name, -1) + 1
        names[id(test)] = f"{name}[{before}]" if before else name
    return names


def succeed_without_tests() -> None:
    """Let unittest succeed where no test is affected; from Python 3.12 on it has a status of its own for no test.

    Examples
    --------
    >>> succeed_without_tests()
    >>> import unittest.main
    >>> getattr(unittest.main, "_NO_TESTS_EXITCODE", 0)
    0
    """
    main = sys.modules.get("unittest.main")
    if main is not None and "_NO_TESTS_EXITCODE" in vars(main):
        vars(main)["_NO_TESTS_EXITCODE"] = 0
