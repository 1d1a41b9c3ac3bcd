"""Where a reader should look next, where the chain of paper 003 says where readers do look.

What is made small is the expected number of steps until the reader sees the fault:

- A step is a move of the chain: a jump to a neighbour takes one, and the way through the ranking two, back to it and to
  the place. Walking along the ranking takes none, since examined places are no longer in it.
- The fault is one place, and a place of rank r is it with a probability proportional to r^-1.5, in a tie to the mean of
  that over its ranks. Under this exponent the faults of open data are likeliest. A reader who sees the fault knows it;
  one who does not can leave out that place alone, so the probabilities of all others keep their proportions.

To find the best order is hard (it contains the minimum latency problem), so the order is greedy: next comes the place
with the largest probability per step. Without neighbours that is the ranking, which is then optimal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Floats, Ints
from suspectra.base.cancellation import checked
from suspectra.base.english import many
from suspectra.markov.chain import Chain
from suspectra.report import RankedReport

JUMP, THROUGH_RANKING = 1, 2
"""Steps of the two kinds of moves."""
EXPONENT = 1.5
"""How fast the probability of a fault falls with the rank (benchmarks/reading_plans.py)."""


@dataclass(frozen=True, eq=False)
class PlacesInOrder:
    """An order in which to look at places."""

    order: Ints  # all places, the next one first; shape (k,)
    steps: Ints  # steps of the move to each; shape (k,)
    expected: float  # expected steps until the fault is seen


@dataclass(frozen=True, eq=False)
class ReadingPlan(PlacesInOrder):
    """The order that needs few steps."""

    by_ranking: PlacesInOrder  # of a reader who goes down the ranking, by a jump where the next place is a neighbour

    @property
    def saved(self) -> float:
        """Expected steps that the order saves."""
        return self.by_ranking.expected - self.expected

    @property
    def words(self) -> str:
        """What it saves, for people."""
        expected = f"{self.expected:.0f} steps until the fault is seen"
        if not round(self.saved):
            return f"As good as going down the ranking: about {expected}"
        saved = many(round(self.saved), "step")
        return f"This order saves about {saved}: about {expected}, {self.by_ranking.expected:.0f} down the ranking"


def fault_chances(report: RankedReport, elements: Ints, exponent: float = EXPONENT) -> Floats:
    """Return how probable a fault is at each of some ranked elements, not normalised.

    Of shape (k,).
    """
    position = report.position[elements]
    first, last = report.rank_best[position], report.rank_worst[position]
    upto = np.concatenate([[0.0], np.cumsum(np.arange(1.0, last.max(initial=0) + 1) ** -exponent)])
    chance: Floats = (upto[last] - upto[first - 1]) / (last - first + 1)
    return chance


def plan_reading(
    chain: Chain, chance: Floats, near: Iterable[int] | None = None, seen: int | None = None
) -> ReadingPlan:
    """Plan the order of a chain's locations.

    From the top of the ranking; or from a location that has the locations `near` as neighbours, and is `seen` (-1 if
    it is not in the chain itself).
    """
    ways = _Ways(chain, chance)
    left = np.ones(chain.locations, bool)
    if seen is not None and seen >= 0:
        left[seen] = False
    ranking = [k for k in ways.best if left[k]]
    total = float(chance[left].sum()) or 1.0

    def reading(order: Sequence[int], taken: Sequence[int]) -> PlacesInOrder:
        steps = np.array(taken, np.int64)
        if near is None:
            steps[:1] -= 1  # no way back to the ranking
        expected = float(chance[list(order)] @ np.cumsum(steps)) / total
        return PlacesInOrder(np.array(order, np.int64), steps, expected)

    first = frozenset(near or ())
    down = [JUMP if ways.joins(before, to, first) else THROUGH_RANKING for before, to in _moves(ranking)]
    by_ranking, greedy = reading(ranking, down), reading(*ways.greedy(left, first))
    best = min(greedy, by_ranking, key=lambda one: one.expected)
    return ReadingPlan(best.order, best.steps, best.expected, by_ranking)


def _moves(order: Sequence[int]) -> Iterable[tuple[int | None, int]]:
    return zip([None, *order], order, strict=False)


class _Ways:
    """The neighbours of each location, and an order that uses them."""

    def __init__(self, chain: Chain, chance: Floats):
        self._chance: list[float] = chance.tolist()
        self.best: list[int] = np.argsort(-chance, kind="stable").tolist()
        rates = chain.rates
        begins, ends = rates.indptr[chain.first_location : chain.first_hub], rates.indptr[chain.first_location + 1 :]
        self._neighbours: list[list[int]] = [[] for _ in range(chain.locations)]
        self._hub = [-1] * chain.locations
        self._members: list[list[int]] = [[] for _ in chain.hub_size]
        location = chain.location.tolist()
        for own, begin, end in checked(list(zip(location, begins.tolist(), ends.tolist(), strict=False))):
            for target in rates.indices[begin:end].tolist():
                if target >= chain.first_hub:
                    self._hub[own] = target - chain.first_hub
                elif target >= chain.first_location:
                    self._neighbours[own].append(location[target - chain.first_location])
        for one in self.best:
            if self._hub[one] >= 0:
                self._members[self._hub[one]].append(one)

    def joins(self, before: int | None, to: int, near: frozenset[int]) -> bool:
        """Whether a jump leads from one location to another; from the reader's own for None."""
        if before is None:
            return to in near
        return (self._hub[before] == self._hub[to] >= 0) or to in self._neighbours[before]

    def greedy(self, left: np.ndarray, near: frozenset[int]) -> tuple[list[int], list[int]]:
        """The order by probability per step, and the steps of each move."""
        chance, is_left = self._chance, left.tolist()
        order: list[int] = []
        steps: list[int] = []
        next_of = [0] * len(self._members)  # members of each hub before this one are not left
        candidates = [one for one in near if is_left[one]]
        for ranked in checked(self.best):
            while is_left[ranked]:
                jump = max(candidates, key=lambda one: (chance[one], -one), default=ranked)
                jumps = bool(candidates) and chance[jump] * THROUGH_RANKING >= chance[ranked] * JUMP
                chosen = jump if jumps else ranked
                order.append(chosen)
                steps.append(JUMP if jumps else THROUGH_RANKING)
                is_left[chosen] = False
                candidates = [one for one in self._neighbours[chosen] if is_left[one]]
                hub = self._hub[chosen]
                if hub >= 0:
                    members = self._members[hub]
                    while next_of[hub] < len(members) and not is_left[members[next_of[hub]]]:
                        next_of[hub] += 1
                    candidates += members[next_of[hub] : next_of[hub] + 1]
        return order, steps
