"""What follows from the rows of each test, worked out once for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from suspectra.arrays import Ints
from suspectra.cancellation import checked
from suspectra.spectrum.changes import numbered
from suspectra.spectrum.counts import Change, Counts
from suspectra.spectrum.rows import Derived
from suspectra.spectrum.spectrum import Spectrum

T = TypeVar("T")
_BATCH = 64  # tests whose edges are worked out together


class PerTest(Generic[T]):
    """What follows from the rows of one test alone, worked out once for each test.

    Rows that are the same objects as in the spectrum that was asked for last count as unchanged.

    Parameters
    ----------
    work : callable
        Given a spectrum and numbers of its tests, what follows for each of these.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> sizes = PerTest(lambda spectrum, tests: [len(spectrum.rows[test]) for test in tests])
    >>> sizes.results(spectrum)
    [2, 2]
    """

    def __init__(self, work: Callable[[Spectrum, list[int]], Iterable[T]]):
        self._work = work
        # the spectrum keeps its rows alive, so that no other object takes their identity
        self._last: tuple[Spectrum | None, dict[tuple[int, int, int], T]] = (None, {})

    def results(self, spectrum: Spectrum) -> list[T]:
        """What follows for each test, in the order of the rows.

        Parameters
        ----------
        spectrum : Spectrum
            The present state.

        Returns
        -------
        list of T
            One result for each test.
        """
        keys = _identities(spectrum)
        known = self._last[1]
        fresh = [test for test, key in enumerate(keys) if key not in known]
        found = zip((keys[test] for test in fresh), self._work(spectrum, fresh), strict=True) if fresh else ()
        every = known | dict(found)
        self._last = spectrum, {key: every[key] for key in keys}
        return [every[key] for key in keys]


class Tally:
    """How many failed and passed tests have each of some columns, where a test's columns follow from its rows.

    Rows that are the same objects as in the spectrum that was asked for last count as unchanged: only tests that came
    or went are worked out then.

    Parameters
    ----------
    derive : callable
        Given a spectrum and numbers of its tests, the columns of each of these, none twice.
    columns : int
        How many there are.

    Examples
    --------
    >>> import numpy as np
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 1]], failed=[True, False])
    >>> tally = Tally(lambda spectrum, tests: [np.unique(spectrum.rows[test] // 2) for test in tests], 2)
    >>> tally.counts(spectrum).ep.tolist()
    [1, 1]
    """

    def __init__(self, derive: Callable[[Spectrum, Sequence[int]], Iterable[Ints]], columns: int):
        self._derive = derive
        self._columns = columns
        self._last: tuple[Spectrum, dict[object, int], Counts] | None = None

    def counts(self, spectrum: Spectrum) -> Counts:
        """The counts of a spectrum's tests.

        Parameters
        ----------
        spectrum : Spectrum
            The present state.

        Returns
        -------
        Counts
            Over `columns` columns.
        """
        marks = numbered([(*key, bad) for key, bad in zip(_identities(spectrum), spectrum.failed, strict=True)])
        if self._last is not None:
            before, known, counts = self._last
            gone = [place for mark, place in known.items() if mark not in marks]
            come = [place for mark, place in marks.items() if mark not in known]
        if self._last is None or len(gone) + len(come) > len(marks):
            tests = range(len(spectrum.rows))
            counts = Counts.from_rows(self._derive(spectrum, tests), spectrum.failed, self._columns)
        else:
            counts = counts.updated(self._change(before, gone), self._change(spectrum, come))
        self._last = spectrum, marks, counts
        return counts

    def _change(self, spectrum: Spectrum, tests: list[int]) -> Change:
        return list(zip(self._derive(spectrum, tests), spectrum.failed[tests].tolist(), strict=True))


def batches(spectrum: Spectrum) -> Iterator[slice]:
    """All tests in slices of some each, whose edges may be looked at together; cancellable in between.

    Parameters
    ----------
    spectrum : Spectrum
        Whose tests they are.

    Returns
    -------
    iterator of slice
        Of row numbers, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> list(batches(Spectrum.from_matrix(np.ones((70, 1)), failed=np.ones(70, bool))))
    [slice(0, 64, None), slice(64, 128, None)]
    """
    return checked(slice(start, start + _BATCH) for start in range(0, len(spectrum.rows), _BATCH))


def _identities(spectrum: Spectrum) -> list[tuple[int, int, int]]:
    """What tells the rows of each test from others: the objects that hold them, or that they follow from."""
    nothing = (0,) * len(spectrum.rows)
    parts = (spectrum.rows, spectrum.edge_rows, spectrum.edge_counts)
    return list(zip(*(nothing if part is None else _identities_of(part) for part in parts), strict=True))


def _identities_of(rows: Sequence[Ints]) -> Iterable[int]:
    return map(id, rows.source if isinstance(rows, Derived) else rows)
