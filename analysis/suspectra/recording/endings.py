"""Descriptions of how a test command ended."""

from __future__ import annotations

import signal

_PYTEST = {
    0: "all tests passed",
    1: "some tests failed",
    2: "the run was interrupted",
    3: "pytest met an internal error",
    4: "pytest was called or set up in a way that it refuses",
    5: "no tests were found",
    6: "there were more warnings than are allowed",
}


TESTS_FAILED = 1
"""The exit status of pytest and unittest where a test failed."""

NO_TESTS = 5
"""The exit status of pytest, and from Python 3.12 on of unittest, where no test was found."""
_UNITTEST = {
    0: _PYTEST[0],
    1: _PYTEST[1],
    2: "unittest was called in a way that it refuses",
    NO_TESTS: "no tests were run",
}


def in_words(status: int, *, unittest: bool = False, deselected: int = 0) -> str:
    """Say what the exit status of pytest or unittest means, or which signal ended the command (128 and its number)."""
    if status == NO_TESTS and deselected:
        return f"all {deselected} tests were deselected" if deselected > 1 else "the only test was deselected"
    words = _UNITTEST if unittest else _PYTEST
    if status in words:
        return words[status]
    if status > 128:
        try:
            return f"it was killed by {signal.Signals(status - 128).name}"
        except ValueError:
            pass
    return f"the command failed with status {status}"
