"""Estimating p_jump (paper 003, Definition 29) from a reader's own moves.

A move away from a location with neighbours is either a jump or a return to the ranking, with unknown probability. The
prior is a Beta distribution around the reader's setting, with the weight of ten moves. Each observed move adds one.
"""

from __future__ import annotations

from dataclasses import dataclass

from suspectra.base.errors import Problem, UsageError

PRIOR_MOVES = 10.0
CONFIDENCE = 0.95


@dataclass(frozen=True)
class JumpHabit:
    """How often a reader jumped, and how often they went back to the ranking (paper 003, Definition 29).

    Raises UsageError for a negative count.
    """

    # numbers of observed moves, not negative
    jumps: int = 0
    returns: int = 0

    def __post_init__(self) -> None:
        if self.jumps < 0 or self.returns < 0:
            cause = f"{self.jumps} jumps and {self.returns} returns can't be counts"
            raise UsageError(Problem("", "", cause, "give numbers that are not negative"))

    def after(self, jumped: bool) -> JumpHabit:
        """Count one more move.

        The new counts; `self` is not changed.
        """
        return JumpHabit(self.jumps + jumped, self.returns + (not jumped))

    def estimate(self, prior: float = 0.5) -> float:
        """Return the mean of the Beta distribution after these moves."""
        a, b = self._beta(prior)
        return a / (a + b)

    def interval(self, prior: float = 0.5, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the equal-tailed credible interval of the probability of a jump."""
        a, b = self._beta(prior)
        if not a or not b:  # the prior is 0 or 1, and no move contradicts it
            return (float(a > 0), float(a > 0))
        tail = (1 - confidence) / 2
        from scipy import special  # slow to load, and few ask

        # as scipy.stats.beta.ppf does, which takes long to load
        return float(special.betaincinv(a, b, tail)), float(special.betaincinv(a, b, 1 - tail))

    def _beta(self, prior: float) -> tuple[float, float]:
        return PRIOR_MOVES * prior + self.jumps, PRIOR_MOVES * (1 - prior) + self.returns
