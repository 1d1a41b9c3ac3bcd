"""Noticing that files change: at once where the system tells, within a moment everywhere else.

Events come from watchdog. A slow look at every watched path stands beside them, because events are lost where a
file system sends none (network mounts, some containers), where the system's limit of watches is reached, and where
the folder of a file does not exist yet.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from suspectra.evidence.sources import signature

log = logging.getLogger(__name__)

LOOK_EVERY = 1.0  # seconds
MOST_ENTRIES = 10_000  # of a watched folder that are looked at
_READING = {"opened", "closed_no_write"}  # what our own reading causes


def state_of(path: str) -> object:
    """What tells one state of a file or a folder from another, None when it is not there."""
    own = signature(path)
    if own is None or not os.path.isdir(path):
        return own
    entries = []
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            inner = os.path.join(folder, name)
            entries.append((inner, signature(inner)))
            if len(entries) >= MOST_ENTRIES:
                return tuple(entries)
    return tuple(entries)


class Watcher:
    """Watches sets of paths, and says in the loop which set changed.

    Parameters
    ----------
    loop : asyncio.AbstractEventLoop
    changed : callable
        Called in the loop with the key of the set.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, changed: Callable[[Hashable], None]):
        self._loop = loop
        self._changed = changed
        self._sets: dict[Hashable, frozenset[str]] = {}
        self._known: dict[str, object] = {}  # the last state of each watched path
        self._folders: dict[str, object] = {}
        self._observer: object | None = None
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._look_now = threading.Event()
        self._looker: threading.Thread | None = None

    def watch(self, key: Hashable, paths: Iterable[str]) -> None:
        """Watch exactly these paths under a key, files or folders, whether they exist yet or not."""
        wanted = frozenset(os.path.abspath(path) for path in paths)
        if self._sets.get(key) == wanted:
            return
        # from now on no change is missed, whenever the watches below are in place
        fresh = {path: state_of(path) for path in wanted if path not in self._known}
        with self._lock:
            self._known = {**fresh, **self._known}
            if wanted:
                self._sets[key] = wanted
            else:
                self._sets.pop(key, None)
        if self._looker is None:
            self._looker = threading.Thread(target=self._look, name="suspectra-watch", daemon=True)
            self._looker.start()
        else:
            self._look_now.set()

    def stop(self) -> None:
        """End all watching."""
        self._end.set()
        self._look_now.set()
        with self._lock:
            self._sets.clear()
            observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()

    def _arrange(self) -> None:
        """Bring the system's watches in line: each watched folder itself, and the folder of each watched file.

        Where there is none yet, the nearest folder above it, in which it will appear.
        """
        with self._lock:
            if self._end.is_set():
                return
            wanted: dict[str, bool] = {}
            for path in frozenset().union(*self._sets.values()):
                if os.path.isdir(path):
                    wanted[path] = True
                else:
                    folder = next((folder for folder in _parents(path) if os.path.isdir(folder)), "")
                    wanted.setdefault(folder, False)
            for folder in list(self._folders):
                if folder not in wanted or not os.path.isdir(folder):
                    self._unschedule(folder)
            for folder, recursive in wanted.items():
                if folder not in self._folders and os.path.isdir(folder):
                    self._schedule(folder, recursive)

    def _schedule(self, folder: str, recursive: bool) -> None:
        try:
            if self._observer is None:
                self._observer = Observer()
                self._observer.daemon = True
                self._observer.start()
            self._folders[folder] = self._observer.schedule(_Handler(self._event), folder, recursive=recursive)
            self._look_now.set()  # what changed before the watch was in place sent no event
        except Exception as error:  # no watches left, no permission, gone again: the slow look remains
            log.info("no file events for %s: %s", folder, error)

    def _unschedule(self, folder: str) -> None:
        watch = self._folders.pop(folder)
        try:
            self._observer.unschedule(watch)
        except Exception as error:  # the folder is gone, and the watch with it
            log.debug("%s was not watched any more: %s", folder, error)

    def _event(self, event: FileSystemEvent) -> None:
        if event.event_type in _READING:
            return
        touched = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        for key, paths in list(self._sets.items()):
            if any(path in paths or not paths.isdisjoint(_parents(path)) for path in touched):
                self._tell(key)
        if event.is_directory and event.event_type != "modified":
            self._look_now.set()  # a watched path may have come or gone with it

    def _look(self) -> None:
        """Compare the state of every watched path with its last one, for ever."""
        self._arrange()
        while not self._end.is_set():
            self._look_now.wait(LOOK_EVERY)
            self._look_now.clear()
            with self._lock:
                known, sets = self._known, dict(self._sets)
            states = {path: state_of(path) for path in frozenset().union(*sets.values())}
            for key, paths in sets.items():
                if any(states[path] != known.get(path, states[path]) for path in paths):
                    self._tell(key)
            with self._lock:
                watched = frozenset().union(*self._sets.values())
                self._known = {path: state for path, state in {**self._known, **states}.items() if path in watched}
            self._arrange()

    def _tell(self, key: Hashable) -> None:
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


def _parents(path: str) -> Iterator[str]:
    """The folders above a path, nearest first."""
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent


class Settling:
    """Acts once a set of files has stayed the same for a while.

    Parameters
    ----------
    loop : asyncio.AbstractEventLoop
    state : callable
        What must stay the same.
    act : callable
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, state: Callable[[], object], act: Callable[[], None]):
        self._loop = loop
        self._state = state
        self._act = act
        self._timer: asyncio.TimerHandle | None = None
        self._seen: object = None

    def touched(self, quiet: float) -> None:
        """Something changed: act when nothing has for `quiet` seconds."""
        self.stop()
        self._seen = self._state() if quiet else None
        self._timer = self._loop.call_later(quiet, self._look, quiet)

    @property
    def waiting(self) -> bool:
        """Whether something was touched and not acted upon yet."""
        return self._timer is not None

    def stop(self) -> None:
        """Forget what was touched."""
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _look(self, quiet: float) -> None:
        self._timer = None
        if quiet and self._state() != self._seen:
            self.touched(quiet)
        else:
            self._act()
