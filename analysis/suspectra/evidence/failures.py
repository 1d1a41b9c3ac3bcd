"""Sentences about where tests failed."""

from __future__ import annotations

import re

import numpy as np

from suspectra.evidence.evidence import Evidence
from suspectra.spectrum import Spectrum

_EXCEPTION = re.compile(r"(?:[a-z_]\w*\.)*([A-Z]\w*)(?=:|$)")  # at the begin of a message


def exception_names(evidence: Evidence) -> dict[str, str]:
    """Return the exception that ended each failing test: from its stack, or else from its message.

    Parameters
    ----------
    evidence : Evidence
        With the failing tests.

    Returns
    -------
    dict of str to str
        By the names of the tests, without those of which it is not known.

    Examples
    --------
    >>> from suspectra.evidence.evidence import TestResult, Verdict
    >>> tests = (TestResult("test_all", Verdict.FAILED, message="decimal.InvalidOperation: no number"),)
    >>> exception_names(Evidence("by hand", tests, (), (np.zeros(0, np.int32),), np.zeros(0, np.int32)))
    {'test_all': 'InvalidOperation'}
    """
    found = {}
    for test in evidence.failing:
        stack = evidence.stacks.get(test.name)
        named = _EXCEPTION.match(test.message)
        if name := stack.exception if stack else named[1] if named else "":
            found[test.name] = name
    return found


def first_failure(evidence: Evidence) -> str:
    """Say where and how the first failing test failed, and how many more did.

    Parameters
    ----------
    evidence : Evidence
        With at least one failing test.

    Returns
    -------
    str
        A clause with text from the evidence.

    Examples
    --------
    >>> from suspectra.evidence.evidence import TestResult, Verdict
    >>> tests = tuple(TestResult(name, Verdict.FAILED, message="OSError: no disk") for name in ("test_a", "test_b"))
    >>> rows = (np.zeros(0, np.int32), np.zeros(0, np.int32))
    >>> first_failure(Evidence("by hand", tests, (), rows, np.zeros(0, np.int32)))
    'test_a failed: OSError: no disk; and 1 more failed'
    """
    test, *others = evidence.failing
    stack = evidence.stacks.get(test.name)
    line = stack.test_line if stack else None
    where = f" at {line.file}:{line.line}" if line else ""
    what = (stack.what if stack else "") or test.message
    return f"{test.name} failed{where}{what and f': {what}'}{f'; and {len(others)} more failed' if others else ''}"


def failed_in(evidence: Evidence, spectrum: Spectrum, element: int) -> tuple[str, ...]:
    """Return the names of the tests that failed in a statement.

    Parameters
    ----------
    evidence : Evidence
        Evidence with the stacks of failing tests.
    spectrum : Spectrum
        The spectrum of the evidence.
    element : int
        Column of the statement.

    Returns
    -------
    tuple of str
        Sorted; empty if the evidence has no stacks.

    Examples
    --------
    >>> from suspectra.evidence.evidence import TestResult, Verdict
    >>> from suspectra.measured_file import MeasuredFile
    >>> from suspectra_recorder.log.stack import Stack, StackFrame
    >>> lines = np.array([1, 2], np.int32)
    >>> cart = MeasuredFile("cart.py", None, lines, lines, np.array([-1, -1], np.int32), ())
    >>> stacks = {"test_all": Stack((StackFrame("cart.py", 2),), "KeyError", "'DE'")}
    >>> tests, rows = (TestResult("test_all", Verdict.FAILED),), (np.array([0, 1], np.int32),)
    >>> evidence = Evidence("by hand", tests, (cart,), rows, np.zeros(0, np.int32), stacks=stacks)
    >>> failed_in(evidence, evidence.spectrum(), 1)
    ('test_all',)
    """
    if spectrum.raised is None:
        return ()
    names = (spectrum.tests[test] for test in np.flatnonzero(spectrum.raised == element).tolist())
    return tuple(sorted(name for name in names if name in evidence.stacks))


def failure_sentence(evidence: Evidence, spectrum: Spectrum, element: int) -> str:
    """Say how many tests failed in a statement, and with which exception.

    Parameters
    ----------
    evidence : Evidence
        Evidence with the stacks of failing tests.
    spectrum : Spectrum
        The spectrum of the evidence.
    element : int
        Column of the statement.

    Returns
    -------
    str
        One sentence with text from the evidence; empty if no test failed there.

    Examples
    --------
    >>> from suspectra.evidence.evidence import TestResult, Verdict
    >>> from suspectra.measured_file import MeasuredFile
    >>> from suspectra_recorder.log.stack import Stack, StackFrame
    >>> lines = np.array([1, 2], np.int32)
    >>> cart = MeasuredFile("cart.py", None, lines, lines, np.array([-1, -1], np.int32), ())
    >>> stacks = {"test_all": Stack((StackFrame("cart.py", 2),), "KeyError", "'DE'")}
    >>> tests, rows = (TestResult("test_all", Verdict.FAILED),), (np.array([0, 1], np.int32),)
    >>> evidence = Evidence("by hand", tests, (cart,), rows, np.zeros(0, np.int32), stacks=stacks)
    >>> failure_sentence(evidence, evidence.spectrum(), 1)
    "The failing test failed here: KeyError: 'DE'."
    """
    names = failed_in(evidence, spectrum, element)
    if not names:
        return ""
    failed = spectrum.counts.failed
    who = "The failing test" if failed == 1 else f"{len(names)} of {failed} failing tests"
    what = dict.fromkeys(stack.what for name in names if (stack := evidence.stacks[name]).what)
    first = f": {next(iter(what))}" if what else ""
    others = (
        f", and {len(what) - 1} other messages" if len(what) > 2 else ", and another message" if len(what) == 2 else ""
    )
    return f"{who} failed here{first}{others}."
