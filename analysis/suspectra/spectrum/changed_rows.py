"""What changed before tests failed: since they passed, or since a revision in git where no pass is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from suspectra.arrays import Bools, Ints, Row
from suspectra.spectrum.rows import common


class ChangedRows(dict[str, Row]):
    """By failing test, the sorted elements that changed since it passed, or since a revision in git.

    Parameters
    ----------
    rows : mapping of str to ndarray of int32, shape (changed,)
        By the name of the test.
    by_git : collection of str, optional
        The tests of which no pass is known: that they passed at the revision is only assumed.

    Examples
    --------
    >>> row = np.array([3, 7], np.int32)
    >>> rows = ChangedRows({"test_sum": row, "test_tax": row}, ["test_tax"])
    >>> sorted(rows), sorted(rows.by_git)
    (['test_sum', 'test_tax'], ['test_tax'])
    """

    def __init__(self, rows: Mapping[str, Row], by_git: Collection[str] = ()):
        super().__init__(rows)
        self.by_git = frozenset(by_git)


def changes_by_git(changed: Mapping[str, Row]) -> Mapping[str, Row]:
    """Return what is only known from git.

    Parameters
    ----------
    changed : mapping of str to ndarray of int32, shape (changed,)
        What changed, by test.

    Returns
    -------
    mapping of str to ndarray of int32, shape (changed,)
        The part about tests of which no pass is known.

    Examples
    --------
    >>> len(changes_by_git({"test_sum": np.array([3], np.int32)}))
    0
    """
    return {test: changed[test] for test in changed.by_git} if isinstance(changed, ChangedRows) else {}


def tests_with_change(
    changed: Mapping[str, Row], tests: Sequence[str], failed: Bools, rows: Sequence[Row], elements: int
) -> Ints:
    """Count for each element the failing tests that execute it and before which it changed.

    Parameters
    ----------
    changed : mapping of str to ndarray of int32
        What changed, by test.
    tests : sequence of str
        The names of all tests.
    failed : ndarray of bool, shape (tests,)
        Whether each failed.
    rows : sequence of ndarray of int32
        The elements that each executes, ascending.
    elements : int
        How many elements there are.

    Returns
    -------
    ndarray of int32, shape (elements,)
        Numbers of tests. It may be read-only.

    Examples
    --------
    >>> row = np.array([0, 2], np.int32)
    >>> tests_with_change({"a": row}, ["a", "b"], np.array([True, True]), [row, row], 3).tolist()
    [1, 0, 1]
    """
    failing = np.flatnonzero(failed).tolist() if any(map(len, changed.values())) else ()
    found = [common(rows[test], own) for test in failing if (own := changed.get(tests[test])) is not None]
    if not any(map(len, found)):
        return np.broadcast_to(np.int32(0), elements)  # takes no memory
    count = np.zeros(elements, np.int32)
    for executed in found:
        count[executed] += 1
    return count
