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
