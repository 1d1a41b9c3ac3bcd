"""How long a ranking by all evidence takes after one test ran again, beside Ochiai and CP in the same run.

The program is that of `cp_speed.py`: functions of nested decisions and loops, each entered by some tests. Every change
replaces what one test executed, and whether it failed in half of them; one statement in a hundred changed since the
failing tests passed; each technique ranks every state from its report
of the state before, and its time includes counting what changed. Processor time counts, as others may use the machine.

    python benchmarks/evidence_speed.py [--lines N --tests M] [--changes C]
    python benchmarks/evidence_speed.py --lines 1000000 --tests 10000 --changes 3    # and its memory
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from itertools import compress

import numpy as np
from cp_speed import program, without_counts

from suspectra.base.arrays import Row
from suspectra.program import Program
from suspectra.spectrum import Spectrum
from suspectra.techniques import make_technique

TARGET_MS = 10.0
NAMES = ("ochiai", "evidence", "cp")


def changed(spectrum: Spectrum, since: Row, chance: np.random.Generator) -> Spectrum:
    """A state in which one test ran along the ways of another; not counted yet."""
    test, other = chance.choice(len(spectrum.tests), 2, replace=False).tolist()
    rows, edge_rows = list(spectrum.rows), list(spectrum.require_edges()[1])
    rows[test], edge_rows[test] = rows[other].copy(), edge_rows[other].copy()
    failed = spectrum.failed.copy()
    failed[test] ^= chance.random() < 0.5
    raised = np.where(failed, np.array([row[-1] if len(row) else -1 for row in rows], np.int32), -1)
    return Spectrum(
        spectrum.tests,
        failed,
        spectrum.elements,
        tuple(rows),
        spectrum.candidates,
        spectrum.edges,
        tuple(edge_rows),
        raised=raised,
        changed=dict.fromkeys(compress(spectrum.tests, failed.tolist()), since),
    )


def milliseconds(name: str, states: list[Spectrum], structure: Program) -> tuple[float, float]:
    """Of a change, the median; and of the first ranking, with all its counting."""
    technique = make_technique(name)
    taken, last, report = [], None, None
    for state in states:
        spectrum = without_counts(state) if state.raised is None else _uncounted(state)
        start = time.process_time()
        if last is not None:
            spectrum.follow(last)
        report = technique.localize(spectrum, structure, report)
        report.top(100)
        taken.append(1000 * (time.process_time() - start))
        last = spectrum
    assert report is not None
    fresh = technique.localize(_uncounted(states[-1]), structure)
    assert np.array_equal(report.level, fresh.level)
    return statistics.median(taken[1:]), taken[0]


def _uncounted(state: Spectrum) -> Spectrum:
    return Spectrum(
        state.tests,
        state.failed,
        state.elements,
        state.rows,
        state.candidates,
        state.edges,
        state.edge_rows,
        raised=state.raised,
        changed=state.changed,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--tests", type=int, default=2_000)
    parser.add_argument("--changes", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    spectrum, structure = program(chosen.lines, chosen.tests, chosen.seed)
    chance, states = np.random.default_rng(5), [spectrum]
    since = np.arange(0, len(spectrum.elements), 100, dtype=np.int32)
    for _ in range(chosen.changes):
        states.append(changed(states[-1], since, chance))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found: dict[str, float] = {"lines": len(spectrum.elements), "tests": chosen.tests, "made_gb": before}
    suspected = int(np.count_nonzero(spectrum.counts.ef))
    print(f"{len(spectrum.elements):,} lines, {suspected:,} suspected, {len(spectrum.edges or ()):,} edges")
    for name in NAMES:
        change, first = milliseconds(name, states, structure)
        found |= {f"{name}_change_ms": change, f"{name}_first_ms": first}
        found[f"{name}_peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        ratio = change / found["ochiai_change_ms"]
        print(f"{name:10} {change:8.2f} ms a change ({ratio:.1f} times Ochiai), {first:9.1f} ms from nothing")
    found["evidence_to_ochiai"] = found["evidence_change_ms"] / found["ochiai_change_ms"]
    found["evidence_to_cp"] = found["evidence_change_ms"] / found["cp_change_ms"]
    reached = chosen.lines > 50_000 or found["evidence_change_ms"] <= TARGET_MS
    print(f"at most {TARGET_MS:.0f} ms a change: {'reached' if reached else 'MISSED'}")
    print(json.dumps({key: round(value, 3) for key, value in found.items()} | {"reached": reached}))


if __name__ == "__main__":
    main()
