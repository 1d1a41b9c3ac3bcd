"""Since when a test fails, which keeps what a change broke apart from what failed all along."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

import numpy as np

from suspectra.base.arrays import Bools


class Since(Enum):
    """Since when a test fails. In this order groups are listed."""

    CHANGE = "change"  # it passed before
    UNKNOWN = "unknown"  # it never ran before, or nobody knows how it ended
    BEFORE = "before"  # it failed before the oldest change

    @property
    def rank(self) -> int:
        """Its place in lists."""
        return _ORDER.index(self)

    @classmethod
    def of_group(cls, tests: Iterable[str], since: Mapping[str, Since]) -> Since:
        """That of tests in one group: what is known of any of them."""
        return next(
            (known for test in tests if (known := since.get(test, cls.UNKNOWN)) is not cls.UNKNOWN), cls.UNKNOWN
        )


_ORDER = tuple(Since)


def apart(tests: Sequence[str], since: Mapping[str, Since]) -> Bools:
    """Which tests can't share a fault: one that a change broke, and one that failed before.

    Of shape (tests, tests).
    """
    known = [since.get(test, Since.UNKNOWN) for test in tests]
    new, old = (np.array([one is wanted for one in known], bool) for wanted in (Since.CHANGE, Since.BEFORE))
    either: Bools = new[:, None] & old
    return either | either.T
