"""How long failure groups take: all of them from nothing, and after one test changed.

A suite is drawn whose failing tests have a few faults. A twentieth of the functions is a core that tests enter often,
the rest a tail with Zipf-like use, neighbours together. Times are those of this thread on the processor, medians;
beside each stands how much less it is than the same from nothing, in the same run.

    python benchmarks/failure_groups.py                                     # small
    python benchmarks/failure_groups.py --tests 10000 --lines 1000000 --failing 200
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

from suspectra.base.arrays import Row
from suspectra.failure_groups.groups import FailureGroups
from suspectra.failure_groups.ranking import GroupedRanking, rank_groups
from suspectra.spectrum import Elements, Spectrum
from suspectra.techniques import make_technique

STATEMENTS = 9  # of each function


def suite(tests: int, lines: int, failing: int, faults: int, seed: int) -> Spectrum:
    """A suite whose first tests fail, each by entering one of some functions."""
    chance = np.random.default_rng(seed)
    functions = lines // STATEMENTS
    core = functions // 20
    popular = np.cumsum(1 / np.arange(1, functions - core + 1) ** 0.8)
    fault = core + chance.integers(0, functions - core, faults)
    entered = np.linspace(0.35, 0.1, core)
    rows: list[Row] = []
    for test in range(tests):
        first = core + np.searchsorted(popular, popular[-1] * chance.random(int(chance.integers(5, 30))))
        tail = np.minimum((first[:, None] + np.arange(10)).ravel(), functions - 1)
        own = [fault[test % faults]] if test < failing else []
        calls = np.unique(np.concatenate([np.flatnonzero(chance.random(core) < entered), tail, own])).astype(np.int64)
        taken = chance.random((len(calls), STATEMENTS)) < (1, 1, 1, 1, 1, 0.75, 0.75, 0.75, 1)  # arms of a branch
        rows.append((calls[:, None] * STATEMENTS + np.arange(STATEMENTS))[taken].astype(np.int32))
    failed = np.arange(tests) < failing
    line, zeros = np.arange(1, lines + 1, dtype=np.int32), np.zeros(lines, np.int32)
    elements = Elements(("program.py",), zeros, line, line, zeros - 1, ())
    names = tuple(f"test_{i:06}" for i in range(tests))
    return Spectrum(names, failed, elements, tuple(rows), np.ones(lines, bool))


def changed(spectrum: Spectrum, test: int, chance: np.random.Generator) -> Spectrum:
    """One test executes ten other statements and ten less."""
    rows, row = list(spectrum.rows), spectrum.rows[test]
    more = chance.integers(0, len(spectrum.elements), 10)
    less = chance.choice(row, 10)
    rows[test] = np.union1d(np.setdiff1d(row, less), more).astype(np.int32)
    after = spectrum.with_rows(spectrum.tests, spectrum.failed, tuple(rows))
    after.pairs  # noqa: B018 (the ranking over all has them)
    return after


def shown(group: Callable[[], GroupedRanking], most: int | None = None) -> GroupedRanking:
    """With the rankings of the first groups, or of all, made as when they are shown."""
    grouped = group()
    for one in grouped.groups[:most]:
        one.report  # noqa: B018
    return grouped


def milliseconds(work: Callable[[], object]) -> float:
    """What some work takes of the processor."""
    begin = time.thread_time()
    work()
    return 1000 * (time.thread_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=1000)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--failing", type=int, default=40)
    parser.add_argument("--faults", type=int, default=8)
    parser.add_argument("--technique", default="ochiai")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    spectrum = suite(options.tests, options.lines, options.failing, options.faults, 1)
    technique = make_technique(options.technique)
    report = technique.localize(spectrum)
    groups, ranked = FailureGroups.from_spectrum(spectrum), shown(partial(rank_groups, report, technique))
    sizes = [len(one.tests) for one in groups.groups]
    entries = sum(map(len, spectrum.rows))
    print(f"{options.tests} tests, {options.lines} statements, {entries} nonzeros, {options.failing} failing")
    print(f"groups of {sizes} tests")
    times: dict[str, list[float]] = {}
    chance = np.random.default_rng(2)
    for _ in range(options.rounds):
        took = {
            "group": milliseconds(lambda: FailureGroups.from_spectrum(spectrum)),
            "group and rank": milliseconds(partial(shown, partial(rank_groups, report, technique))),
        }
        for kind, test in (
            ("passing", int(chance.integers(options.failing, options.tests))),
            ("failing", int(chance.integers(options.failing))),
        ):
            after = changed(spectrum, test, chance)
            new = technique.localize(after, None, report)
            took[f"group, a {kind} test changed"] = milliseconds(partial(FailureGroups.from_spectrum, after, groups))
            again = partial(rank_groups, new, technique, previous=ranked)
            took[f"group and rank the one shown, a {kind} test changed"] = milliseconds(partial(shown, again, 1))
            took[f"group and rank, a {kind} test changed"] = milliseconds(partial(shown, again))
        for name, value in took.items():
            times.setdefault(name, []).append(value)
    found = {name: round(median(values), 1) for name, values in times.items()}
    for name, value in found.items():
        base = found["group and rank" if "rank" in name else "group"]
        print(f"{name:54} {value:9.1f} ms   {base / value:5.1f} times less than from nothing")
    print(json.dumps({"tests": options.tests, "lines": options.lines, "failing": options.failing, "ms": found}))


if __name__ == "__main__":
    main()
