"""How long something may take that has to be over at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

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
_SPIN_S = 0.03
"""Of processor time, for seeing how slow the machine is: some turns of the scheduler."""


def while_others_work(seconds: float) -> float:
    """How long work may take here and now that takes some seconds on an idle machine."""
    wall, used = time.perf_counter(), time.thread_time()
    while time.thread_time() - used < _SPIN_S:
        pass
    return seconds * slower(time.perf_counter() - wall, time.thread_time() - used)


def slower(seconds: float, used: float) -> float:
    """How many times as long work takes as the processor time that it uses; at least 1."""
    return min(max(seconds / used, 1.0), _MAX_TIMES)
