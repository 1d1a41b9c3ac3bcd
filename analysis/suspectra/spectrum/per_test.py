"""Values computed from the rows of each test, cached by test.

Arcs that statements imply, and decisions that a run evaluated, are several times as many as the data from which they
follow. So `Tally` counts them when they are found, and does not keep them; after a change only those of the changed
tests are found again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from suspectra.base.arrays import Ints
from suspectra.base.cancellation import checked
from suspectra.spectrum.changes import identities, numbered
from suspectra.spectrum.counts import Change, Counts
from suspectra.spectrum.spectrum import Spectrum

T = TypeVar("T")
_BATCH = 64  # tests whose edges are computed together


class PerTest(Generic[T]):
    """Values that depend only on the rows of one test, cached by test.

    Rows that are the same objects as in the last spectrum count as unchanged.
    """

    def __init__(self, work: Callable[[Spectrum, list[int]], Iterable[T]]):
        self._work = work
        # keeping the spectrum keeps its rows alive, so no other object can get their id
        self._last: tuple[Spectrum | None, dict[tuple[int, int, int], T]] = (None, {})

    def results(self, spectrum: Spectrum) -> list[T]:
        """Return the value for each test, in the order of the rows."""
        keys = _identities(spectrum)
        cached = self._last[1]
        missing = [test for test, key in enumerate(keys) if key not in cached]
        found = zip((keys[test] for test in missing), self._work(spectrum, missing), strict=True) if missing else ()
        results = cached | dict(found)
        self._last = spectrum, {key: results[key] for key in keys}
        return [results[key] for key in keys]


class Tally:
    """Counts of failed and passed tests over columns that are derived from a test's rows.

    Rows that are the same objects as in the last spectrum count as unchanged: only added and removed tests are computed
    again.
    """

    def __init__(self, derive: Callable[[Spectrum, Sequence[int]], Iterable[Ints]], columns: int):
        self._derive = derive
        self._columns = columns
        self._last: tuple[Spectrum, dict[object, int], Counts] | None = None

    def counts(self, spectrum: Spectrum) -> Counts:
        """The counts of a spectrum's tests."""
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
    """Split the tests into batches whose edges may be looked at together; cancellable in between.

    Row numbers, ascending.
    """
    return checked(slice(start, start + _BATCH) for start in range(0, len(spectrum.rows), _BATCH))


def _identities(spectrum: Spectrum) -> list[tuple[int, int, int]]:
    """The identity of each test's rows: of the arrays themselves, or of those that they are derived from."""
    nothing = (0,) * len(spectrum.rows)
    parts = (spectrum.rows, spectrum.edge_rows, spectrum.edge_counts)
    return list(zip(*(nothing if part is None else identities(part).tolist() for part in parts), strict=True))
