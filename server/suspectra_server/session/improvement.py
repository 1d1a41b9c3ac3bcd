"""Better rankings of the same evidence, which replace a quick one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from suspectra_server.session.jobs import Jobs
from suspectra_server.session.ranker import Ranked, Ranker, Wanted
from suspectra_server.timing import FIRST_STAGE_S


class Improvement:
    """Makes the better rankings of one workspace folder, in a thread for which no ranking of newer evidence waits.

    Belongs to the loop.

    Parameters
    ----------
    key : str
        What tells the folder's jobs from those of others.
    long_jobs : Jobs
    ranker : Ranker
    show : callable
        Called with each ranking to show, or with the exception that a job ended with.
    """

    def __init__(self, key: str, long_jobs: Jobs, ranker: Ranker, show: Callable[[Ranked | Exception], None]):
        self._key = ("improve", key)
        self._jobs = long_jobs
        self._ranker = ranker
        self._show = show
        self._loop = asyncio.get_running_loop()
        self._quick: Ranked | None = None  # not shown yet, as a better one may be ready soon
        self._timer: asyncio.TimerHandle | None = None

    @property
    def busy(self) -> bool:
        """Whether a better ranking is being made."""
        return self._jobs.busy(self._key)

    def start(self, quick: Ranked, wanted: Wanted) -> None:
        """Improve this ranking, and show it if that takes a while."""
        self.cancel()
        self._quick = quick
        if self._timer is None:  # a new timer each time would delay quick rankings for ever
            self._timer = self._loop.call_later(FIRST_STAGE_S, self._show_quick)
        self._jobs.submit(self._key, lambda job: self._ranker.improve(quick, wanted, job), self._take)

    def cancel(self) -> None:
        """Stop making a better ranking; the one that is shown stays."""
        self._jobs.cancel(self._key)
        self._quick = None

    def _show_quick(self) -> None:
        self._timer = None
        quick, self._quick = self._quick, None
        if quick is not None:
            self._show(quick)

    def _take(self, better: Ranked | Exception) -> None:
        self._quick = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._show(better)
