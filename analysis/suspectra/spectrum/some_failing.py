"""A spectrum of some of the failing tests and all passing ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import compress

import numpy as np

from suspectra.base.arrays import Bools, Ints, Row
from suspectra.spectrum.changes import changed_columns, row_changes
from suspectra.spectrum.chunks import are_same, chosen
from suspectra.spectrum.counts import Change, Counts
from suspectra.spectrum.spectrum import Spectrum


def some_failing(spectrum: Spectrum, tests: Collection[str], previous: Spectrum | None = None) -> Spectrum:
    """Return a spectrum with only some of its failing tests.

    The counts of passing tests are the same objects as in `spectrum`; it has no `runs`. It is `spectrum` itself where
    no failing test is left out, and `previous` where nothing changed.
    """
    selected = ~spectrum.failed
    selected[[spectrum.failing_index[test] for test in tests]] = True
    if selected.all():
        return spectrum
    view = Spectrum(
        chosen(spectrum.tests, selected),
        spectrum.failed[selected],
        spectrum.elements,
        chosen(spectrum.rows, selected),
        spectrum.candidates,
        spectrum.edges,
        None if spectrum.edge_rows is None else chosen(spectrum.edge_rows, selected),
        None if spectrum.edge_counts is None else chosen(spectrum.edge_counts, selected),
        (),
        None if spectrum.raised is None else spectrum.raised[selected],
        spectrum.changed,
    )
    if previous is not None and not _same_columns(view, previous):
        previous = None
    if previous is not None and _same_tests(view, previous):
        return previous
    _count(view, spectrum, previous)
    return view


def _same_columns(one: Spectrum, other: Spectrum) -> bool:
    return one.elements is other.elements and one.edges is other.edges and one.candidates is other.candidates


def _same_tests(one: Spectrum, other: Spectrum) -> bool:
    """Whether tests and outcomes are equal and rows are the same objects."""
    return (
        are_same(one.rows, other.rows)
        and one.tests == other.tests
        and are_same(one.edge_rows or (), other.edge_rows or ())
        and are_same(one.edge_counts or (), other.edge_counts or ())
        and np.array_equal(one.failed, other.failed)
        and (one.raised is other.raised or _equal(one.raised, other.raised))
        and _same_changes(one, other)
    )


def _same_changes(one: Spectrum, other: Spectrum) -> bool:
    """Whether what changed since the tests passed is the same, as objects."""
    if not (one.changed or other.changed):
        return True
    failing = compress(one.tests, one.failed.tolist())
    return all(one.changed.get(test) is other.changed.get(test) for test in failing)


def _equal(one: Ints | None, other: Ints | None) -> bool:
    return one is not None and other is not None and np.array_equal(one, other)


def _count(view: Spectrum, whole: Spectrum, previous: Spectrum | None) -> None:
    """Count the failing tests; the counts of passing ones are taken from the whole spectrum."""
    failing = np.flatnonzero(view.failed).tolist()
    counted = None if previous is None else Spectrum.counts.peek(previous)
    ef, changed = _failing_counts(view, counted, previous)
    counts = Counts(ef, whole.counts.ep, len(failing), whole.counts.passed)
    Spectrum.counts.give(view, counts)
    pairs = None if previous is None else Spectrum.pairs.peek(previous)
    if counted is not None and pairs is not None and not pairs.is_sparse:
        Spectrum.pairs.give(view, pairs.updated(counts, _changed_columns(counted, counts, changed, whole)))
    all_edges = Spectrum.edge_hit_counts.peek(whole)
    if view.edges is not None and view.edge_rows is not None and all_edges is not None:
        edges = Counts.from_rows([view.edge_rows[i] for i in failing], view.failed[failing], len(view.edges))
        Spectrum.edge_hit_counts.give(view, Counts(edges.ef, all_edges.ep, len(failing), whole.counts.passed))


def _changed_columns(previous: Counts, now: Counts, failing: Change, whole: Spectrum) -> Ints:
    """The columns whose counts differ: in rows of failing tests that changed, or as counts of passing tests."""
    before = whole._followed
    if before is not None and before.counts.ep is previous.ep:
        return changed_columns(previous, now, [*failing, *((row, bad) for row, bad in before.changed if not bad)])
    return np.flatnonzero((previous.ep != now.ep) | (previous.ef != now.ef))


def _failing_counts(view: Spectrum, counted: Counts | None, previous: Spectrum | None) -> tuple[Ints, Change]:
    """How many failing tests execute each column, and the changed rows, of which only these are counted if possible."""
    now = _failing_rows(view)
    if counted is None or previous is None:
        return Counts.from_rows(now[0], now[1], len(view.elements)).ef, ()
    removed, added = row_changes(*_failing_rows(previous), *now)
    return counted.updated(removed, added).ef, [*removed, *added]


def _failing_rows(spectrum: Spectrum) -> tuple[Sequence[Row], Bools]:
    """The rows of failing tests, and that these failed."""
    failing = np.flatnonzero(spectrum.failed).tolist()
    rows = [spectrum.rows[test] for test in failing]
    return rows, spectrum.failed[failing]
