"""Traced runs of failing tests, for the groups of commands that ask about one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suspectra_server.features.commands.refusals import RequestFailed
from suspectra_server.features.commands.repeated_runs import RepeatedRuns
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.experiments.tracing import Tracing

if TYPE_CHECKING:
    from suspectra.dependences.trace import DependenceTrace


class TracedRuns:
    """The last traced run, which is kept, since a reader asks about several lines of it."""

    def __init__(self, runs: RepeatedRuns):
        self._runs = runs
        self._last: Tracing | None = None

    async def trace(self, wanted: Tracing) -> DependenceTrace:
        """The trace of a test; runs it unless that was done."""
        last = self._last
        if last is not None and last.trace is not None and last.fits(wanted.folder, wanted.evidence, wanted.test.name):
            return last.trace
        self._runs.refuse_unless_possible(wanted.folder)
        await self._runs.until_ended(wanted)
        if wanted.trace is None:
            problems = " ".join(f"{problem}." for problem in (wanted.outcome.problems if wanted.outcome else ()))
            raise RequestFailed(plain(problems, MAX_TEXT) or "The traced run was cancelled.")
        self._last = wanted
        return wanted.trace
