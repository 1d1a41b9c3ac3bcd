"""Decides when changed evidence is complete enough to be ranked. A worker thread accesses the files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from suspectra.evidence.boundary import Boundary
from suspectra_recorder.log.frames import SUFFIX
from suspectra_recorder.log.locks import is_locked
from suspectra_server.session.jobs import Jobs
from suspectra_server.session.ranking.ranker import Ranked
from suspectra_server.session.ranking.ranking_pace import Pace
from suspectra_server.session.ranking.watching import Watcher, state_of
from suspectra_server.timing import EVIDENCE_DEBOUNCE_S, MAX_RANKING_PAUSE_S

log = logging.getLogger(__name__)


States = Mapping[str, object]
_UNKNOWN: States = MappingProxyType({})


class EvidenceFiles:
    """The evidence files of one workspace folder, and the paths at which others may appear. Belongs to the loop."""

    def __init__(
        self,
        key: str,
        files: Jobs,
        watcher: Watcher,
        rank: Callable[[States], None],
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
        self._known: States | None = None  # the last known states of these paths
        self._polled = False  # a timer checks the files, and changes are not reported
        self._ranked = _UNKNOWN
        self._recorded = False
        self._seen: States | None = None  # at the last check, while files change
        self._requested: States | None = None  # when the ranking that is being made was requested
        self._growing = False  # whether the ranked recording was still growing
        self._pace = Pace(self._loop.time)
        self._timer: asyncio.TimerHandle | None = None
        self._pause: asyncio.TimerHandle | None = None

    def watch(self, paths: Iterable[str], states: States | None = None) -> None:
        """Watch these files, whose last known states are given."""
        self._paths, self._known = frozenset(paths), states
        self._update_watch(growing=self._polled)

    def _update_watch(self, growing: bool) -> None:
        """Watch for changes; not while tests are being recorded, when each test is a change and a timer is enough."""
        self._polled = growing and bool(self._paths)
        paths = () if self._polled else self._paths
        self._watcher.watch(self._key, paths, self._known, self._boundary)

    def ranked(self, result: Ranked) -> None:
        """A ranking was made. `watch` is called next."""
        self._pace.end()
        self._requested = None
        self._growing = self._polled = result.growing
        self._recorded = bool(result.recorded_by)
        if result.states is not None:
            self._ranked = result.states
        if self._growing and self._pause is None:
            self._check_later()

    def changed(self) -> None:
        """A watched file changed."""
        if self._pause is None:
            self._check(waited=False)

    def hurry(self) -> None:
        """A test failed for which people wait: do not wait for the turn of the next ranking, if it is cheap."""
        self._pace.hurry()
        if self._pause:
            self._pause.cancel()
            self._pause = self._requested = None
        self._check(waited=False)

    async def is_outdated(self) -> bool:
        """Whether the files have changed since they were ranked."""
        paths = self._paths
        return self._differ(await self._files.run(lambda: _states(paths, self._boundary)))

    def cancel_waiting(self) -> None:
        """Drop pending changes: a ranking is being made, or none is wanted."""
        self._pace.start()
        self._files.cancel(self._key)
        self._stop_timer()
        if self._pause:
            self._pause.cancel()
        self._pause = self._seen = None

    def close(self) -> None:
        """Stop watching for good."""
        self.cancel_waiting()
        self.watch(())

    def _check(self, waited: bool) -> None:
        self._stop_timer()
        paths = self._paths
        self._files.submit(
            self._key,
            lambda token: _states_growing(paths, self._boundary),
            lambda found: self._checked(found, waited),
        )

    def _check_later(self) -> None:
        """Check again when a run may have ended; changes until then wait."""
        self._pause = self._loop.call_later(MAX_RANKING_PAUSE_S, self._check_after_pause)

    def _check_after_pause(self) -> None:
        self._pause = None
        self._check(waited=True)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _checked(self, found: tuple[States, bool] | Exception, waited: bool) -> None:
        if isinstance(found, Exception):
            self._seen = None
            self._update_watch(growing=False)
            return
        states, growing = found
        if states == self._requested:
            self._seen = None  # the ranking that is being made reads these states
        elif not self._differ(states):
            self._seen = None
            if growing and self._growing:
                self._check_later()
                return
            self._update_watch(growing=False)
            if self._growing:
                self._growing = False
                self._complete()
        # other tools write their data in several steps: it is complete once it stays the same for a while
        elif self._grew(states) or (waited and states == self._seen):
            self._seen = None
            due, now = self._pace.due(growing), self._loop.time()
            if due > now + MAX_RANKING_PAUSE_S:
                self._check_later()
            else:
                self._requested = states
                if due <= now:
                    self._rank(states)
                else:
                    self._pause = self._loop.call_at(due, self._rank, _UNKNOWN)
            self._update_watch(growing)
        else:
            self._seen = states
            self._stop_timer()
            self._timer = self._loop.call_later(EVIDENCE_DEBOUNCE_S, self._check, True)

    def _differ(self, states: States) -> bool:
        return any(self._ranked.get(path) != state for path, state in states.items())

    def _grew(self, states: States) -> bool:
        """Whether records were only added to a recording: each is complete, so it can be ranked at any moment."""
        return self._recorded and _inodes(self._ranked).items() <= _inodes(states).items()


def _states(paths: Iterable[str], boundary: Boundary | None) -> States:
    return {path: state_of(path, boundary) for path in paths}


def _states_growing(paths: Iterable[str], boundary: Boundary | None) -> tuple[States, bool]:
    """The states of files, and whether tests are still being recorded in any of them."""
    states = _states(paths, boundary)
    return states, any(path.endswith(SUFFIX) and is_locked(path) for path in _inodes(states))


def _inodes(states: States) -> dict[str, int]:
    """The inodes of all files, from the states of files and folders."""
    found: dict[str, tuple[int, ...]] = {}
    for path, state in states.items():
        if isinstance(state, tuple) and state:
            found.update(state if isinstance(state[0], tuple) else {path: state})
    return {path: signature[-1] for path, signature in found.items() if signature}
