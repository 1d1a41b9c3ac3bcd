"""How a test command ended, in words."""

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


_UNITTEST = {**{status: _PYTEST[status] for status in (0, 1, 5)}, 2: "unittest was called in a way that it refuses"}


def in_words(status: int, *, unittest: bool = False) -> str:
    """What the exit status of pytest or unittest says, or the signal that ended the command (128 and its number).

    Examples
    --------
    >>> in_words(5), in_words(137)
    ('no tests were found', 'it was killed by SIGKILL')
    """
    words = _UNITTEST if unittest else _PYTEST
    if status in words:
        return words[status]
    if status > 128:
        try:
            return f"it was killed by {signal.Signals(status - 128).name}"
        except ValueError:
            pass
    return f"the command failed with status {status}"
