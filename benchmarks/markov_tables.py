"""Tables III and IV of paper 003 on corpora with control flow: the error of sampled HT_Ranks, and CBSFL beside SBBFL.

Both kinds of chains have the jump matrix of the paper, with p_jump 0.5. The Standard Rank of SBBFL is that of the best
subgraph that contains the fault, as in the paper; HT_Rank has one scale for both. In Table III each version, technique
and chain is estimated by 500 walks, with Relative F1. Versions in which a fault is in no chain are left out of Table
III.

    python benchmarks/markov_tables.py CORPUS... [--measure relative-f1] [--family siemens] [--versions 20]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from suspectra.base.errors import SuspectraError
from suspectra.evaluation.corpus import Subject, read_index, read_subject
from suspectra.evaluation.significance import independent_t
from suspectra.markov.debugging_model import DebuggingModel
from suspectra.markov.sampling import sample_hitting_times
from suspectra.report import RankedReport, SubgraphReport
from suspectra.techniques import make_technique

MEASURES = ("relative-f1", "relative-ochiai", "relative-jaccard", "f1", "ochiai", "jaccard")
MAX_STEPS = 20_000


def versions(corpora: list[Path], families: list[str], most: int) -> Iterator[Subject]:
    taken: dict[str, int] = defaultdict(int)
    for corpus in corpora:
        for file in read_index(corpus)[0]:
            if (families and file.family not in families) or taken[file.family] == most:
                continue
            subject = read_subject(file)
            if subject.spectrum.edges is not None:
                taken[file.family] += 1
                yield subject


def standard_rank(report: RankedReport, faulty: np.ndarray) -> float:
    if isinstance(report, SubgraphReport):
        return float(report.fragment_rank[faulty].min())
    return min(report.suspect_of(one).standard_rank for one in faulty.tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--measure", action="append", choices=MEASURES, help="of Table IV; all six by default")
    parser.add_argument("--family", action="append", default=[])
    parser.add_argument("--versions", type=int, default=20, help="of each family, at most")
    options = parser.parse_args()
    measures = options.measure or list(MEASURES)
    ranks: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    sampled: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for subject in versions(options.corpora, options.family, options.versions):
        for measure in measures:
            row: list[float] = []
            try:
                for technique in (make_technique(measure), make_technique("sbbfl", measure=measure)):
                    report = technique.localize(subject.spectrum, subject.program)
                    faulty = subject.faulty[report.level[subject.faulty] >= 0]
                    model = DebuggingModel.for_studies(report, subject.program)
                    exact = float(model.ht_rank[faulty].min())
                    row += [standard_rank(report, faulty), exact]
                    if measure == "relative-f1" and np.isfinite(model.expected_steps[faulty]).any():
                        walked = sample_hitting_times(model.chain, max_steps=MAX_STEPS)
                        places = np.isin(model.elements, faulty)
                        sampled[subject.family].append((exact, float(walked.rank[places].min())))
            except (SuspectraError, ValueError) as error:
                print(f"left out: {subject.name}, {measure}: {error}", file=sys.stderr)
                continue
            ranks[measure, subject.family].append(row)
    print("| Table III | " + " | ".join(sampled) + " |\n| --- |" + " ---: |" * len(sampled))
    errors = {}
    for family, pairs in sampled.items():
        exact, estimate = np.array(pairs).T
        off = np.abs(estimate - exact) / exact * 100
        errors[family] = [off.mean(), np.median(off), off.std(), off.max(), independent_t(estimate, exact)]
    for k, name in enumerate(("mean error, %", "median", "standard deviation", "maximum", "p-value of the t-test")):
        print(f"| {name} | " + " | ".join(f"{own[k]:.3f}" for own in errors.values()) + " |")
    print("\n| Table IV: measure | subject | versions | Standard: CBSFL | SBBFL | %Δ | HT_Rank: CBSFL | SBBFL | %Δ |")
    print("| --- | --- |" + " ---: |" * 7)
    everything = []
    for (measure, family), rows in ranks.items():
        standard, steps, fragment, behaviour = np.mean(rows, axis=0).tolist()
        change = [f"{100 * (new - old) / old:+.0f}" for old, new in ((standard, fragment), (steps, behaviour))]
        print(
            f"| {measure} | {family} | {len(rows)} | {standard:.1f} | {fragment:.1f} | {change[0]}"
            f" | {steps:.1f} | {behaviour:.1f} | {change[1]} |"
        )
        everything.append([measure, family, len(rows), standard, fragment, steps, behaviour])
    print(json.dumps({"table III": errors, "table IV": everything}))


if __name__ == "__main__":
    main()
