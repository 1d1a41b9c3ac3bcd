"""A spectrum in which tests also have the definitions whose names they read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.spectrum.counts import Counts
from suspectra.spectrum.spectrum import Spectrum


@dataclass(frozen=True, eq=False, kw_only=True)
class SpectrumWithUses(Spectrum):
    """A spectrum in which the rows of failing tests, and the counts of all tests, have definitions that are read."""

    executed: Spectrum  # what the tests execute
    definition: Ints  # the definitions among its elements, ascending; shape (definitions,)
    # by the id of a row of `executed`, the numbers of the definitions whose names its test reads and that it does not
    # execute; shape (k,)
    read: Mapping[int, Ints]
    only_read: Bools  # the definitions that failing tests read and none executes; shape (elements,)

    @cached_property
    def counts(self) -> Counts:
        """The four counts of every element; what is only read counts for the tests that read it."""
        own = self.executed.counts
        wanted = self.only_read[self.definition]
        elements = self.definition[wanted]
        ef, ep = own.ef.copy(), own.ep.copy()
        for count, tests in ((ef, self.failed), (ep, ~self.failed)):
            rows = [self.read[id(self.executed.rows[test])] for test in np.flatnonzero(tests).tolist()]
            read = np.concatenate([np.zeros(0, np.int64), *rows])
            count[elements] += np.bincount(read, minlength=len(wanted))[wanted].astype(count.dtype)
        return Counts(ef, ep, own.failed, own.passed)

    @cached_property
    def edge_hit_counts(self) -> Counts:
        """The four counts of every edge, which are those of what the tests execute."""
        return self.executed.edge_hit_counts

    def tests_executing(self, element: int) -> Ints:
        """Return the row numbers of all tests that execute an element or, if it is only read, read what it defines."""
        executing = super().tests_executing(element)
        if not self.only_read[element]:
            return executing
        number = np.searchsorted(self.definition, element)
        reading = [test for test, row in enumerate(self.executed.rows) if number in self.read[id(row)]]
        return np.union1d(executing, np.array(reading, np.int64))


def without_uses(spectrum: Spectrum) -> Spectrum:
    """Return the spectrum of what tests execute.

    Another one only for a SpectrumWithUses.
    """
    return spectrum.executed if isinstance(spectrum, SpectrumWithUses) else spectrum


def is_only_read(spectrum: Spectrum, element: int) -> bool:
    """Whether failing tests read what an element defines, and none executes it.

    True only in a SpectrumWithUses.
    """
    return isinstance(spectrum, SpectrumWithUses) and bool(spectrum.only_read[element])
