"""The jump model: hyper-parameters of the chain, in a module of their own since the solvers are slow to import."""

from __future__ import annotations

import math
from dataclasses import dataclass

from suspectra.errors import Problem, UsageError


@dataclass(frozen=True)
class JumpModel:
    """How readers leave the ranking (paper 003, Definitions 26 and 29, with a weight for each kind of neighbour).

    Parameters
    ----------
    p_jump : float
        Probability of a jump from a location with neighbours, 0 to 1. The paper suggests 0.5 if there is no data.
    same_function, control_flow, calls : float
        Weights of the kinds of neighbours, not negative. Two locations that are neighbours in several ways have the
        largest weight, so with three weights of 1 this is the J of the paper.

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
