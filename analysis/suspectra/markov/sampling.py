"""Estimating expected hitting times by random walks (paper 003, the note under Definition 22).

A walk returns to its start again and again, and each cycle between two returns is independent of the others. With τ the
length of a cycle and T_j the first time at which state j is met in it,

    E[T_j] = E[min(T_j, τ)] / P(T_j < τ),

so each cycle tells something about every state, met or not, and stopping a walk after a fixed number of steps causes
little bias. The confidence interval is that of a ratio of two means over cycles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from suspectra.base.arrays import Floats, Ints
from suspectra.base.cancellation import check
from suspectra.base.errors import Problem, UsageError
from suspectra.markov.chain import Chain
from suspectra.markov.elimination_plan import Progress
from suspectra.markov.hitting_times import ht_rank

# All walks take this many steps before their cycles are counted; it bounds the memory of the log.
CHUNK = 2048


@dataclass(frozen=True, eq=False)
class SampledHittingTimes:
    """Estimated numbers of steps until each location is reached."""

    # the estimate; inf for a location that no walk met, and for one that is not in the report; shape (locations,)
    steps: Floats
    # confidence interval
    low: Floats
    high: Floats
    confidence: float  # confidence level of the interval, 0 to 1
    # total numbers of returns to the start, and of steps
    cycles: int
    walked: int

    @property
    def rank(self) -> Floats:
        """HT_Rank of the estimates. The paper treats ranks within 5 % of each other as equal."""
        with np.errstate(divide="ignore"):
            return ht_rank(np.log(self.steps))


def sample_hitting_times(
    chain: Chain,
    seed: int = 0,
    *,
    walks: int = 500,
    max_steps: int = 1_000_000,
    precision: float | None = 0.02,
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> SampledHittingTimes:
    """Estimate the hitting times of all locations by random walks (paper 003, the note under Definition 22).

    Raises UsageError when the chain is not ergodic, or a number makes no sense.
    """
    if walks < 1 or max_steps < 1 or not 0 < confidence < 1 or (precision is not None and not precision > 0):
        raise UsageError(
            Problem(
                "",
                "",
                f"{walks} walks of {max_steps} steps to {precision} at {confidence} can't be taken",
                "give positive numbers, and a confidence below 1",
            )
        )
    chain.require_ergodic()
    walkers = _Walkers(chain, np.random.default_rng(seed), walks)
    tally = _Tally(chain.first_hub)
    # scipy.stats takes longer to load than all else that a command needs
    quantile = float(special.ndtri((1 + confidence) / 2))
    known = slice(chain.first_location, chain.first_hub)
    taken = 0
    while taken < max_steps:
        check()
        steps = min(CHUNK, max_steps - taken)
        tally.add(*walkers.walk(steps))
        taken += steps
        done = taken / max_steps
        if precision is not None:
            width = tally.relative_width(quantile)[known]
            seen = tally.hits[known] > 0
            reached = float(np.max(width[seen], initial=0.0)) if seen.any() else np.inf
            if seen.all() and reached <= precision:
                done = 1.0
            elif seen.all():
                done = max(done, min(0.99, (precision / reached) ** 2))
        if progress:
            progress(done)
        if done >= 1:
            break
    estimate, low, high = (np.full(chain.locations, np.inf) for _ in range(3))
    estimate[chain.location], low[chain.location], high[chain.location] = (
        values[known] for values in tally.estimate(quantile, confidence)
    )
    return SampledHittingTimes(estimate, low, high, confidence, tally.cycles, taken * walks)


class _Walkers:
    """Parallel random walks, each with the step at which its current cycle began."""

    def __init__(self, chain: Chain, random: np.random.Generator, walks: int):
        self._random, self._chain = random, chain
        rates = chain.rates.copy()
        # jumps to another line of the function, without the share that would lead back to the line itself
        leaving = np.repeat(np.arange(chain.states), np.diff(rates.indptr))
        to_hub = rates.indices >= chain.first_hub
        size = chain.hub_size[rates.indices[to_hub] - chain.first_hub]
        rates.data[to_hub] *= (size - 1) / size
        self._target = rates.indices
        before = np.cumsum(rates.data) - rates.data
        self._base = np.append(before, rates.data.sum())[rates.indptr[:-1]]
        self._upto = before + rates.data
        self._total = np.bincount(leaving, rates.data, chain.states)
        self._end = rates.indptr[1:].astype(np.int64)
        self._begin = rates.indptr[:-1].astype(np.int64)
        self._state = np.zeros(walks, np.int64)
        self._began = np.zeros(walks, np.int64)
        self._time = 0
        self._log: list[Ints] = []

    def walk(self, steps: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Take some steps with all walks.

        Each visit of a location in a cycle that ended, in the order of time.
        """
        log = np.empty((steps, len(self._state)), np.int32)
        for i in range(steps):
            self._step()
            log[i] = self._state
        return self._cut(log)

    def _step(self) -> None:
        draw = self._random.random(len(self._state))
        before = self._state
        moves = draw < self._total[before]
        # a walk whose draw exceeds its row sum takes the self-loop
        at = np.searchsorted(self._upto, self._base[before] + draw, side="right")
        at = np.clip(at, self._begin[before], self._end[before] - 1)
        after = np.where(moves, self._target[at], before)
        via = np.flatnonzero(after >= self._chain.first_hub)
        if len(via):
            after[via] = self._other_member(after[via], before[via])
        self._state = after

    def _other_member(self, hub: Ints, line: Ints) -> Ints:
        """Draw a line of the hub's function, but not the one from which the walk came."""
        begin, size = self._begin[hub], self._chain.hub_size[hub - self._chain.first_hub]
        pick = begin + self._random.integers(0, size - 1)
        # replace the walk's own line by the last one, which is never drawn
        other: Ints = np.where(self._target[pick] == line, self._target[begin + size - 1], self._target[pick])
        return other

    def _cut(self, log: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        self._log.append(log)
        steps, walks = len(log), log.shape[1]
        visits = np.concatenate(self._log)
        first = self._time + steps - len(visits) + 1
        self._time += steps
        row = np.arange(len(visits))[:, None]
        # older steps are counted already, and stay in the log because other walks need them
        fresh = row + first > self._began
        home = (visits == 0) & fresh
        last = len(visits) - 1 - np.argmax(home[::-1], axis=0)
        ended = home.any(axis=0)
        cycle_of_step = np.cumsum(home, axis=0) - home  # a return belongs to the cycle that it ends
        ends_row, ends_walk = np.nonzero(home)
        order = np.lexsort((ends_row, ends_walk))
        ends_row, ends_walk = ends_row[order], ends_walk[order]
        offset = np.concatenate([[0], np.cumsum(home.sum(axis=0))[:-1]])
        opens = np.ones(len(ends_walk), bool)
        opens[1:] = ends_walk[1:] != ends_walk[:-1]
        began = np.empty(len(ends_walk), np.int64)
        began[opens] = self._began[ends_walk[opens]]
        began[~opens] = first + ends_row[:-1][~opens[1:]] if len(ends_walk) > 1 else 0
        length = first + ends_row - began
        complete = (row <= np.where(ended, last, -1)) & fresh
        rows, columns = np.nonzero(complete & (visits >= self._chain.first_location))
        cycle = offset[columns] + cycle_of_step[rows, columns]
        time = rows + first - began[cycle]
        state = visits[rows, columns].astype(np.int64)
        self._began = np.where(ended, first + last, self._began)
        keep = int((self._time - self._began).max()) if walks else 0
        self._log = [visits[len(visits) - keep :]] if keep else []
        return cycle, state, time, length


class _Tally:
    """Sums over cycles, for each state: hits, and the first and second moments that the ratio needs."""

    def __init__(self, states: int):
        self.hits = np.zeros(states)
        self.cycles = 0
        self._length = self._length_squared = 0.0
        self._saved = np.zeros(states)  # Σ over hits of τ - T
        self._saved_squared = np.zeros(states)  # Σ over hits of τ² - T²
        self._time = np.zeros(states)  # Σ over hits of T

    def add(self, cycle: Ints, state: Ints, time: Ints, length: Ints) -> None:
        """Count complete cycles."""
        states = len(self.hits)
        _, first = np.unique(cycle * np.int64(states) + state, return_index=True)
        cycle, state, time = cycle[first], state[first], time[first].astype(float)
        whole = length[cycle].astype(float)
        self.cycles += len(length)
        self._length += float(length.sum())
        self._length_squared += float((length.astype(float) ** 2).sum())
        self.hits += np.bincount(state, minlength=states)
        self._time += np.bincount(state, time, states)
        self._saved += np.bincount(state, whole - time, states)
        self._saved_squared += np.bincount(state, whole**2 - time**2, states)

    def relative_width(self, quantile: float) -> Floats:
        """Half the confidence interval over the estimate."""
        total, squared = self._length - self._saved, self._length_squared - self._saved_squared
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = total / self.hits
            spread = squared - 2 * ratio * self._time + ratio**2 * self.hits
            return quantile * np.sqrt(np.maximum(spread, 0)) / total

    def estimate(self, quantile: float, confidence: float) -> tuple[Floats, Floats, Floats]:
        """Estimates and their confidence intervals."""
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(self.hits > 0, (self._length - self._saved) / self.hits, np.inf)
        width = self.relative_width(quantile)
        # not met in n cycles: the probability per cycle is below 1 - α^(1/n), about -ln(α)/n
        least = self._length / -np.log(1 - confidence)
        met = self.hits > 0
        low = np.where(met, steps * np.maximum(1 - width, 0), least)
        high = np.where(met, steps * (1 + width), np.inf)
        return steps, low, high
