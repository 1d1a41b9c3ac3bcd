"""Observing what comparisons compare in failing tests of C and C++, and in the passing tests most like them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from suspectra.base.cancellation import current_token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.base.location import Location
from suspectra.c.paths.compared_values import CComparison, Three
from suspectra.c.paths.comparison_texts import ComparedTexts
from suspectra.c.paths.source_texts import SourceTexts
from suspectra.c.paths.traced_program import TracedProgram
from suspectra.c.paths.traced_project import TracedProject
from suspectra.evidence.evidence import Verdict
from suspectra.evidence.logs.path_reports import executed_sources
from suspectra.evidence.logs.per_test_log import Logged
from suspectra.evidence.sources import SourceReader
from suspectra.experiments.value_inquiry import ObservationInquiry
from suspectra.runs.observation import Observation, PredicateSite

_OUTCOMES = ("<", "=", ">")


@dataclass(kw_only=True)
class CValueInquiry(ObservationInquiry):
    """Runs failing tests of CTest, and the passing tests nearest to them, once each, and counts what they compare.

    The time counts once the programs are built.
    """

    project: TracedProject  # what is built, and run

    @property
    def workspace(self) -> Path:
        """The folder with the sources."""
        return self.project.workspace

    @contextmanager
    def observing(self, passing: Iterable[str]) -> Iterator[Callable[[str], Logged[Observation] | None]]:
        """Build the programs."""
        with self.project.tests(current_token()) as tests:
            self.begin()
            sites = _Sites(tests.program, SourceReader(self.workspace))
            failing = {test.name for test in self.tests}

            def observed(name: str) -> Logged[Observation] | None:
                try:
                    found = tests.compared(name)
                except EvidenceError as error:
                    self.note([error.problem])
                    return None
                failed = name in failing
                if found.verdict is not (Verdict.FAILED if failed else Verdict.PASSED):
                    was = "failed" if failed else "passed"
                    cause = f"{name} {was} when it was recorded, and in the build that records it {found.verdict.value}"
                    self.note([Problem("", "", cause, "record the tests again")])
                    return None
                counted = {
                    site: counts
                    for site, counts in sites.counts(found.comparisons).items()
                    if self.is_suspect(site.file, site.line)
                }
                sources = executed_sources(self.workspace, self.suspects.spectrum(self.suspects.group_of(name)), name)
                return Logged(name, Observation(name, failed, counted), sources)

            yield observed


class _Sites:
    """Says what the comparisons of programs are in the sources."""

    def __init__(self, program: TracedProgram, read: Callable[[str], bytes | None]):
        self._program, self._texts = program, SourceTexts(read)

    def counts(self, comparisons: Iterable[CComparison]) -> Mapping[PredicateSite, Mapping[str, int]]:
        """How often each site had which outcome."""
        found: dict[PredicateSite, dict[str, int]] = defaultdict(dict)
        for one in comparisons:
            place = self._program.location(one.code.line)
            if place is None:
                continue
            for kind, (left, right), counts in self._asked(one, place):
                counted = found[PredicateSite(place.file, place.line, place.end_line, kind, left, right)]
                for outcome, times in zip(_OUTCOMES, counts, strict=True):
                    if times:
                        counted[outcome] = counted.get(outcome, 0) + times
        return {site: counts for site, counts in found.items() if counts}

    def _asked(self, one: CComparison, place: Location) -> Iterator[tuple[str, ComparedTexts, Three]]:
        """The kind of each site that a comparison has, its texts, and how often which outcome was true."""
        left, right = self._texts.sides(one.code, one.constant, place) or _unnamed(one)
        if one.constant is not None:  # it comes first
            less, equal, greater = one.pair
            if one.constant:
                yield "pair", ComparedTexts(left, right or str(one.constant)), (greater, equal, less)
            yield "sign", ComparedTexts(left, ""), one.second
        else:
            yield "pair", ComparedTexts(left, right), one.pair
            yield "sign", ComparedTexts(left, ""), one.first
            yield "sign", ComparedTexts(right, ""), one.second


def _unnamed(one: CComparison) -> ComparedTexts:
    number = f" {one.code.number + 1}" if one.code.total > 1 else ""
    other = "" if one.constant is not None else f"what compared value{number} is compared with"
    return ComparedTexts(f"compared value{number}", other)
