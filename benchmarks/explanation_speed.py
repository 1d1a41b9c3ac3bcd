"""How long it takes to say why not a line, and what would tell a tie apart, beside the ranking that is asked about.

The program is that of `cp_speed.py`: functions of nested decisions and loops with their flow graphs. Lines are drawn at
random among those that failing tests execute and those that they do not; ties are the first one and those of the lines.
Each question is asked once, of a ranking by all evidence that is there. Processor time counts.

    python benchmarks/explanation_speed.py [--lines N --tests M] [--questions Q]
    python benchmarks/explanation_speed.py --lines 1000000 --tests 10000 --questions 5
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
from cp_speed import program

from suspectra.distinctions.comparison import SuspectComparison
from suspectra.distinctions.tie import advise
from suspectra.techniques import make_technique

TARGET_MS = 20.0


def milliseconds(work: Callable[[], object]) -> float:
    """What some work takes of the processor."""
    begin = time.process_time()
    work()
    return 1000 * (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--tests", type=int, default=2_000)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    spectrum, structure = program(options.lines, options.tests, options.seed)
    technique = make_technique("evidence")
    begin = time.process_time()
    report = technique.localize(spectrum, structure)
    ranking = 1000 * (time.process_time() - begin)
    chance, counts = np.random.default_rng(options.seed), spectrum.counts
    suspects, others = np.flatnonzero(counts.ef > 0), np.flatnonzero(counts.ef == 0)
    times: dict[str, list[float]] = {"first question": [milliseconds(lambda: advise(report, structure))]}
    for _ in range(options.questions):
        suspect = int(chance.choice(suspects))
        asked: dict[str, Callable[[], object]] = {
            "the first tie": lambda: advise(report, structure),
            "the tie of a line": lambda element=suspect: advise(report, structure, element),  # type: ignore[misc]
            "why not a suspect": lambda element=suspect: SuspectComparison.from_report(report, element, structure),  # type: ignore[misc]
        }
        if len(others):
            other = int(chance.choice(others))
            asked["why not another line"] = lambda element=other: SuspectComparison.from_report(  # type: ignore[misc]
                report, element, structure
            )
        for name, ask in asked.items():
            times.setdefault(name, []).append(milliseconds(ask))
    print(
        f"{len(spectrum.elements):,} lines, {options.tests:,} tests, {sum(map(len, spectrum.rows)):,} executions;"
        f" {counts.failed:,} tests fail, {len(suspects):,} suspects; the ranking took {ranking:.1f} ms"
    )
    found = {}
    for name, taken in times.items():
        median = statistics.median(taken)
        found[name] = {"median_ms": round(median, 2), "most_ms": round(max(taken), 2)}
        print(f"{name:22} {median:8.2f} ms, at most {max(taken):8.2f}; 1/{ranking / median:.0f} of the ranking")
    reached = options.lines > 50_000 or all(one["median_ms"] <= TARGET_MS for one in found.values())
    print(f"below {TARGET_MS:.0f} ms: {'reached' if reached else 'MISSED'}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"ranking_ms": round(ranking, 1), **found, "peak_gb": round(peak, 2), "reached": reached}))


if __name__ == "__main__":
    main()
