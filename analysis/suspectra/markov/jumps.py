"""How readers leave the ranking: hyper-parameters of the chain, apart from the solvers, which are slow to load."""

from __future__ import annotations

import math
from dataclasses import dataclass

from suspectra.errors import Problem, UsageError


@dataclass(frozen=True)
class JumpModel:
    """How readers leave the ranking (paper 003, Definitions 26 and 29, with each kind of neighbour weighted).

    Parameters
    ----------
    p_jump : float
        Probability of a jump from a location that has neighbours, 0 to 1. The paper suggests 0.5 without data.
    same_function, control_flow, calls : float
        Weights of the kinds of neighbours, not negative. Two locations joined in several ways get the largest, so
        that three ones are the paper's J.

    Raises
    ------
    UsageError
        When a value is out of its range or not a number.

    Examples
    --------
    >>> JumpModel(p_jump=0.25).control_flow
    1.0
    >>> JumpModel(p_jump=2.0)
    Traceback (most recent call last):
    suspectra.errors.UsageError: p_jump is 2.0. Fix: …
    """

    p_jump: float = 0.5
    same_function: float = 1.0
    control_flow: float = 1.0
    calls: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.p_jump <= 1:
            raise UsageError(Problem("", "", f"p_jump is {self.p_jump}", "give a probability from 0 to 1"))
        for name in ("same_function", "control_flow", "calls"):
            weight = getattr(self, name)
            if not (math.isfinite(weight) and weight >= 0):
                cause = f"the weight {name} is {weight}"
                raise UsageError(Problem("", "", cause, "give a finite number that is not negative"))
