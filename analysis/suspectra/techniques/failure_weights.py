"""Weights of failing tests: the fewer candidates a test executes, the more it counts for each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Floats, Ints, Row
from suspectra.base.cancellation import checked
from suspectra.spectrum import Spectrum, changes_by_git, common

UNIT = 1 << 40
"""The weight of a failing test that executes one candidate. Weights are integers, so that their sums do not depend on
the order in which tests are added and removed. With a million candidates, a weight still has six digits."""

_Rows = tuple[Row, Row | None, Row | None, bool]
"""What a test executes, its edges, what changed since it passed, and whether that it did is only assumed."""
_Key = tuple[int, int, int, bool]  # the ids of these


@dataclass(frozen=True, eq=False)
class FailureWeights:
    """The weights of failing tests, summed over elements and edges.

    A failing test has the weight 1 / (number of candidates that it executes), in multiples of 1 / `UNIT`; 0 if it
    executes none.
    """

    spectrum: Spectrum  # the spectrum of the tests. It keeps the rows alive whose ids are in `tests`
    of_elements: Ints  # the sum of the weights of the failing tests that execute each element; shape (elements,)
    of_edges: Ints  # the same for each edge; of length 0 where no edges are known; shape (edges,)
    # the weights of the failing tests that execute each element and for which it changed: since they passed or, where
    # no pass is known, according to git; shape (elements,)
    of_changed: Ints
    after_change: int  # the sum of the weights of the failing tests for which anything changed
    total: int  # the sum of the weights of all failing tests
    tests: Counter[_Key]  # how many failing tests have the same rows, by the ids of the rows

    @classmethod
    def from_spectrum(cls, spectrum: Spectrum, previous: FailureWeights | None = None) -> FailureWeights:
        """Compute the weights in a spectrum.

        The result does not depend on `previous`.
        """
        rows = _failing_rows(spectrum)
        tests = Counter(map(_key, rows))
        if previous is None or not _same_columns(previous.spectrum, spectrum):
            edges = len(spectrum.edges) if spectrum.edges is not None else 0
            nothing = np.zeros((2, len(spectrum.elements)), np.int64)
            empty = cls(spectrum, nothing[0], np.zeros(edges, np.int64), nothing[1], 0, 0, Counter())
            return empty._after(spectrum, tests, {}, rows)
        previous_rows = _failing_rows(previous.spectrum) if previous.tests - tests else ()
        return previous._after(spectrum, tests, {_key(one): one for one in previous_rows}, rows)

    def share_of_change(self, element: int | slice = slice(None)) -> Floats:
        """Compute the share of the tests that failed after a change for which an element changed.

        Of shape (elements,). 0 where nothing changed. Of shape () for one element.
        """
        return np.asarray(self.of_changed[element] / max(self.after_change, 1))

    def _after(
        self,
        spectrum: Spectrum,
        tests: Counter[_Key],
        removed_rows: dict[_Key, _Rows],
        rows: Iterable[_Rows],
    ) -> FailureWeights:
        current_rows = {_key(one): one for one in rows}
        of_elements, of_edges, total = self.of_elements.copy(), self.of_edges.copy(), self.total
        of_changed, after_change = self.of_changed.copy(), self.after_change
        changes = [(current_rows[key], times) for key, times in (tests - self.tests).items()]
        changes += [(removed_rows[key], -times) for key, times in (self.tests - tests).items()]
        for (row, edge_row, changed, assumed), times in checked(changes):
            weight = times * weight_of(row, spectrum)
            of_elements[row] += weight
            if edge_row is not None:
                of_edges[edge_row] += weight
            if changed is not None:
                own = common(row, changed)
                of_changed[own] += weight
                # a test that failed before the change, too, says nothing of it
                after_change += weight if len(own) or not assumed else 0
            total += weight
        return FailureWeights(spectrum, of_elements, of_edges, of_changed, after_change, total, tests)


def weight_of(row: Row, spectrum: Spectrum) -> int:
    """Return the weight of a failing test."""
    size = int(np.count_nonzero(spectrum.candidates[row]))
    return UNIT // size if size else 0


def _failing_rows(spectrum: Spectrum) -> list[_Rows]:
    edge_rows, changed = spectrum.edge_rows, spectrum.changed or {}
    assumed = changes_by_git(changed)
    return [
        (
            spectrum.rows[test],
            edge_rows[test] if edge_rows is not None else None,
            changed.get(spectrum.tests[test]),
            spectrum.tests[test] in assumed,
        )
        for test in np.flatnonzero(spectrum.failed).tolist()
    ]


def _key(rows: _Rows) -> _Key:
    return id(rows[0]), id(rows[1]), id(rows[2]), rows[3]


def _same_columns(previous: Spectrum, current: Spectrum) -> bool:
    return (
        previous.elements is current.elements
        and previous.edges is current.edges
        and previous.candidates is current.candidates
        and (previous.edge_rows is None) == (current.edge_rows is None)
    )
