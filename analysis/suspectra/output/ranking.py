"""A ranking as every writer takes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from suspectra.errors import Problem
from suspectra.evidence.evidence import Evidence
from suspectra.report import RankedReport

LARGEST = sys.float_info.max


@dataclass(frozen=True, eq=False)
class Ranking:
    """What there is to write.

    Parameters
    ----------
    report : RankedReport
    evidence : Evidence
    problems : tuple of Problem
        Of the evidence and of the ranking.
    top : int or None
        How many suspects to list, None for all.
    """

    report: RankedReport
    evidence: Evidence
    problems: tuple[Problem, ...]
    top: int | None = None

    @property
    def tied_beyond(self) -> int:
        """How many statements that are not listed have the same score as the last one that is."""
        return int(self.report.rank_worst[self.shown - 1]) - self.shown if 0 < self.shown < len(self.report) else 0

    @property
    def cut(self) -> str:
        """What is to be said where the list ends within a tie, empty where it does not."""
        return f"and {self.tied_beyond} more with the same score" if self.tied_beyond else ""

    @property
    def notices(self) -> tuple[Problem, ...]:
        """The problems, after what could not be collected."""
        return (*(error.problem() for error in self.evidence.collection_errors), *self.problems)

    @property
    def shown(self) -> int:
        """How many suspects are listed."""
        return len(self.report) if self.top is None else min(self.top, len(self.report))

    def entries(self) -> Iterator[dict[str, Any]]:
        """The listed suspects, best first, under the field names of the JSON output.

        Notes
        -----
        Whole columns are turned into Python numbers at once: a report has as many entries as the project statements.
        """
        report, spectrum = self.report, self.report.spectrum
        elements, counts = spectrum.elements, spectrum.counts
        order = report.order if self.top is None else report.top(self.top)
        count = len(order)
        columns = {
            "file": elements.file[order],
            "line": elements.line[order],
            "end_line": elements.end_line[order],
            "function": elements.function[order],
            "score": report.scores[:count].clip(-LARGEST, LARGEST),
            "rank_best": report.rank_best[:count],
            "rank_average": report.rank_average[:count],
            "rank_worst": report.rank_worst[:count],
            "standard_rank": report.standard_rank[:count],
            "ef": counts.ef[order],
            "ep": counts.ep[order],
            "nf": counts.nf[order],
            "np": counts.np[order],
        }
        names = tuple(columns)
        for element, values in zip(
            order.tolist(), zip(*(column.tolist() for column in columns.values()), strict=True), strict=True
        ):
            entry = dict(zip(names, values, strict=True))
            function = entry["function"]
            entry["file"] = elements.files[entry["file"]]
            entry["function"] = elements.functions[function].name if function >= 0 else ""
            entry["failing_tests"] = list(spectrum.failing_tests(element))
            yield entry
