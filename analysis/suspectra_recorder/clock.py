"""The time of records, which never goes back: of two records of a test the later one counts."""

from __future__ import annotations

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import os, time

__builtins__ = own.builtins


class Clock:
    """A clock that is never behind what is recorded, even if the system's clock was set back.

    Parameters
    ----------
    folder : str
        The folder of the logs. A log is as old as its last record.

    Attributes
    ----------
    behind : int
        How far the system's clock is behind this one, in nanoseconds: 0 unless it was set back.

    Raises
    ------
    OSError
        When the folder can't be read.

    Examples
    --------
    The last record is an hour newer than what the clock says now:

    >>> log = folder / "1.log"
    >>> log.touch()
    >>> hour_from_now = time.time_ns() + 3_600_000_000_000
    >>> os.utime(log, ns=(hour_from_now, hour_from_now))
    >>> clock = Clock(str(folder))
    >>> clock.now() > hour_from_now, clock.behind > 0
    (True, True)
    """

    def __init__(self, folder: str):
        with os.scandir(folder) as entries:
            times = (entry.stat(follow_symlinks=False).st_mtime_ns for entry in entries if entry.is_file())
            newest = max(times, default=0)
        self.behind = max(0, newest + 1 - time.time_ns())
        self._last = 0

    def now(self) -> int:
        """Return the time, in nanoseconds since the epoch.

        Returns
        -------
        int
            No less than the last time.
        """
        now = time.time_ns() + self.behind
        if now < self._last:
            self.behind += self._last - now
            now = self._last
        self._last = now
        return now
