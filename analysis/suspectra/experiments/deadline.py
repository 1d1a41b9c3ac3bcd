"""How long something may take that has to be over at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from suspectra_recorder.experiments.exchange import RunAnswer


class TimeIsUp(Exception):
    """Something has used the time that it has.

    Parameters
    ----------
    answers : sequence of RunAnswer
        What is known by then of runs that were asked for together.

    Examples
    --------
    >>> raise TimeIsUp
    Traceback (most recent call last):
    suspectra.experiments.deadline.TimeIsUp
    >>> TimeIsUp().answers
    ()
    """

    def __init__(self, answers: Sequence[RunAnswer] = ()):
        super().__init__()
        self.answers = tuple(answers)


def seconds_until(end: float, most: float = math.inf) -> float:
    """How long something may take.

    Parameters
    ----------
    end : float
        When it has to be over, as ``time.monotonic`` has it.
    most : float
        How long it may take in any case.

    Returns
    -------
    float
        More than 0.

    Raises
    ------
    TimeIsUp
        When there is no time left.

    Examples
    --------
    >>> seconds_until(math.inf, 20.0)
    20.0
    >>> seconds_until(time.monotonic() - 1)
    Traceback (most recent call last):
    suspectra.experiments.deadline.TimeIsUp
    """
    left = min(end - time.monotonic(), most)
    if left <= 0:
        raise TimeIsUp
    return left
