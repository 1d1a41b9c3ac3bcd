"""Automated path generation: paths near a failing run's, by other inputs, and by forced decisions.

The former is the paper's, and comes first, in its order. But there are faults that only the latter finds: where nobody
knows what is right for another input, or no solver finds one. With the order of suspicion, single decisions are forced
before any input is tried: that takes a few milliseconds each.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace

from suspectra.base.errors import EvidenceError
from suspectra.paths.report import PathReport
from suspectra.paths.searches.forced_paths import ForcedPaths
from suspectra.paths.searches.search import Nearness, PathSearcher, PathSearchLimits, PathSetting

TECHNIQUE = "apg"
"""The name of this technique."""

ALONE_SHARE, INPUT_SHARE = 1 / 3, 2 / 3
"""The share of the time after which inputs are tried even if not all decisions were forced alone, in the order of
suspicion; and the share of what is left that inputs may take: forced decisions get the rest."""


class GeneratedPaths(PathSearcher):
    """Tries other inputs, then forces decisions; in the order of suspicion, it forces single ones before."""

    def __init__(self, setting: PathSetting):
        super().__init__(setting)
        self._by_suspicion = setting.options.order is Nearness.FEWEST
        order = Nearness.FEWEST if self._by_suspicion else Nearness.LATEST
        self._forced = ForcedPaths(replace(setting, options=replace(setting.options, order=order)))
        self._forced.problems = self.problems
        self._found_input = False
        self._by_forcing: PathReport | None = None
        self._by_inputs: PathReport | None = None
        self._refused: list[EvidenceError] = []

    def search(self, limits: PathSearchLimits) -> Generator[PathReport]:
        """Search until the first run that passes, and not only since nothing checks it any more.

        Raises EvidenceError when neither a decision can be forced nor an input be changed.
        """
        with closing(self._forced.search(limits)) as forcing:
            if self._by_suspicion:
                yield from self._alone(forcing, limits)
                if self._forced.is_final:
                    return
            yield from self._with_inputs(limits)
            if self._found_input:
                return
            try:
                for self._by_forcing in forcing:
                    yield self._report
            except EvidenceError as error:
                self._refused.append(error)
            if self._by_inputs is None and self._by_forcing is None:
                raise self._refused[0 if self._by_suspicion else -1] from None  # what forcing says
            yield self._report

    def _alone(self, forcing: Iterator[PathReport], limits: PathSearchLimits) -> Iterator[PathReport]:
        """Force decisions alone; what is left of the search may be made later."""
        end: float | None = None
        try:
            for self._by_forcing in forcing:
                yield self._report
                now = time.monotonic()
                if end is None:  # the failing run is known: to collect the tests may have taken long
                    end = now + ALONE_SHARE * (limits.end - now)
                elif self._forced.tried_together or now >= end:
                    return
        except EvidenceError as error:
            self._refused.append(error)

    def _with_inputs(self, limits: PathSearchLimits) -> Iterator[PathReport]:
        """Try other inputs, but leave some time; a user who is asked may take any."""
        from suspectra.paths.inputs.search import (
            InputSearch,  # mostly decisions suffice, and this takes as long as some runs
        )

        kept = (1 - INPUT_SHARE) * (limits.end - time.monotonic())
        inputs = InputSearch(self.setting)
        inputs.problems = self.problems
        try:
            with closing(inputs.search(limits)) as trying:
                for self._by_inputs in trying:
                    self._found_input = inputs.found is not None
                    yield self._report
                    if time.monotonic() >= limits.end - kept:
                        return
        except EvidenceError as error:
            self._refused.append(error)

    @property
    def _report(self) -> PathReport:
        """What is known by both; a run with another input counts more than one that only leaves a check out."""
        known = [one for one in (self._by_inputs, self._by_forcing) if one is not None]
        found = [one for one in known if one.found]
        shown = found[0] if found else known[-1]
        notes = shown.notes if found else tuple(note for one in reversed(known) for note in one.notes)
        both = bool(self._refused) or len(known) == 2  # else one of both is to come
        complete = self._forced.is_final or self._found_input or (both and all(one.complete for one in known))
        return replace(
            shown,
            technique=TECHNIQUE,
            candidates=sum(one.candidates for one in known),
            complete=complete,
            notes=(*notes, *(() if found else map(_why_not, self._refused))),
            tried=tuple(tried for one in (self._by_inputs, self._by_forcing) if one is not None for tried in one.tried),
        )


def _why_not(refused: EvidenceError) -> str:
    """Why one of both was not tried, as a sentence."""
    problem = refused.problem
    return f"Not everything was tried, since {problem.cause}: {problem.cure}."
