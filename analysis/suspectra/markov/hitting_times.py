"""Exact expected hitting times of all states, and HT_Rank (paper 003, Definitions 22 and 25).

Let M be the inverse of the chain's generator without its root, state 0 (see :mod:`suspectra.markov.elimination`),
w the visits to each state per visit of the root, t the sum of w over the states that take time, and x = M·c the
expected time to the root, where c is 1 for a state that takes time and 0 for a hub. Then

    E_0[T_j] = t·M_jj / w_j - x_j                     (commute time less the time back)
    E_i[T_j] = t·(M_jj - M_ij) / w_j + x_i - x_j      (Aldous & Fill, Reversible Markov Chains, Lemma 2.12)

so one elimination, two solves and the diagonal of M give the hitting time of every state, and each further start takes
one more solve. For a long list, the visits w at its end are smaller than any float64. They are then computed in a
scaled chain, and times are stored as logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suspectra.base.arrays import Floats, Ints
from suspectra.base.cancellation import check, checked
from suspectra.markov.chain import Chain
from suspectra.markov.elimination import CorrectedFactors, Factors
from suspectra.markov.elimination_plan import EliminationPlan, Progress

# Hitting times with a smaller relative difference are equal: those of symmetric locations may differ in the last bits.
SAME = 1e-10
# The exponent of two below which visits are measured in smaller units. It leaves two thirds of float64's range, so that
# products of two such factors keep all digits.
FLOOR = -660
# Up to this many changed rows, two solves per row cost less than a new elimination (benchmarks/hitting_times.py).
MAX_CORRECTED = 24


@dataclass(frozen=True, eq=False)
class HittingTimes:
    """Expected numbers of steps until each location is reached (paper 003, Definition 22)."""

    # infinite for a location that is not in the report, and where the number exceeds float64; shape (locations,)
    steps: Floats
    # natural logarithms of the same numbers; -inf for the location of the reader, inf for one that is not in the
    # report, finite for all others. Use these for comparisons; shape (locations,)
    log_steps: Floats

    @property
    def rank(self) -> Floats:
        """HT_Rank of every location, shape (locations,)."""
        return ht_rank(self.log_steps)


def ht_rank(log_steps: Floats) -> Floats:
    """Compute HT_Rank: #(locations hit sooner) + #(hit equally soon)/2 (paper 003, Definition 25).

    Of shape (locations,).
    """
    values = np.asarray(log_steps, float)
    if not len(values):
        return np.zeros(0)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    opens = np.ones(len(values), bool)
    lower, higher = ordered[:-1], ordered[1:]
    opens[1:] = ~(lower == higher)
    finite = np.isfinite(lower) & np.isfinite(higher)
    opens[1:][finite] = higher[finite] - lower[finite] > SAME
    first = np.flatnonzero(opens)
    size = np.diff(np.append(first, len(values)))
    rank = np.empty(len(values))
    rank[order] = np.repeat(first + size / 2, size)
    return rank


class HittingTimeSolver:
    """The hitting times of a chain from any start, after one elimination (paper 003, Definition 22).

    Raises UsageError when the chain is not ergodic, or its elimination would not fit in memory.
    """

    _plan: EliminationPlan
    _eliminated: Factors
    _factors: Factors | CorrectedFactors
    _back: Floats  # x of the module's formulas
    _diagonal: Floats
    _log_visits: Floats

    def __init__(self, chain: Chain, previous: HittingTimeSolver | None = None, progress: Progress | None = None):
        chain.require_ergodic()
        self.chain = chain  # any ergodic chain
        progress = progress or (lambda fraction: None)
        if previous is None or not self._correct(previous):
            self._eliminate(previous, progress)
        self._log_total = _log_sum(self._log_visits[: chain.first_hub])
        progress(1.0)

    def _eliminate(self, previous: HittingTimeSolver | None, progress: Progress) -> None:
        rates = self.chain.rates
        self._plan = (
            previous._plan
            if previous is not None and previous._plan.same_pattern(rates)
            else EliminationPlan(rates, progress)
        )
        forward, backward = self._plan.split(rates)
        self._factors = self._eliminated = Factors(self._plan, forward, backward, progress=progress)
        self._eliminated_rates = rates
        self._back = self._factors.solve(self.chain.takes_time)
        self._diagonal = self._factors.diagonal
        progress(0.9)
        self._log_visits = self._visits(forward, backward)

    def _correct(self, previous: HittingTimeSolver) -> bool:
        """Correct the elimination of `previous` for a few changed rows; return whether that was possible."""
        before, after = previous._eliminated_rates, self.chain.rates
        if before.shape != after.shape or previous.chain.first_hub != self.chain.first_hub:
            return False
        rows = np.flatnonzero(np.diff((after - before).tocsr().indptr))
        rows = rows[rows > 0]  # the inverse does not contain the root's row
        if not 0 < len(rows) <= MAX_CORRECTED:
            return False
        factors = CorrectedFactors(previous._eliminated, before, after, rows)
        visits = factors.stationary()
        if visits.min() <= 2.0**FLOOR:
            return False
        self._plan, self._eliminated, self._eliminated_rates = previous._plan, previous._eliminated, before
        self._factors = factors
        self._back = factors.solve(self.chain.takes_time)
        self._diagonal = factors.diagonal
        self._log_visits = np.log(visits)
        return factors.reliable

    def from_start(self) -> HittingTimes:
        """Return the expected steps from the best group."""
        return self.from_state(0)

    def from_state(self, state: int) -> HittingTimes:
        """Return the expected steps from a state of the paper's chain.

        Raises IndexError when there is no such state, or it is a hub.
        """
        if not 0 <= state < self.chain.first_hub:
            raise IndexError(f"no state {state} in a chain of {self.chain.first_hub}")
        current = np.zeros(self.chain.first_hub)
        current[state] = 1
        return self.from_distribution(current)

    def from_location(self, location: int) -> HittingTimes:
        """Return the expected steps from a location.

        Raises KeyError when the location is not in the report.
        """
        state = int(self.chain.state_of_location[location])
        if state < 0:
            raise KeyError(f"location {location} is in no group of the report")
        return self.from_state(state)

    def from_distribution(self, probability: Floats) -> HittingTimes:
        """Return the expected steps from a distribution over states."""
        real = slice(0, self.chain.first_hub)
        missing = self._diagonal[real].copy()
        ahead = probability @ self._back[real] - self._back[real]
        if probability[0] < 1:
            left = np.zeros(self.chain.states)
            left[real] = probability
            missing -= self._factors.solve_left(left)[real]
        with np.errstate(divide="ignore", over="ignore"):
            log_commute = np.log(np.maximum(missing, 0)) + (self._log_total - self._log_visits[real])
            commute = np.exp(log_commute)
            steps = np.maximum(commute + ahead, 0.0)
            log_steps = np.where(np.isfinite(commute), np.log(steps), log_commute)
        certain = probability == 1
        steps[certain], log_steps[certain] = 0.0, -np.inf
        return self._for_locations(steps, log_steps)

    def _for_locations(self, steps: Floats, log_steps: Floats) -> HittingTimes:
        chain = self.chain
        known = slice(chain.first_location, chain.first_hub)
        result = np.full((2, chain.locations), np.inf)
        result[0, chain.location] = steps[known]
        result[1, chain.location] = log_steps[known]
        return HittingTimes(result[0], result[1])

    def _visits(self, forward: Floats, backward: Floats) -> Floats:
        """Natural logarithms of the visits to each state per visit of the root.

        Where float64 underflows, state i is measured in units of 2**unit[i]: that scales the rate from i to j by
        2**(unit[i] - unit[j]) and does not change the pivots. A state whose visits are known gets a unit that fits
        them, the others the smallest unit above underflow, so each pass gets further. Nothing overflows, since no unit
        is smaller than what it measures. A chain that needs many passes has no shortcuts, so a pass is cheap.
        """
        visits = self._eliminated.stationary()
        unit = np.zeros(len(visits), np.int64)
        low, high = self._plan.ends
        while visits.min() <= 2.0**FLOOR:
            check()
            unit += np.where(visits > 2.0**FLOOR, np.frexp(visits)[1], FLOOR)
            shift = unit[low] - unit[high]
            with np.errstate(over="ignore", under="ignore"):
                rates = np.ldexp(forward, shift), np.ldexp(backward, -shift)
            visits = Factors(self._plan, *rates, self._eliminated.pivots).stationary()
        log_visits: Floats = np.log(visits) + unit * np.log(2)
        return log_visits


def hitting_times(chain: Chain, progress: Progress | None = None) -> HittingTimes:
    """Compute the exact expected hitting times of all locations from the start of a chain (paper 003, Definition 22).

    A ranked list without jumps has a closed form, so it may be of any length.

    Raises UsageError when the chain is not ergodic.
    """
    if chain.is_ranked_list:
        return _for_ranked_list(chain.group_of_location)
    return HittingTimeSolver(chain, progress=progress).from_start()


def _for_ranked_list(group: Ints) -> HittingTimes:
    """The hitting times of the chain of Definition 28, a birth-death chain of groups, in logarithms.

    With L locations, u = (L-1)/2L up and d = 1/2L down, the next group takes t_i = (3/2 + u·t_{i-1})/d steps from
    group i, the previous one s_i = (3/2 + d·s_{i+1})/u, and a location of a group of m takes, from that group,
    2m·(3/2 + u·t_{i-1} + d·s_{i+1}) - 1.
    """
    count, size = len(group), np.bincount(group)
    groups = len(size)
    up, down = (count - 1) / (2 * count), 1 / (2 * count)
    log_next = _log_geometric(count, groups)  # log t_i
    log_reach = np.concatenate([[-np.inf], np.logaddexp.accumulate(log_next[: groups - 1])])
    back = np.zeros(groups + 1)  # s_i; 0 past the last group
    for i in checked(range(groups - 1, 0, -1)):
        back[i] = (1.5 + down * back[i + 1]) / up
    near = 1.5 + down * back[1:]
    log_climb = np.full(groups, -np.inf)
    if groups > 1:
        log_climb[1:] = np.log(up) + log_next[:-1]
    log_within = np.log(2 * size) + np.logaddexp(np.log(near), log_climb)
    log_within += np.log1p(-np.exp(-log_within))
    log_steps = np.logaddexp(log_reach, log_within)[group]
    with np.errstate(over="ignore"):
        return HittingTimes(np.exp(log_steps), log_steps)


def _log_geometric(count: int, terms: int) -> Floats:
    """log(3L·(1 + r + … + r^i)) for r = L-1 and i = 0 … terms-1."""
    i = np.arange(1, terms + 1)
    r = count - 1
    log_sums: Floats
    if r <= 1:
        log_sums = np.log(3 * count) + np.log(i if r else np.ones(terms))
    else:
        log_sums = np.log(3 * count) + i * np.log(r) + np.log1p(-np.exp(-i * np.log(r))) - np.log(r - 1)
    return log_sums


def _log_sum(values: Floats) -> float:
    largest = values.max()
    return float(largest + np.log(np.exp(values - largest).sum()))
