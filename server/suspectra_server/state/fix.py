"""Fixes: small changes of the text after which all failing tests pass, and no passing test fails."""

from __future__ import annotations

from dataclasses import dataclass

from suspectra.base.location import Location
from suspectra.mutation.edit import Edit
from suspectra.spectrum import Spectrum
from suspectra.techniques.experiments.mutant_results import MutantResult
from suspectra_server.safe_text import MAX_TEXT, plain

ENOUGH = 50
"""Passing tests with which a mutant must have been tried, if so many execute the statement."""


@dataclass(frozen=True)
class MutantFix:
    """A change of the text as it was run. It may only look like a repair, so it is never applied by itself."""

    location: Location  # the lines that it changes
    edit: Edit
    change: str  # in a few words
    effect: str  # what it does, in a few words

    @classmethod
    def for_result(cls, result: MutantResult, element: int, spectrum: Spectrum) -> MutantFix | None:
        """The fix that a mutant is; None unless it repairs all failing tests and breaks nothing."""
        failing, passing = int(spectrum.counts.ef[element]), int(spectrum.counts.ep[element])
        repairs = result.repaired == spectrum.counts.failed and not result.experiment.guard
        if not repairs or result.broken or result.tried < min(passing, ENOUGH):
            return None
        made = result.experiment
        edit = Edit(made.line, made.column, made.end_line, made.end_column, made.replacement)
        words = plain(made.detail, MAX_TEXT), plain(result.effect(failing, passing), MAX_TEXT)
        return cls(Location(made.file, made.line, made.end_line), edit, *words)
