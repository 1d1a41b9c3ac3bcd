"""What techniques cost by the units that `suspectra/techniques/effort.py` is asked in, beside what they estimate.

NN/Perm, SBBFL and SOBER refuse a recording beforehand if they would take too long. What they expect is a constant for
each unit of work (a block of a distance, an edge that a test took, ...). Here each unit is timed alone, in seconds of
processor time on this machine, and then the whole technique beside its own estimate. Constants were rounded up, so
that an estimate is rather too high than too low; the processors of a busy machine take up to twice as long.

    python benchmarks/effort.py
    python benchmarks/effort.py --tests 1000 --lines 100000
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from large_recording import LINES, Project
from scipy import sparse

from suspectra.evidence.recording import RecordingSource
from suspectra.program.control_flow import control_flow
from suspectra.techniques.control_flow import nearest_neighbour, predicates, sbbfl, sober
from suspectra.techniques.control_flow.flow_report import hits_of_edges

ROUNDS = 3


def seconds(work: Callable[[], object]) -> float:
    """Processor time of this thread, the median of some rounds."""
    found = []
    for _ in range(ROUNDS):
        started = time.thread_time()
        work()
        found.append(time.thread_time() - started)
    return sorted(found)[ROUNDS // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", type=int, default=400)
    parser.add_argument("--lines", type=int, default=40_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        Project(Path(scratch), options.tests, options.lines // LINES, failing=0.02, counts=True).make()
        evidence = RecordingSource(Path(scratch), edges=True).read()
        counted, program = evidence.spectrum(), evidence.program
        spectrum, flow = control_flow("the benchmark", counted, program)  # what all of them share, and nobody estimates
        hits = hits_of_edges(counted)
        profiles = nearest_neighbour.block_counts(flow, spectrum)
        executed, every = sparse.csr_array(profiles.astype(bool).astype(np.int32)), np.arange(1, len(counted.tests))
        first, other = (nearest_neighbour._order(profiles, run) for run in (0, 1))
        found = predicates.Predicates.from_flow(flow, spectrum)
        table = sbbfl._used(flow, spectrum)[1]
        groups = np.arange(len(table._columns)), np.arange(len(table._columns) + 1)
        bits = len(table._columns) * len(counted.tests)
        kept = profiles.data.nbytes + profiles.indices.nbytes
        bias = sober.Sober()
        units = {
            "nn-perm, block": seconds(lambda: nearest_neighbour.moved_blocks(first, other)) / flow.blocks,
            "nn-perm, edge of a test": seconds(lambda: nearest_neighbour.block_counts(flow, spectrum)) / hits,
            "nn-perm, the same again": seconds(lambda: executed[every] @ executed[[0]].T) / hits,
            "sbbfl, test and edge": seconds(lambda: table.count_groups(*groups)) / bits,
            "sbbfl, edge of a test": seconds(lambda: sbbfl._used(flow, spectrum)) / hits,
            "sober, edge of a test": seconds(lambda: bias.score(found.biases(spectrum), len(found.column))) / hits,
        }
        expected = {
            "nn-perm, block": nearest_neighbour._BLOCK_SECONDS,
            "nn-perm, edge of a test": nearest_neighbour._PROFILE_SECONDS,
            "nn-perm, the same again": nearest_neighbour._HIT_SECONDS,
            "sbbfl, test and edge": sbbfl._BIT_SECONDS,
            "sbbfl, edge of a test": sbbfl._HIT_SECONDS,
            "sober, edge of a test": sober._HIT_SECONDS,
        }
        print(f"{len(counted.tests):,} tests x {len(counted.elements):,} statements, {hits:,.0f} edges of tests")
        print(f"{'unit':28}{'measured':>12}{'constant':>12}{'ratio':>8}")
        for unit, cost in units.items():
            print(f"{unit:28}{cost:>10.2e} s{expected[unit]:>10.2e} s{expected[unit] / cost:>8.1f}")
        print(f"nn-perm keeps {2 * kept / hits:.0f} bytes for each edge of a test, at most", end=" ")
        print(f"{nearest_neighbour._HIT_BYTES:.0f} expected")
        whole = {}
        for technique in (nearest_neighbour.NearestNeighbour(), sbbfl.SBBFL(), sober.Sober()):
            name = technique.name
            estimate = technique.effort(counted)
            took = float("nan")
            if estimate.bearable:
                took = seconds(partial(technique.localize, counted, program))
            whole[name] = {"estimated": round(estimate.seconds, 2), "took": round(took, 2)}
            print(f"{name:28}{took:>10.2f} s{estimate.seconds:>10.2f} s estimated")
    print(json.dumps({"units": units, "constants": expected, "techniques": whole}))


if __name__ == "__main__":
    main()
