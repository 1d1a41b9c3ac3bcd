"""How much weight failing tests give to what they execute: the less a test executes, the more each of it counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from suspectra.arrays import Ints, Row
from suspectra.cancellation import checked
from suspectra.spectrum import Spectrum

UNIT = 1 << 40
"""The weight of a failing test that executes one candidate. Weights are whole numbers, so that sums of them are the
same in whatever order tests came and went; a million candidates still leave six digits."""

_Key = tuple[int, int]  # the identities of a test's rows


@dataclass(frozen=True, eq=False)
class FailureWeights:
    """The sums of the weights of failing tests.

    A failing test has the weight 1 / (number of candidates that it executes), in multiples of 1 / `UNIT`; 0 if it
    executes none.

    Parameters
    ----------
    spectrum : Spectrum
        Whose tests they are; it keeps the rows alive that `tests` identifies.
    of_elements : ndarray of int64, shape (elements,)
        The weights of the failing tests that execute each element.
    of_edges : ndarray of int64, shape (edges,)
        The same for each edge; of length 0 where no edges are known.
    total : int
        The weights of all failing tests.
    tests : Counter
        How many failing tests have each pair of rows, by their identities.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 0]], failed=[True, True])
    >>> weights = FailureWeights.from_spectrum(spectrum)
    >>> (weights.of_elements / weights.total).round(2).tolist()
    [1.0, 0.33, 0.0]
    """

    spectrum: Spectrum
    of_elements: Ints
    of_edges: Ints
    total: int
    tests: Counter[_Key]

    @classmethod
    def from_spectrum(cls, spectrum: Spectrum, previous: FailureWeights | None = None) -> FailureWeights:
        """The weights in a spectrum.

        Parameters
        ----------
        spectrum : Spectrum
            The present state.
        previous : FailureWeights, optional
            Of a state before a change. Where it has the same columns, only failing tests that came or went are counted.

        Returns
        -------
        FailureWeights
            The same, whatever `previous` is.

        Examples
        --------
        >>> spectrum = Spectrum.from_matrix([[1, 1, 0], [1, 0, 0]], failed=[True, True])
        >>> FailureWeights.from_spectrum(spectrum).total / UNIT
        1.5
        """
        rows = _failing_rows(spectrum)
        tests = Counter(map(_key, rows))
        if previous is None or not _same_columns(previous.spectrum, spectrum):
            edges = len(spectrum.edges) if spectrum.edges is not None else 0
            nothing = np.zeros(len(spectrum.elements), np.int64), np.zeros(edges, np.int64)
            return cls(spectrum, *nothing, 0, Counter())._after(spectrum, tests, {}, rows)
        then = _failing_rows(previous.spectrum) if previous.tests - tests else ()
        return previous._after(spectrum, tests, {_key(pair): pair for pair in then}, rows)

    def _after(
        self,
        spectrum: Spectrum,
        tests: Counter[_Key],
        then: dict[_Key, tuple[Row, Row | None]],
        rows: Iterable[tuple[Row, Row | None]],
    ) -> FailureWeights:
        now = {_key(pair): pair for pair in rows}
        of_elements, of_edges, total = self.of_elements.copy(), self.of_edges.copy(), self.total
        changes = [(now[key], times) for key, times in (tests - self.tests).items()]
        changes += [(then[key], -times) for key, times in (self.tests - tests).items()]
        for (row, edge_row), times in checked(changes):
            weight = times * weight_of(row, spectrum)
            of_elements[row] += weight
            if edge_row is not None:
                of_edges[edge_row] += weight
            total += weight
        return FailureWeights(spectrum, of_elements, of_edges, total, tests)


def weight_of(row: Row, spectrum: Spectrum) -> int:
    """The weight of a failing test.

    Parameters
    ----------
    row : ndarray of int32, shape (k,)
        The elements that it executes.
    spectrum : Spectrum
        Whose candidates count.

    Returns
    -------
    int
        In multiples of 1 / `UNIT`.

    Examples
    --------
    >>> spectrum = Spectrum.from_matrix([[1, 1, 0, 1]], failed=[True])
    >>> weight_of(spectrum.rows[0], spectrum) == UNIT // 3
    True
    """
    size = int(np.count_nonzero(spectrum.candidates[row]))
    return UNIT // size if size else 0


def _failing_rows(spectrum: Spectrum) -> list[tuple[Row, Row | None]]:
    edge_rows = spectrum.edge_rows
    failing = np.flatnonzero(spectrum.failed).tolist()
    return [(spectrum.rows[test], edge_rows[test] if edge_rows is not None else None) for test in failing]


def _key(rows: tuple[Row, Row | None]) -> _Key:
    return id(rows[0]), id(rows[1])


def _same_columns(before: Spectrum, now: Spectrum) -> bool:
    return (
        before.elements is now.elements
        and before.edges is now.edges
        and before.candidates is now.candidates
        and (before.edge_rows is None) == (now.edge_rows is None)
    )
