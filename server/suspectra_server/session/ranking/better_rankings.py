"""Better rankings of the same evidence, which replace a quick one.

A slow technique declares stages, the first of which is quick, so it is known at once whether a better ranking follows.
The first stage is made in the thread of all rankings, the others here, in the thread for long work. Newer evidence or
another technique cancels them; the ranking that is shown stays.
"""

from __future__ import annotations

from collections.abc import Callable

from suspectra_server.session.jobs import Jobs
from suspectra_server.session.ranking.postponed_result import Postponed
from suspectra_server.session.ranking.ranker import Ranked, Ranker, RankingInput
from suspectra_server.timing import FIRST_STAGE_S


class Improvement:
    """Makes the better rankings of one workspace folder, in a thread for which no ranking of newer evidence waits.

    Belongs to the loop.
    """

    def __init__(self, key: str, long_jobs: Jobs, ranker: Ranker, show: Callable[[Ranked | Exception], None]):
        self._key = ("improve", key)
        self._jobs = long_jobs
        self._ranker = ranker
        self._show = show
        self._quick: Postponed[Ranked] = Postponed(FIRST_STAGE_S, show)  # a better one may be ready soon

    @property
    def busy(self) -> bool:
        """Whether a better ranking is being made."""
        return self._jobs.busy(self._key)

    def start(self, quick: Ranked, given: RankingInput) -> None:
        """Improve this ranking, and show it if that takes a while."""
        self.cancel()
        self._quick.keep(quick)
        self._jobs.submit(self._key, lambda job: self._ranker.improve(quick, given, job), self._take)

    def cancel(self) -> None:
        """Stop making a better ranking; the one that is shown stays."""
        self._jobs.cancel(self._key)
        self._quick.drop()

    def _take(self, better: Ranked | Exception) -> None:
        self._quick.take()
        self._show(better)
