"""Where CP loses against simpler techniques: its mean EXAM with one part of it changed at a time.

    python benchmarks/cp_variants.py CORPUS [--family NAME]

CORPUS is a folder in the format `suspectra study --corpus` reads. Only compiled subjects with edges are used.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

from suspectra.base.arrays import Floats
from suspectra.base.errors import SuspectraError
from suspectra.evaluation.corpus import Subject, read_index, read_subject
from suspectra.report import RankedReport
from suspectra.techniques import make_technique
from suspectra.techniques.control_flow.branch import Branch
from suspectra.techniques.control_flow.cp import CP, Propagation, solve
from suspectra.techniques.control_flow.flow_report import EdgeScores, details_of
from suspectra.techniques.formulas import make_formula

BLOWN_UP = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--family", help="only subjects of this family")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    tables: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    faults: dict[str, list[dict[str, float]]] = defaultdict(list)
    for file in read_index(given.corpus)[0]:
        if given.family and file.family != given.family:
            continue
        try:
            subject = read_subject(file)
        except SuspectraError as error:
            print(error)
            continue
        if subject.program.graphs:
            for name, scores in variants(subject).items():
                tables[file.family][name].append(exam(subject, scores))
            faults[file.family].append(fault(subject))
    report = {}
    for family, table in tables.items():
        print(f"{family}: {len(faults[family])} subjects")
        for name, values in table.items():
            print(f"  {name:44} mean {np.mean(values):.4f}  median {np.median(values):.4f}")
        classes = classify(faults[family])
        for name, members in classes.items():
            own = f"CP {mean(members, 'cp'):.3f}  Ochiai {mean(members, 'ochiai'):.3f}"
            print(f"  {name:44} {len(members):3} subjects  {own}")
        report[family] = {
            "mean_exam": {name: float(np.mean(values)) for name, values in table.items()},
            "classes": {
                name: {"subjects": len(m), "cp": mean(m, "cp"), "ochiai": mean(m, "ochiai")}
                for name, m in classes.items()
            },
        }
    print(json.dumps(report))


def variants(subject: Subject) -> dict[str, Floats]:
    """Scores of the elements by each variant."""
    spectrum, program = subject.spectrum, subject.program
    whole = details_of(CP().localize(spectrum, program), Propagation)
    flow, br = whole.flow, whole.br
    count = flow.blocks
    highest = np.full(count, np.nan)
    for ends in (whole.source, whole.target):
        np.fmax.at(highest, ends, whole.delta)
    entering = np.bincount(whole.target, whole.delta, count).astype(float)
    entering[np.bincount(whole.target, minlength=count) == 0] = np.nan
    largest = np.zeros(len(flow))
    np.maximum.at(largest, flow.graph_of_block, np.abs(np.nan_to_num(br)))
    calm = np.where(largest[flow.graph_of_block] > BLOWN_UP, np.nanmin(br) - 1, br)

    def elements(blocks: Floats) -> Floats:
        scores = flow.over_elements(blocks, len(spectrum.elements))
        known: Floats = np.where(np.isnan(scores), np.nanmin(scores) - 1, scores)
        return known

    apart = details_of(CP(merge_exit=False).localize(spectrum, program), Propagation)
    branch = details_of(Branch().localize(spectrum, program), EdgeScores)

    return {
        "CP": elements(br),
        "CP, the exit a block of its own": elements(apart.br),
        "CP without edges back": elements(without_edges_back(whole)),
        "CP, scores limited to [-2, 2]": elements(np.clip(br, -2, 2)),
        f"CP, functions beyond ±{BLOWN_UP:g} put last": elements(calm),
        "CP, a line has its lowest block's score": -elements(-br),
        "equation (6) for every block": elements(entering),
        "the highest Δ at a block": elements(highest),
        "Tarantula": make_formula("tarantula").score(spectrum.counts),
        "Branch": elements(branch.block_score),
        "Ochiai": make_formula("ochiai").score(spectrum.counts),
    }


def without_edges_back(whole: Propagation) -> Floats:
    """The blocks' scores where edges to the same or an earlier block are left out."""
    keep = whole.target > whole.source
    source, target, delta = whole.source[keep], whole.target[keep], whole.delta[keep]
    br = solve(source, target, delta, whole.flow.blocks)
    return np.where(np.isnan(whole.br), np.nan, br)


def exam(subject: Subject, scores: Floats) -> float:
    report = RankedReport.from_scores(make_technique("ochiai"), subject.spectrum, scores)
    position = int(report.position[subject.faulty].min())
    return float(report.rank_average[position]) / len(report)


def fault(subject: Subject) -> dict[str, float]:
    """The best-placed fault: where it stands, and what its block and its own runs say."""
    spectrum, counts = subject.spectrum, subject.spectrum.counts
    report = CP().localize(spectrum, subject.program)
    position = int(report.position[subject.faulty].min())
    element = int(report.order[position])
    failed, passed = counts.ef[element] / counts.failed, counts.ep[element] / max(counts.passed, 1)
    return {
        "cp": float(report.rank_average[position]) / len(report),
        "ochiai": exam(subject, make_formula("ochiai").score(counts)),
        "delta": float((failed - passed) / (failed + passed)) if failed + passed else 0.0,
        "br": float(report.scores[position]),
        "failing": counts.failed / (counts.failed + counts.passed),
    }


def classify(faults: list[dict[str, float]]) -> dict[str, list[dict[str, float]]]:
    return {
        "more than 20 % of the tests fail": [f for f in faults if f["failing"] > 0.2],
        "at most 20 % fail": [f for f in faults if f["failing"] <= 0.2],
        "suspicious by its own runs, BR > 0.001": [f for f in faults if f["delta"] > 1e-9 and f["br"] > 1e-3],
        "suspicious by its own runs, BR <= 0.001": [f for f in faults if f["delta"] > 1e-9 and f["br"] <= 1e-3],
        "not suspicious by its own runs": [f for f in faults if f["delta"] <= 1e-9],
    }


def mean(faults: list[dict[str, float]], key: str) -> float:
    return float(np.mean([f[key] for f in faults])) if faults else 0.0


if __name__ == "__main__":
    main()
