"""The first suspect of a failure group, which names the group: found without a ranking where that is possible."""

from __future__ import annotations

from dataclasses import dataclass
from operator import is_

import numpy as np

from suspectra.base.arrays import Row
from suspectra.report import RankedReport
from suspectra.spectrum import Counts, Elements, Spectrum
from suspectra.techniques.technique import Technique


@dataclass(frozen=True, eq=False)
class FirstSuspect:
    """The first of the statements that some failing tests execute."""

    element: int  # its column; of a tie the first one by file and line
    elements: Elements  # what the column is of
    rows: tuple[Row, ...]  # the rows of the failing tests, one of which at least executes a candidate; shape (k,)
    technique: Technique  # what ranks

    @classmethod
    def in_report(cls, report: RankedReport, rows: tuple[Row, ...], technique: Technique) -> FirstSuspect:
        """That of a ranking.

        No element that the failing tests do not execute, even if it ranks higher.
        """
        return cls(report.first_suspect, report.spectrum.elements, rows, technique)

    @classmethod
    def by_counts(cls, spectrum: Spectrum, rows: tuple[Row, ...], technique: Technique) -> FirstSuspect | None:
        """That of the ranking, without making it.

        None where the technique needs more than counts.
        """
        ef = Counts.from_rows(rows, np.ones(len(rows), bool), len(spectrum.elements)).ef
        columns = np.flatnonzero((ef > 0) & spectrum.candidates)
        passing = spectrum.counts
        index = technique.first_of(Counts(ef[columns], passing.ep[columns], len(rows), passing.passed))
        return None if index is None else cls(int(columns[index]), spectrum.elements, rows, technique)

    def holds_for(self, spectrum: Spectrum, rows: tuple[Row, ...], technique: Technique) -> bool:
        """Whether nothing differs in another state but the passing tests.

        False also where the failing tests ran again and executed the same.
        """
        return (
            self.technique == technique
            and self.elements is spectrum.elements
            and len(self.rows) == len(rows)
            and all(map(is_, self.rows, rows))
        )
