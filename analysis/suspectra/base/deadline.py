"""How long something may take that has to be over at a time."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from suspectra_recorder.experiments.messages import MachineRunAnswer


class TimeIsUp(Exception):
    """Something has used the time that it has."""

    def __init__(self, answers: Sequence[MachineRunAnswer] = ()):
        super().__init__()
        self.answers = tuple(answers)  # what is known by then of runs that were asked for together


def seconds_until(end: float, most: float = math.inf) -> float:
    """How long something may take.

    Raises TimeIsUp when there is no time left.
    """
    left = min(end - time.monotonic(), most)
    if left <= 0:
        raise TimeIsUp
    return left


_MAX_TIMES = 6.0  # as much longer work may take than on an idle machine


def while_others_work(seconds: float) -> float:
    """How long work may take here and now that takes some seconds on an idle machine."""
    return seconds * slower(_running(), os.cpu_count() or 1)


def slower(running: float, processors: int) -> float:
    """How many times as long work takes while so many programs want to run; at least 1."""
    return min(max(running / processors, 1.0), _MAX_TIMES)


def _running() -> float:
    """How many programs want to run: on average in the last minute, or now if these are more; 0 where nobody knows."""
    average, now = 0.0, 0
    with suppress(AttributeError, OSError):  # not everywhere
        average = os.getloadavg()[0]
    with suppress(OSError, ValueError, IndexError):
        now = int(Path("/proc/loadavg").read_text("ascii").split()[3].partition("/")[0])
    return max(average, now)
