"""Deciding when changed evidence is complete enough to be ranked from. The files are looked at in a worker thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from suspectra.evidence.boundary import Boundary
from suspectra_recorder.log.frames import SUFFIX, is_locked
from suspectra_server.session.jobs import Jobs
from suspectra_server.session.pace import Pace
from suspectra_server.session.ranker import Ranked
from suspectra_server.session.watching import Watcher, state_of
from suspectra_server.timing import EVIDENCE_DEBOUNCE_S, MAX_RANKING_PAUSE_S

log = logging.getLogger(__name__)


States = Mapping[str, object]


class EvidenceFiles:
    """The files that one workspace folder is ranked from, and those that may be the next. Belongs to the loop.

    Parameters
    ----------
    key : str
        What tells the folder's jobs and watches from those of others.
    files : Jobs
        Where files are looked at.
    watcher : Watcher
    rank : callable
        Called when there is something to rank.
    complete : callable
        Called when a recording that still grew when it was ranked has ended without anything more to rank.
    boundary : Boundary, optional
        Of the workspace folder.
    """

    def __init__(
        self,
        key: str,
        files: Jobs,
        watcher: Watcher,
        rank: Callable[[], None],
        complete: Callable[[], None] = lambda: None,
        boundary: Boundary | None = None,
    ):
        self._key = ("evidence", key)
        self._files = files
        self._watcher = watcher
        self._rank = rank
        self._complete = complete
        self._boundary = boundary
        self._loop = asyncio.get_running_loop()
        self._paths: frozenset[str] = frozenset()
        self._known: States | None = None  # of these paths, when they were last looked at
        self._unattended = False  # changes are not reported, as a timer says when to look
        self._ranked: States = MappingProxyType({})
        self._recorded = False
        self._seen: States | None = None  # at the last look, while files settle
        self._asked: States | None = None  # when the ranking that is on its way was asked for
        self._growing = False  # when it was ranked
        self._pace = Pace(self._loop.time)
        self._timer: asyncio.TimerHandle | None = None
        self._resting: asyncio.TimerHandle | None = None

    def watch(self, paths: Iterable[str], states: States | None = None) -> None:
        """Watch these files, which were in these states when they were last looked at."""
        self._paths, self._known = frozenset(paths), states
        self._attend(growing=self._unattended)

    def _attend(self, growing: bool) -> None:
        """Watch for changes, but not while tests are being recorded: each is one, and only time says when to look."""
        self._unattended = growing and bool(self._paths)
        paths = () if self._unattended else self._paths
        self._watcher.watch(self._key, paths, self._known, self._boundary)

    def ranked(self, result: Ranked) -> None:
        """A ranking was made; what to watch from now on follows."""
        self._pace.end()
        self._asked = None
        self._growing = self._unattended = result.growing
        self._recorded = bool(result.recorded_by)
        if result.states is not None:
            self._ranked = result.states
        if self._growing and self._resting is None:
            self._look_later()

    def changed(self) -> None:
        """Something happened to the files."""
        if self._resting is None:
            self._look(waited=False)

    async def behind(self) -> bool:
        """Whether the files are others than those that were ranked from."""
        paths = self._paths
        return self._differ(await self._files.run(lambda: _states(paths, self._boundary)))

    def wait_no_more(self) -> None:
        """Forget what happened: a ranking is on its way, or nobody wants one."""
        self._pace.start()
        self._files.cancel(self._key)
        self._stop_timer()
        if self._resting:
            self._resting.cancel()
        self._resting = self._seen = None

    def close(self) -> None:
        """Watch nothing any more."""
        self.wait_no_more()
        self.watch(())

    def _look(self, waited: bool) -> None:
        self._stop_timer()
        paths = self._paths
        self._files.submit(
            self._key,
            lambda token: _states_growing(paths, self._boundary),
            lambda found: self._looked(found, waited),
        )

    def _look_later(self) -> None:
        """Look again when a run may have ended; what happens until then waits."""
        self._resting = self._loop.call_later(MAX_RANKING_PAUSE_S, self._look_again)

    def _look_again(self) -> None:
        self._resting = None
        self._look(waited=True)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _looked(self, found: tuple[States, bool] | Exception, waited: bool) -> None:
        if isinstance(found, Exception):
            self._seen = None
            self._attend(growing=False)
            return
        states, growing = found
        if states == self._asked:
            self._seen = None  # the ranking on its way reads them as they are
        elif not self._differ(states):
            self._seen = None
            if growing and self._growing:
                self._look_later()
                return
            self._attend(growing=False)
            if self._growing:
                self._growing = False
                self._complete()
        elif self._grew(states) or (waited and states == self._seen):
            self._seen = None
            self._attend(growing)
            due = self._pace.due(growing)
            if due > self._loop.time() + MAX_RANKING_PAUSE_S:
                self._look_later()
            else:
                self._asked = states
                self._resting = self._loop.call_at(due, self._rank)
        else:
            self._seen = states
            self._stop_timer()
            self._timer = self._loop.call_later(EVIDENCE_DEBOUNCE_S, self._look, True)

    def _differ(self, states: States) -> bool:
        return any(self._ranked.get(path) != state for path, state in states.items())

    def _grew(self, states: States) -> bool:
        """Whether records were added to a recording and nothing else: as records are whole, any moment will do."""
        return self._recorded and _inodes(self._ranked).items() <= _inodes(states).items()


def _states(paths: Iterable[str], boundary: Boundary | None) -> States:
    return {path: state_of(path, boundary) for path in paths}


def _states_growing(paths: Iterable[str], boundary: Boundary | None) -> tuple[States, bool]:
    """The states of files, and whether tests are still being recorded in any of them."""
    states = _states(paths, boundary)
    return states, any(path.endswith(SUFFIX) and is_locked(path) for path in _inodes(states))


def _inodes(states: States) -> dict[str, int]:
    """The inodes of all files, out of the states of files and of folders."""
    found: dict[str, tuple[int, ...]] = {}
    for path, state in states.items():
        if isinstance(state, tuple) and state:
            found.update(state if isinstance(state[0], tuple) else {path: state})
    return {path: signature[-1] for path, signature in found.items() if signature}
