"""The threads of a server, by what they do, and what the parts of a workspace folder share.

Every object belongs to one thread, and what is passed to another is never changed afterwards. The loop has the
connection, the folders and all features; it accesses no file and takes no lock that another thread holds meanwhile. A
job gets all that it needs when it is submitted (`RankingInput`), and the loop takes over what it returns (`Ranked`,
`Reading`). Only `Disk` is used by two of these threads, by one at a time. A finished object may compute a value on
first use, such as a `cached_property` of a ranking: every thread gets the same one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from suspectra.evidence.boundary import Boundary
from suspectra_server.session.jobs import LONG_NICE, Jobs
from suspectra_server.session.ranking.watching import Watcher, WatchKey
from suspectra_server.state.documents import Disk
from suspectra_server.timing import JOBS_END_TIMEOUT_S


class Workers:
    """The worker threads of one server."""

    def __init__(self, loop: asyncio.AbstractEventLoop, changed: Callable[[WatchKey], None]):
        self.rankings = Jobs(loop)
        # models, and better rankings that replace quick ones: no ranking of newer evidence waits for these
        self.long = Jobs(loop, "suspectra-long", LONG_NICE)
        # failing tests that run again, which takes longer than anything else
        self.experiments = Jobs(loop, "suspectra-experiments", LONG_NICE)
        # the loop accesses no file, as they may be on a slow disk
        self.files = Jobs(loop, "suspectra-files")
        self.watcher = Watcher(loop, changed)

    def stop_working(self) -> None:
        """Stop everything except writing files."""
        self.watcher.stop()
        for jobs in (self.rankings, self.long, self.experiments):
            jobs.stop()

    def stop(self) -> None:
        """Stop everything."""
        self.stop_working()
        self.files.stop()

    def join(self) -> None:
        """Wait a moment for the threads to end, after `stop`."""
        deadline = time.monotonic() + JOBS_END_TIMEOUT_S
        for jobs in (self.rankings, self.long, self.experiments, self.files):
            jobs.join(deadline)


@dataclass(frozen=True, eq=False)
class FolderContext:
    """What the parts of a workspace folder share: its name, its files, and the threads that work for it."""

    uri: str  # as the client names it; part of the keys of its jobs
    root: Path
    boundary: Boundary
    disk: Disk
    workers: Workers

    @classmethod
    def for_folder(cls, uri: str, root: Path, workers: Workers) -> FolderContext:
        """That of a folder; accesses no file."""
        return cls(uri, root, Boundary(root), Disk(root), workers)
