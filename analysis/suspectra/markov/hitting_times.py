"""Expected hitting times, exact for every state at once, and HT_Rank (paper 003, Definitions 22 and 25).

Let M be the inverse of the chain's generator without its root, state 0 (see :mod:`suspectra.markov.elimination`),
w the visits to each state for one visit of the root, t the sum of w over the states that take time, and x = M·c the
expected time to the root, where c is 1 for a state that takes time and 0 for a hub. Then

    E_0[T_j] = t·M_jj / w_j - x_j                     (commute time less the time back)
    E_i[T_j] = t·(M_jj - M_ij) / w_j + x_i - x_j      (Aldous & Fill, Reversible Markov Chains, Lemma 2.12)

so one elimination, two solves and the diagonal of M give the hitting time of every state, and another start costs one
more solve. The visits w to the far end of a long list are smaller than any float64; they are then found in a
scaled chain, and the times are kept as logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csgraph

from suspectra.markov.chain import Chain
from suspectra.markov.elimination import Factors, Plan, Progress

# Two hitting times that agree to this relative difference are equal: symmetric locations differ in the last bits.
SAME = 1e-10
# Powers of two between which a number can still be squared or summed without leaving float64.
FLOOR, CEILING = -660, 900


@dataclass(frozen=True, eq=False)
class HittingTimes:
    """Expected numbers of steps until each location is reached.

    Parameters
    ----------
    steps : ndarray of float64, shape (locations,)
        Infinite for a location that the report leaves out, and where the number is beyond float64.
    log_steps : ndarray of float64, shape (locations,)
        Natural logarithms of the same numbers; -inf for the location the reader stands on, inf for one that the
        report leaves out, finite for all others. Compare these.
    """

    steps: np.ndarray
    log_steps: np.ndarray

    @property
    def rank(self) -> np.ndarray:
        """HT_Rank of every location, shape (locations,)."""
        return ht_rank(self.log_steps)


def ht_rank(log_steps: np.ndarray) -> np.ndarray:
    """#(locations hit sooner) + #(hit equally soon)/2 (Definition 25).

    Parameters
    ----------
    log_steps : ndarray of float64, shape (locations,)
        Logarithms of expected hitting times; times that agree to a relative 1e-10 are equal.

    Examples
    --------
    >>> ht_rank(np.log([3.0, 8.0, 3.0, np.inf])).tolist()
    [1.0, 2.5, 1.0, 3.5]
    """
    values = np.asarray(log_steps, float)
    if not len(values):
        return np.zeros(0)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    opens = np.ones(len(values), bool)
    before, after = ordered[:-1], ordered[1:]
    opens[1:] = ~(before == after)
    finite = np.isfinite(before) & np.isfinite(after)
    opens[1:][finite] = after[finite] - before[finite] > SAME
    first = np.flatnonzero(opens)
    size = np.diff(np.append(first, len(values)))
    rank = np.empty(len(values))
    rank[order] = np.repeat(first + size / 2, size)
    return rank


class HittingTimeSolver:
    """The eliminated chain, ready to answer from any start.

    Parameters
    ----------
    chain : Chain
    like : HittingTimeSolver, optional
        A solver of the chain before a change. Where the same pairs of states are joined as before, its order of
        elimination is used again.
    progress : callable, optional
        Called with the finished fraction, 0 to 1; it may raise to cancel.

    Raises
    ------
    UsageError
        When the chain is not ergodic, or too interwoven to be eliminated in memory.

    Examples
    --------
    >>> from suspectra.markov.chain import ranked_list
    >>> solver = HittingTimeSolver(ranked_list([0, 1, 1]))
    >>> solver.from_start().steps.round(3).tolist(), solver.from_start().rank.tolist()
    ([3.75, 16.5, 16.5], [0.5, 2.0, 2.0])
    """

    def __init__(self, chain: Chain, like: HittingTimeSolver | None = None, progress: Progress | None = None):
        chain.require_ergodic()
        self.chain = chain
        progress = progress or (lambda fraction: None)
        if like is not None and like.plan.same_pattern(chain.rates):
            self.plan = like.plan
        else:
            self.plan = Plan(chain.rates, progress)
        forward, backward = self.plan.split(chain.rates)
        factors = Factors(self.plan, forward, backward, progress=progress)
        self._factors = factors
        self._back = factors.solve(chain.takes_time)  # x of the module's formulas
        self._diagonal = factors.diagonal
        progress(0.9)
        self._log_visits = self._visits(forward, backward)
        own = self._log_visits[: chain.first_hub]
        self._log_total = _log_sum(own)
        progress(1.0)

    def from_start(self) -> HittingTimes:
        """Expected steps from the best group."""
        return self._of_locations(*self._from(0))

    def from_state(self, state: int) -> HittingTimes:
        """Expected steps from any state of the paper's chain."""
        if not 0 <= state < self.chain.first_hub:
            raise IndexError(f"no state {state} in a chain of {self.chain.first_hub}")
        return self._of_locations(*self._from(state))

    def from_location(self, location: int) -> HittingTimes:
        """Expected steps from a location, counted from 0.

        Raises
        ------
        KeyError
            When the report leaves the location out.
        """
        state = int(self.chain.state_of_location[location])
        if state < 0:
            raise KeyError(f"location {location} is in no group of the report")
        return self.from_state(state)

    def _from(self, start: int) -> tuple[np.ndarray, np.ndarray]:
        """Steps and their logarithms to every state, hubs aside."""
        real = slice(0, self.chain.first_hub)
        missing = self._diagonal[real].copy()
        ahead = -self._back[real]
        if start:
            here = np.zeros(self.chain.states)
            here[start] = 1
            missing -= self._factors.solve_left(here)[real]
            ahead = ahead + self._back[start]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_commute = np.log(np.maximum(missing, 0)) + (self._log_total - self._log_visits[real])
            commute = np.exp(log_commute)
            steps = np.maximum(commute + ahead, 0.0)
            log_steps = np.where(np.isfinite(commute), np.log(steps), log_commute)
        steps[start], log_steps[start] = 0.0, -np.inf
        return steps, log_steps

    def _of_locations(self, steps: np.ndarray, log_steps: np.ndarray) -> HittingTimes:
        chain = self.chain
        known = slice(chain.first_location, chain.first_hub)
        result = np.full((2, chain.locations), np.inf)
        result[0, chain.location] = steps[known]
        result[1, chain.location] = log_steps[known]
        return HittingTimes(result[0], result[1])

    def _visits(self, forward: np.ndarray, backward: np.ndarray) -> np.ndarray:
        """Natural logarithms of the visits to each state for one of the root.

        Where float64 underflows, state i is measured in units of 2**unit[i], which scales the rate from i to j by
        2**(unit[i] - unit[j]) and leaves the pivots as they are. Units follow the likeliest path from the root at
        first; should the number of paths make that overflow, they follow what is already known, step by step.
        """
        visits = self._factors.stationary()
        unit = np.zeros(len(visits), np.int64)
        low, high = self.plan.ends
        guess = None
        while not _in_range(visits):
            known = visits > 2.0**FLOOR
            exponent = np.frexp(visits)[1]
            careful = unit + np.where(known, exponent, FLOOR)
            if guess is None:
                guess = np.where(known, careful, np.minimum(careful, self._likeliest_path() - FLOOR // 2))
                trial = guess
            else:
                trial = careful
            shift = trial[low] - trial[high]
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                scaled = Factors(
                    self.plan, np.ldexp(forward, shift), np.ldexp(backward, -shift), self._factors.pivots
                ).stationary()
            if trial is guess and not (np.isfinite(scaled).all() and scaled.max() < 2.0**CEILING):
                continue
            visits, unit = scaled, trial
        return np.log(visits) + unit * np.log(2)

    def _likeliest_path(self) -> np.ndarray:
        """Binary logarithms, rounded, of the largest product of rates on a way from the root to each state."""
        cost = self.chain.rates.copy()
        # a cost of nothing would be taken for no edge
        cost.data = np.maximum(-np.log2(cost.data), 1e-9)
        distance = csgraph.dijkstra(cost, directed=True, indices=0)
        return -np.floor(distance).astype(np.int64)


def hitting_times(chain: Chain, progress: Progress | None = None) -> HittingTimes:
    """Exact expected hitting times of every location from the start of a chain.

    Parameters
    ----------
    chain : Chain
    progress : callable, optional
        Called with the finished fraction; it may raise to cancel.

    Raises
    ------
    UsageError
        When the chain is not ergodic.

    Notes
    -----
    A ranked list that nobody jumps off is solved in closed form, however long it is.

    Examples
    --------
    >>> from suspectra.markov.chain import ranked_list
    >>> hitting_times(ranked_list(range(10_000))).rank[[0, 1, -1]].tolist()
    [0.5, 1.5, 9999.5]
    """
    if chain.is_ranked_list:
        return _of_ranked_list(chain.group_of_location)
    return HittingTimeSolver(chain, progress=progress).from_start()


def _of_ranked_list(group: np.ndarray) -> HittingTimes:
    """The hitting times of Definition 28's chain, a birth-death chain of groups, in logarithms.

    With L locations, u = (L-1)/2L up and d = 1/2L down, the next group takes t_i = (3/2 + u·t_{i-1})/d steps from
    group i, the previous one s_i = (3/2 + d·s_{i+1})/u, and a location of a group of m takes, from that group,
    2m·(3/2 + u·t_{i-1} + d·s_{i+1}) - 1.
    """
    count, size = len(group), np.bincount(group)
    groups = len(size)
    up, down = (count - 1) / (2 * count), 1 / (2 * count)
    log_next = _log_geometric(count, groups)  # log t_i
    log_reach = np.concatenate([[-np.inf], np.logaddexp.accumulate(log_next[: groups - 1])])
    back = np.zeros(groups + 1)  # s_i; nothing comes back from below the last group
    for i in range(groups - 1, 0, -1):
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


def _log_geometric(count: int, terms: int) -> np.ndarray:
    """log(3L·(1 + r + … + r^i)) for r = L-1 and i = 0 … terms-1."""
    i = np.arange(1, terms + 1)
    r = count - 1
    if r <= 1:
        return np.log(3 * count) + np.log(i if r else np.ones(terms))
    return np.log(3 * count) + i * np.log(r) + np.log1p(-np.exp(-i * np.log(r))) - np.log(r - 1)


def _in_range(values: np.ndarray) -> bool:
    return bool(values.min() > 2.0**FLOOR and values.max() < 2.0**CEILING)


def _log_sum(values: np.ndarray) -> float:
    largest = values.max()
    return float(largest + np.log(np.exp(values - largest).sum()))
