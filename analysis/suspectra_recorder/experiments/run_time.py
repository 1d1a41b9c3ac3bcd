"""How long runs take: on a busy machine, what a process waits for the processor does not count."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import time

__builtins__ = library_references.builtins

_LONGER, _LATE_S = 2, 3.0
"""How many times its seconds, and how much more, a run may take where the machine is busy."""

_EXACT = 20
"""The part of the time that is not worth another look."""


class RunTime:
    """The time of one run.

    Most runs end soon, so it is looked at only after half of the time how long the process waits.
    """

    def __init__(self, process: int, seconds: float, clock: Callable[[], float] = time.monotonic):
        self._process, self._seconds, self._clock = process, seconds, clock
        self.began = clock()
        self.look_at = self.began + seconds / 2  # when `is_up` may be the next time
        self._half: float | None = None  # when half of the time was over, without what it had waited by then

    @property
    def took(self) -> float:
        """Seconds since it began."""
        return self._clock() - self.began

    def is_up(self) -> bool:
        """Whether it takes too long; else there is another time to look at."""
        now, waited = self._clock(), waited_s(self._process)
        if waited is None:
            self.look_at = self.began + self._seconds
            return now >= self.look_at
        if self._half is None:
            self._half, self.look_at = now - waited, now + self._seconds / 2
            return False
        left = self._seconds / 2 - (now - waited - self._half)
        self.look_at = now + left
        return left <= self._seconds / _EXACT or now >= self.began + _LONGER * self._seconds + _LATE_S


def waited_s(process: int) -> float | None:
    """How long a process has waited for a processor in all; None where the system does not tell."""
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{process}/schedstat", "rb") as stream:
        return int(stream.read().split()[1]) / 1e9
    return None
