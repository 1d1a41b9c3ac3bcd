"""The jump model: hyper-parameters of the chain, in a module of their own since the solvers are slow to import."""

from __future__ import annotations

import math
from dataclasses import dataclass

from suspectra.base.errors import Problem, UsageError


@dataclass(frozen=True)
class JumpModel:
    """How readers leave the ranking (paper 003, Definitions 26 and 29, with a weight for each kind of neighbour).

    Raises UsageError when a value is out of its range or not a number.
    """

    p_jump: float = 0.5  # probability of a jump from a location with neighbours, 0 to 1
    # weights of the kinds of neighbours, not negative
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
