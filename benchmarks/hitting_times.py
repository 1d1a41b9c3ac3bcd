"""Exact hitting times of every location of a program: how long, how much memory, and how both grow.

python benchmarks/hitting_times.py --locations 50000 --groups 1000 --seed 0
python benchmarks/hitting_times.py --growth

Prints figures for people and, last, one line of JSON. The baseline is the published method, one matrix inverted for
each state; it runs on the same chain where that is small enough, and on a small one of the same kind in any case.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from suspectra.base.arrays import Floats, Ints
from suspectra.markov.chain import Chain, ranked_list
from suspectra.markov.hitting_times import HittingTimeSolver, hitting_times
from suspectra.markov.jumps import JumpModel
from suspectra.markov.structure import Structure

DENSE_LOCATIONS = 200
MAX_DENSE = 600
GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000)


def random_program(locations: int, groups: int, seed: int) -> tuple[np.ndarray, Structure]:
    """Functions of some ten lines whose scores lie near each other, run line by line, with calls among them."""
    rng = np.random.default_rng(seed)
    sizes = np.clip(rng.lognormal(2.3, 0.8, locations // 2 + 1), 2, 200).astype(np.int64)
    function = np.repeat(np.arange(len(sizes)), sizes)[:locations]
    functions = int(function[-1]) + 1
    score = rng.integers(0, groups, functions)[function] + rng.integers(-3, 4, locations)
    group = np.clip(score, 0, groups - 1)
    first = np.searchsorted(function, np.arange(functions))
    inside = np.flatnonzero(function[1:] == function[:-1])
    caller = rng.integers(0, locations, locations // 20)
    callee = first[rng.integers(0, functions, len(caller))]
    flow = np.stack([inside, inside + 1], axis=1)
    return group, Structure(function, flow, np.stack([caller, callee], axis=1))


def published_method(chain: Chain) -> np.ndarray:
    """Expected steps to each location, each from its own inverse (Grinstead & Snell, chapter 11)."""
    n = chain.first_hub
    matrix = np.zeros((n, n))
    for state in range(n):
        targets, probability = chain.row(state)
        matrix[state, targets] = probability
    steps = np.empty(len(chain.location))
    for k in range(len(steps)):
        keep = np.delete(np.arange(n), chain.first_location + k)
        fundamental = np.linalg.inv(np.eye(n - 1) - matrix[np.ix_(keep, keep)])
        steps[k] = fundamental[0].sum()
    return steps


def seconds(job: Callable[[], object], repeat: int = 1) -> float:
    """Median wall time."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_mb() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1024 * 1024 if sys.platform == "darwin" else 1024)


def against_published(chain: Chain) -> dict[str, float]:
    started = time.perf_counter()
    dense = published_method(chain)
    dense_seconds = time.perf_counter() - started
    own_seconds = seconds(lambda: hitting_times(chain), 5)
    error = float(np.abs(hitting_times(chain).steps / dense - 1).max())
    return {
        "locations": len(chain.location),
        "seconds": round(own_seconds, 5),
        "dense_seconds": round(dense_seconds, 3),
        "ratio": round(dense_seconds / own_seconds),
        "largest_difference": error,
    }


def one(locations: int, groups: int, seed: int) -> dict[str, object]:
    group, structure = random_program(locations, groups, seed)
    repeat = 5 if locations <= 60_000 else 1
    chain: Chain
    solver: HittingTimeSolver

    def from_nothing() -> None:
        nonlocal chain, solver
        chain = ranked_list(group, structure)
        solver = HittingTimeSolver(chain)
        solver.from_start().rank  # noqa: B018

    busy = time.process_time()
    total = seconds(from_nothing, repeat)
    busy = (time.process_time() - busy) / repeat
    peak = peak_mb()
    cursor = seconds(lambda: solver.from_location(locations // 3).rank, 7)
    moved = group.copy()
    moved[locations // 2] = group[0]
    after = ranked_list(moved, structure)
    change = seconds(lambda: HittingTimeSolver(after, previous=solver).from_start().rank, 3)
    times = solver.from_start()
    print(f"{locations:,} locations in {chain.groups:,} groups, {len(chain.hub_size):,} functions, seed {seed}")
    print(f"  chain, exact hitting times of all locations and HT_Rank   {total:9.3f} s   {peak:,} MB at most")
    print(f"  processor time of that, over all cores                    {busy:9.3f} s")
    print(f"  ranked anew from another cursor position                  {cursor * 1000:9.1f} ms")
    print(f"  ranked anew after one location changed its rank           {change:9.3f} s   {total / change:.1f}x faster")
    result: dict[str, object] = {
        "locations": locations,
        "groups": chain.groups,
        "seconds": round(total, 4),
        "cpu_seconds": round(busy, 4),
        "peak_mb": peak,
        "dense_seconds": None,
        "cursor_ms": round(cursor * 1000, 2),
        "one_rank_changed_seconds": round(change, 4),
        "expected_steps": [float(times.steps.min()), float(times.steps.max())],
    }
    if locations <= 200_000:
        bolder = ranked_list(group, structure, JumpModel(0.6))
        again = seconds(lambda: HittingTimeSolver(bolder, previous=solver).from_start().rank, min(repeat, 3))
        anew = seconds(lambda: HittingTimeSolver(bolder).from_start().rank, min(repeat, 3))
        print(
            f"  another p_jump, the order of elimination kept             {again:9.3f} s   {anew / again:.1f}x faster"
        )
        result["other_p_jump_seconds"] = round(again, 4)
    if locations <= MAX_DENSE:
        same = against_published(chain)
        result["dense_seconds"] = same["dense_seconds"]
        print(f"  published method, same chain: {same['dense_seconds']} s, {same['ratio']:,} times as long")
    small = against_published(ranked_list(*random_program(DENSE_LOCATIONS, 20, seed)))
    print(
        f"  published method at {DENSE_LOCATIONS} locations: {small['dense_seconds']} s for {small['seconds']} s here,"
        f" {small['ratio']:,} times as long; largest relative difference {small['largest_difference']:.1e}"
    )
    result["baseline"] = small
    return result


def from_start(group: Ints, structure: Structure) -> HittingTimeSolver:
    """Ranks from the start, solved from nothing."""
    solver = HittingTimeSolver(ranked_list(group, structure))
    solver.from_start().rank  # noqa: B018
    return solver


def from_location(solver: HittingTimeSolver, location: int) -> Floats:
    """Ranks from a location of a chain that is solved."""
    return solver.from_location(location).rank


def growth(seed: int, largest: int) -> dict[str, object]:
    rows = []
    print("  locations   groups    seconds   cursor ms")
    for locations in (n for n in GROWTH if n <= largest):
        groups = round(4.5 * locations**0.5)
        group, structure = random_program(locations, groups, seed)
        total = seconds(partial(from_start, group, structure), 3 if locations <= 100_000 else 1)
        solver = from_start(group, structure)
        cursor = seconds(partial(from_location, solver, 1), 3)
        rows.append({"locations": locations, "groups": groups, "seconds": round(total, 4), "cursor_ms": cursor * 1e3})
        print(f"{locations:11,} {groups:8,} {total:10.3f} {cursor * 1000:11.1f}", flush=True)
    x, y = (np.log([row[name] for row in rows]) for name in ("locations", "seconds"))
    exponent = float(np.polyfit(x, y, 1)[0])
    print(f"  seconds grow like locations to the power of {exponent:.2f}; {peak_mb():,} MB at most")
    return {"growth": rows, "exponent": round(exponent, 3), "peak_mb": peak_mb()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locations", type=int, default=50_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--growth", action="store_true", help="a table over 10,000 to 1,000,000 locations instead")
    parser.add_argument("--largest", type=int, default=GROWTH[-1], help="the largest program of the table")
    given = parser.parse_args()
    if given.locations < 1 or given.groups < 1:
        parser.error("give at least one location and one group")
    result = growth(given.seed, given.largest) if given.growth else one(given.locations, given.groups, given.seed)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
