"""A ranking as every writer takes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypedDict

from suspectra.errors import Problem
from suspectra.evidence.evidence import Evidence
from suspectra.report import RankedReport

LARGEST = sys.float_info.max


class Entry(TypedDict):
    """A listed suspect, as the JSON output has it."""

    file: str
    line: int
    end_line: int
    function: str
    score: float
    rank_best: int
    rank_average: float
    rank_worst: int
    standard_rank: float
    ef: int
    ep: int
    nf: int
    np: int
    failing_tests: list[str]


@dataclass(frozen=True, eq=False)
class Listing:
    """What there is to write.

    Parameters
    ----------
    report : RankedReport
        The order.
    evidence : Evidence
        What it was made from.
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

    def entries(self) -> Iterator[Entry]:
        """The listed suspects, best first, under the field names of the JSON output.

        Yields
        ------
        Entry
            JSON can hold it.

        Notes
        -----
        Whole columns are turned into Python numbers at once: a report has as many entries as the project statements.
        """
        report, spectrum = self.report, self.report.spectrum
        elements, counts = spectrum.elements, spectrum.counts
        order = report.order if self.top is None else report.top(self.top)
        count = len(order)
        columns = (
            order,
            elements.file[order],
            elements.line[order],
            elements.end_line[order],
            elements.function[order],
            report.scores[:count].clip(-LARGEST, LARGEST),
            report.rank_best[:count],
            report.rank_average[:count],
            report.rank_worst[:count],
            report.standard_rank[:count],
            counts.ef[order],
            counts.ep[order],
            counts.nf[order],
            counts.np[order],
        )
        for element, file, line, end_line, function, score, best, average, worst, standard, ef, ep, nf, np in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            yield {
                "file": elements.files[file],
                "line": line,
                "end_line": end_line,
                "function": elements.functions[function].name if function >= 0 else "",
                "score": score,
                "rank_best": best,
                "rank_average": average,
                "rank_worst": worst,
                "standard_rank": standard,
                "ef": ef,
                "ep": ep,
                "nf": nf,
                "np": np,
                "failing_tests": list(spectrum.failing_tests(element)),
            }
