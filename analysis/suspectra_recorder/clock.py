"""The time of records, which never goes back: of two records of a test the later one counts."""

from __future__ import annotations

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, time

__builtins__ = library_references.builtins


class Clock:
    """A clock that is never behind what is recorded, even if the system's clock was set back.

    Raises OSError when the folder can't be read.
    """

    def __init__(self, folder: str):
        with os.scandir(folder) as entries:
            times = (entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries if entry.is_file())
            newest = max(times, default=0)
        # how far the system's clock is behind this one, in nanoseconds: 0 unless it was set back
        self.behind = max(0, newest + 1 - time.time_ns())
        self._last = 0

    def now(self) -> int:
        """Return the time, in nanoseconds since the epoch.

        No less than the last time.
        """
        now = time.time_ns() + self.behind
        if now < self._last:
            self.behind += self._last - now
            now = self._last
        self._last = now
        return now
