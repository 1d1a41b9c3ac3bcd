"""How often evidence is ranked while tests run: rarely enough that it hardly slows them down.

Only the server's own processor time is counted, as waiting costs tests nothing. The recording sends no notifications
meanwhile: each test would be one, and the time of the next look is known anyway.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from suspectra_server.timing import HURRIED_RANKING_MAX_S, MAX_RANKING_PAUSE_S, PUBLISH_S

MAX_SHARE = 0.05  # of the time that tests run, during which the server may work; on a busy machine they lose half of it
PAUSE_FACTOR = 3.0  # otherwise the pause after an update, in multiples of its length: changes come in bursts


class Pace:
    """When the next ranking may start.

    While a recording grows, all processor time of the process counts, for ranking and for noticing changes. So a short
    ranking is made every few tests, and one that takes seconds is made only at the end. The ranking after the first
    failing test of a run may take more than its share, if it is cheap: people wait for it.
    """

    def __init__(self, clock: Callable[[], float], worked: Callable[[], float] = time.process_time):
        self._clock, self._worked = clock, worked
        self._began: tuple[float, float] | None = None  # clock and processor when the recording began to grow
        self._started = 0.0
        self._cost = 0.0
        self._hurried = False
        self._ended = -PUBLISH_S

    def start(self) -> None:
        """A ranking starts."""
        self._started, self._hurried = self._worked(), False

    def end(self) -> None:
        """The ranking is published."""
        self._cost = self._worked() - self._started
        self._ended = self._clock()

    def hurry(self) -> None:
        """The next ranking may start early, if the last one was cheap."""
        self._hurried = self._cost <= HURRIED_RANKING_MAX_S

    def due(self, growing: bool) -> float:
        """The earliest time at which the next ranking may start."""
        now = self._clock()
        if not growing:
            ran, self._began = self._began is not None, None
            return now if ran else max(now, self._ended + min(PAUSE_FACTOR * self._cost, MAX_RANKING_PAUSE_S))
        if self._began is None:
            self._began = now, self._worked()
        began, worked = self._began
        if self._hurried:
            return max(now, self._ended + PUBLISH_S)
        return max(now, self._ended + PUBLISH_S, began + (self._worked() - worked + self._cost) / MAX_SHARE)
