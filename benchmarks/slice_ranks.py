"""Does the slice help? Ranks of known faults by Ochiai, `evidence`, `slice`, and `evidence` with the slice as a key.

    python benchmarks/slice_ranks.py                     # benchmarks/faulty_programs

Of each program the tests are recorded, and all failing tests traced by `suspectra slice --failure`. The slice as a key
is the number of slices that contain the statement; it is compared after the first to the fifth key of `evidence`. The
rank is that of the best faulty statement; of a tie, its middle.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import mean

import numpy as np
from faulty_subjects import FAULTS, subjects
from state_based import TOP, Measured, environment_of

from suspectra.evaluation.appraisal import Appraisal
from suspectra.evaluation.faults import FaultList
from suspectra.evidence.discovery import find_source
from suspectra.evidence.evidence import Evidence
from suspectra.evidence.logs.failure_slices import SLICES
from suspectra.localizer import Localizer
from suspectra.techniques import make_technique
from suspectra.techniques.all_evidence import EvidenceReport
from suspectra.techniques.experiments.slicing import distances

TECHNIQUES = ("ochiai", "evidence", "slice")
KEYS = 5


def ranks(evidence: Evidence, workspace: Path) -> dict[str, float]:
    """The rank of the fault by each technique, and by `evidence` with one more key."""
    found: dict[str, float] = {}
    for name in TECHNIQUES:
        report = Localizer(make_technique(name)).update(evidence)
        faults, _ = FaultList.read(workspace / FAULTS).elements(report.spectrum.elements)
        found[name] = Appraisal.from_report(report, faults).faults[0].rank_average
        if isinstance(report, EvidenceReport):
            at = [int(element) for fault in faults for element in np.atleast_1d(fault)]
            found |= {
                f"evidence, key {after + 1}": with_key(report, evidence, at, after) for after in range(1, KEYS + 1)
            }
    return found


def with_key(report: EvidenceReport, evidence: Evidence, faulty: list[int], after: int) -> float:
    """The rank with the number of slices as one more key, after some of the others."""
    spectrum, keys, level = report.spectrum, report.keys, report.level
    distance = distances(evidence.slices, spectrum)
    key = {}
    for element in np.flatnonzero(spectrum.candidates).tolist():
        own = keys[level[element]].tolist() if 0 <= level[element] < len(keys) else [-1] * KEYS
        key[element] = [*own[:after], len(distance.get(element, {})), *own[after:]]
    best = max(key[element] for element in faulty if element in key)
    before, same = (sum(test(one) for one in key.values()) for test in (best.__lt__, best.__eq__))
    return before + (same + 1) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="names of subjects (repeatable)")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "state_based")
    chosen = parser.parse_args()
    python = environment_of(chosen.cache)
    made: list[dict[str, float]] = []
    seconds = 0.0
    for subject in subjects(["small"], chosen.only, chosen.cache, None):
        with tempfile.TemporaryDirectory() as scratch:
            workspace = Path(scratch).resolve() / subject.folder.name
            measured = Measured(subject, python, workspace)
            began = time.perf_counter()
            measured.suspectra("slice", "--failure", "--", *measured.pytest, timeout=300)
            seconds += time.perf_counter() - began
            made.append(ranks(SLICES.added_to(find_source(workspace, edges=True).read(), workspace), workspace))
            print(subject.name, made[-1], flush=True)
    figures = {
        name: {"mean": round(mean(one[name] for one in made), 2)}
        | {f"top_{top}": sum(one[name] <= top for one in made) for top in TOP}
        for name in made[0]
    }
    for name, row in figures.items():
        print(f"{name:16} " + "  ".join(f"{what} {value}" for what, value in row.items()))
    print(json.dumps({"benchmark": "slice_ranks", "subjects": len(made), "seconds": round(seconds), "ranks": figures}))


if __name__ == "__main__":
    main()
