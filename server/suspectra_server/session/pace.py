"""How often evidence is ranked while it grows: seldom enough that the tests have the machine."""

from __future__ import annotations

import time
from collections.abc import Callable

from suspectra_server.timing import MAX_RANKING_PAUSE_S

SHARE = 0.05  # of the time that tests run which the server may work meanwhile; a busy machine gives tests half of it
REST = 3.0  # otherwise an update is followed by a pause of this many times its own length: changes come in bursts


class Pace:
    """When the next ranking may start.

    While a recording grows, all that the process works since then counts, be it the ranking or noticing changes. So a
    ranking that takes a moment follows every few tests, and one that takes seconds comes at the end alone. What is
    needed at the first failing test costs next to nothing before there is one, so that it never waits for long.

    Parameters
    ----------
    clock : callable
        Seconds by the clock.
    worked : callable
        Seconds of processor time of this process.
    """

    def __init__(self, clock: Callable[[], float], worked: Callable[[], float] = time.process_time):
        self._clock, self._worked = clock, worked
        self._began: tuple[float, float] | None = None  # clock and processor when the recording began to grow
        self._started = 0.0
        self._cost = 0.0
        self._ended = 0.0

    def start(self) -> None:
        """A ranking starts."""
        self._started = self._worked()

    def end(self) -> None:
        """It is published."""
        self._cost = self._worked() - self._started
        self._ended = self._clock()

    def due(self, growing: bool) -> float:
        """From when on the next ranking may start, by the clock.

        Parameters
        ----------
        growing : bool
            Whether tests are still being recorded.
        """
        now = self._clock()
        if not growing:
            ran, self._began = self._began is not None, None
            return now if ran else max(now, self._ended + min(REST * self._cost, MAX_RANKING_PAUSE_S))
        if self._began is None:
            self._began = now, self._worked()
        began, worked = self._began
        return max(now, began + (self._worked() - worked + self._cost) / SHARE)
