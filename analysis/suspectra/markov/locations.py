"""Locations: the elements in a chain. Elements on the same lines are one location, since a reader sees them
together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Floats, Ints
from suspectra.base.cancellation import check
from suspectra.report import RankedReport


@dataclass(frozen=True, eq=False)
class Locations:
    """The locations of a chain."""

    elements: Ints  # the element that represents each location: the most suspicious one on its lines
    # the location of each element, -1 for elements that are excluded or not candidates; shape (elements,)
    of_element: Ints

    @classmethod
    def from_report(cls, report: RankedReport, excluded: Iterable[int] = ()) -> Locations:
        """Find the locations of a report's candidates.

        In the order of their elements.
        """
        elements = report.spectrum.elements
        is_left = report.level >= 0
        is_left[[one for one in excluded if 0 <= one < len(elements)]] = False
        left = np.flatnonzero(is_left)
        keys = (elements.end_line[left], elements.line[left], elements.file[left])
        check()
        order = np.lexsort((report.level[left], *keys))
        check()
        opens = np.ones(len(left), bool)
        opens[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
        first = left[order[opens]]
        check()
        ascending = np.argsort(first)
        of_element = np.full(len(elements), -1, np.int64)
        of_element[left[order]] = np.argsort(ascending)[np.cumsum(opens) - 1]
        return cls(first[ascending], of_element)

    def __len__(self) -> int:
        return len(self.elements)

    def pairs(self, elements: Ints) -> Ints:
        """Convert pairs of elements to pairs of locations.

        Of shape (m, 2). Without pairs of which an element is not in the chain.
        """
        found: Ints = self.of_element[elements]
        return found[(found >= 0).all(axis=1)]

    def by_element(self, values: Floats) -> Floats:
        """Spread values of locations over their elements.

        Of shape (elements,).
        """
        found = np.full(len(self.of_element), np.inf)
        left = self.of_element >= 0
        found[left] = values[self.of_element[left]]
        return found
