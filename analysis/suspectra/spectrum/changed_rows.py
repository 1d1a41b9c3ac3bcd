"""What changed before tests failed: since they passed, or since a revision in git where no pass is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from suspectra.base.arrays import Bools, Ints, Row
from suspectra.spectrum.rows import common


class ChangedRows(dict[str, Row]):
    """By failing test, the sorted elements that changed since it passed, or since a revision in git."""

    def __init__(self, rows: Mapping[str, Row], by_git: Collection[str] = ()):
        super().__init__(rows)
        # the tests of which no pass is known: that they passed at the revision is only assumed
        self.by_git = frozenset(by_git)


def changes_by_git(changed: Mapping[str, Row]) -> Mapping[str, Row]:
    """Return what is only known from git.

    Of shape (changed,).
    """
    return {test: changed[test] for test in changed.by_git} if isinstance(changed, ChangedRows) else {}


def tests_with_change(
    changed: Mapping[str, Row], tests: Sequence[str], failed: Bools, rows: Sequence[Row], elements: int
) -> Ints:
    """Count for each element the failing tests that execute it and before which it changed.

    Of shape (elements,). Numbers of tests. It may be read-only.
    """
    failing = np.flatnonzero(failed).tolist() if any(map(len, changed.values())) else ()
    found = [common(rows[test], own) for test in failing if (own := changed.get(tests[test])) is not None]
    if not any(map(len, found)):
        return np.broadcast_to(np.int32(0), elements)  # takes no memory
    count = np.zeros(elements, np.int32)
    for executed in found:
        count[executed] += 1
    return count
