"""Watching files for changes: by events of the file system, and by polling where there are none.

Events come from watchdog. All watched paths are also polled slowly, because some file systems send no events (network
mounts, some containers), because the number of watches is limited, and because the folder of a file may not exist yet.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from suspectra.evidence import places
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.sources import Signature, signature, signature_of
from suspectra_server.timing import WATCH_POLL_S

log = logging.getLogger(__name__)

WatchKey: TypeAlias = tuple[str, str]
"""What a set of paths is, and the URI of the folder it belongs to."""

MAX_ENTRIES = 10_000  # of a watched folder that are compared
_PAUSE_FACTOR = 50  # after a pattern was followed, in multiples of the time that it took
_READING = {"opened", "closed_no_write"}  # events that our own reading causes
_UNKNOWN = object()  # the state of a path that was not given and not compared yet; that of a missing file is None


def state_of(path: str, boundary: Boundary | None = None) -> object:
    """A value that differs between two states of a file, of the files in a folder, or of those that match a pattern.

    None for a missing file, and where nothing matches.
    """
    if places.is_pattern(path):
        return places.found(path, boundary) or None
    if boundary is not None and not boundary.may_look(path):
        return None
    own = signature(path)
    if own is None or not os.path.isdir(path):
        return own
    try:
        with os.scandir(path) as entries:
            return tuple(sorted((entry.path, _state_of_entry(entry)) for entry in islice(entries, MAX_ENTRIES)))
    except OSError:
        return None


def _state_of_entry(entry: os.DirEntry[str]) -> Signature | tuple[()]:
    try:
        return signature_of(entry.stat(follow_symlinks=False))
    except OSError:
        return ()  # it is gone again


class Watcher:
    """Watches sets of paths, and reports to the loop which set changed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, changed: Callable[[WatchKey], None]):
        self._loop = loop
        self._changed = changed
        self._lock = threading.Lock()  # of the next three; never held while a file is accessed
        self._sets: Mapping[WatchKey, frozenset[str]] = {}  # replaced, not changed, so that others can iterate over it
        self._boundaries: Mapping[str, Boundary | None] = {}  # of each watched path
        self._known: Mapping[str, object] = {}  # the last state of each watched path
        self._folders: dict[str, ObservedWatch] = {}  # this and the next belong to the polling thread
        self._due: dict[str, float] = {}  # when a pattern is to be followed again; of the polling thread, too
        self._observer: BaseObserver | None = None
        self._end = threading.Event()
        self._poll_now = threading.Event()
        self._poller: threading.Thread | None = None

    def watch(
        self,
        key: WatchKey,
        paths: Iterable[str],
        states: Mapping[str, object] | None = None,
        boundary: Boundary | None = None,  # of the workspace that the paths may be in
    ) -> None:
        """Watch exactly these paths under a key: files, folders and patterns, whether anything is there yet or not."""
        wanted = frozenset(os.path.abspath(path) for path in paths)
        given = {os.path.abspath(path): state for path, state in (states or {}).items()}
        with self._lock:
            known = {path: state for path, state in given.items() if path in wanted}
            if self._sets.get(key, frozenset()) == wanted and known.items() <= self._known.items():
                return
            self._known = {**self._known, **known}
            others = {other: watched for other, watched in self._sets.items() if other != key}
            self._sets = {**others, key: wanted} if wanted else others
            self._boundaries = {**self._boundaries, **dict.fromkeys(wanted, boundary)}
        self._poll_now.set()
        if self._poller is None:
            self._poller = threading.Thread(target=self._poll, name="suspectra-watch", daemon=True)
            self._poller.start()

    def stop(self) -> None:
        """End all watching."""
        self._end.set()
        self._poll_now.set()
        with self._lock:
            self._sets = {}

    def _update_watches(self) -> None:
        """Watch exactly the folders that are needed: each watched folder, and the folder of each watched file.

        For a folder that does not exist yet, this is the nearest one above it, in which it will appear.
        """
        boundaries = self._boundaries
        watched = frozenset[str]().union(*self._sets.values())
        wanted = {folder for path in watched if (folder := _folder_of(path, boundaries.get(path)))}
        for folder in self._folders.keys() - wanted:
            self._unschedule(folder)
        for folder in wanted - self._folders.keys():
            self._schedule(folder)

    def _schedule(self, folder: str) -> None:
        try:
            if self._observer is None:
                self._observer = Observer()
                self._observer.daemon = True
                self._observer.start()
            self._folders[folder] = self._observer.schedule(_Handler(self._event), folder)
            self._poll_now.set()  # changes before the watch was in place sent no event
        except Exception as error:  # no watches left, no permission, gone again: polling remains
            log.info("no file events for %s: %s", folder, error)

    def _unschedule(self, folder: str) -> None:
        watch = self._folders.pop(folder)
        try:
            if self._observer is not None:
                self._observer.unschedule(watch)
        except Exception as error:  # the folder is gone, and the watch with it
            log.debug("%s was not watched any more: %s", folder, error)

    def _event(self, event: FileSystemEvent) -> None:
        if event.event_type in _READING:
            return
        changed = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        for key, paths in self._sets.items():
            if any(_is_among(paths, path) for path in changed):
                self._report(key)
        if event.is_directory and event.event_type != "modified":
            self._poll_now.set()  # a watched path may have appeared or disappeared with it

    def _poll(self) -> None:
        """Compare the state of every watched path with its last one, again and again."""
        self._update_watches()
        while not self._end.is_set():
            self._poll_now.wait(WATCH_POLL_S)
            self._poll_now.clear()
            with self._lock:
                known, sets, boundaries = self._known, self._sets, self._boundaries
            states = self._states(frozenset().union(*sets.values()), boundaries, known)
            for key, paths in sets.items():
                if any(states[path] != known.get(path, states[path]) for path in paths):
                    self._report(key)
            with self._lock:
                watched = frozenset().union(*self._sets.values())
                # states that were given meanwhile stay for the next comparison
                seen = {
                    path: state
                    for path, state in states.items()
                    if self._known.get(path, _UNKNOWN) is known.get(path, _UNKNOWN)
                }
                now = {**self._known, **seen}
                self._known = {path: state for path, state in now.items() if path in watched}
                self._boundaries = {path: one for path, one in self._boundaries.items() if path in watched}
            self._update_watches()
        if self._observer is not None:
            self._observer.stop()

    def _states(
        self, paths: Iterable[str], boundaries: Mapping[str, Boundary | None], known: Mapping[str, object]
    ) -> dict[str, object]:
        """The states of paths; a pattern that takes long to follow is not followed each time."""
        states = {}
        for path in paths:
            started = time.monotonic()
            if started < self._due.get(path, 0.0):
                states[path] = known.get(path)
                continue
            states[path] = state_of(path, boundaries.get(path))
            if places.is_pattern(path):
                ended = time.monotonic()
                self._due[path] = ended + _PAUSE_FACTOR * (ended - started)
        return states

    def _report(self, key: WatchKey) -> None:
        if self._end.is_set():
            return
        try:
            self._loop.call_soon_threadsafe(self._changed, key)
        except RuntimeError:  # the loop has ended
            self._end.set()


class _Handler(FileSystemEventHandler):
    def __init__(self, act: Callable[[FileSystemEvent], None]):
        self._act = act

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._act(event)


def _is_among(paths: frozenset[str], path: str) -> bool:
    """Whether a path is watched, or is in a folder that is, or may match a pattern."""
    return (
        path in paths
        or not paths.isdisjoint(_parents(path))
        or any(places.may_match(pattern, path) for pattern in _patterns(paths))
    )


@lru_cache(maxsize=64)
def _patterns(paths: frozenset[str]) -> tuple[str, ...]:
    return tuple(filter(places.is_pattern, paths))


def _folder_of(path: str, boundary: Boundary | None) -> str | None:
    """The folder to watch for a path: itself or the nearest one above it, but none above the workspace."""
    within = boundary is not None and boundary.names(path)
    for folder in (path, *_parents(path)):
        if boundary is not None and within and not boundary.names(folder):
            return None
        if (boundary is None or boundary.may_look(folder)) and os.path.isdir(folder):
            return folder
    return None


def _parents(path: str) -> Iterator[str]:
    """The folders above a path, nearest first."""
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent


class Debouncer:
    """Calls a function once nothing has happened for a while."""

    def __init__(self, loop: asyncio.AbstractEventLoop, act: Callable[[], None]):
        self._loop = loop
        self._act = act
        self._timer: asyncio.TimerHandle | None = None

    def trigger(self, delay: float) -> None:
        """Something happened: act after `delay` seconds without another call."""
        self.stop()
        self._timer = self._loop.call_later(delay, self._act_now)

    @property
    def waiting(self) -> bool:
        """Whether there is something to act upon."""
        return self._timer is not None

    def stop(self) -> None:
        """Act no more until the next call of `trigger`."""
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _act_now(self) -> None:
        self._timer = None
        self._act()
