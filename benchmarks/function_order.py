"""In which order functions are best listed, on corpora of versions with known faults.

The rank of a faulty function is the number of functions that one reads until the first faulty one, on average over the
orders of a tie. What is outside of the functions of a file counts as one function. Subjects without functions are left
out. The second table has the statements of `evidence`: in the order of its keys, and as it lists them, the statements
of the first function first in the first tie.

    python benchmarks/function_order.py CORPUS... --technique evidence --technique ochiai
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import mean

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.evaluation.corpus import Subject, read_index, read_subject
from suspectra.report import RankedReport
from suspectra.techniques import make_technique
from suspectra.techniques.all_evidence import EvidenceReport

TOP = (1, 3, 5, 10)


def orders(report: RankedReport) -> dict[str, Ints]:
    """The place of each function that failing tests execute, smaller first, in several orders; equal ones are a tie."""
    found = report.function_levels
    executed = np.flatnonzero((report.level >= 0) & (report.spectrum.counts.ef > 0))
    level = report.level[executed]
    first, ties = (
        np.array([values[found.of == function].min() for function in range(len(found))])
        for values in (level, report.tie_of_level[level])
    )
    failed, tied = -found.raised, found.tied / np.bincount(found.of)
    _, share = np.unique(np.stack([ties, failed, -tied, first]), axis=1, return_inverse=True)
    size = np.bincount(level, minlength=int(level.max()) + 1)
    middle = (np.cumsum(size) - (size - 1) / 2)[level]
    odds = np.bincount(found.of, 1 / middle)
    return {
        "their first statements": first,
        "their best scores": ties,
        "sums of 1 / rank": np.unique(-odds, return_inverse=True)[1],
        "score, failures, number of lines": found.level,
        "score, failures, share of lines": share.reshape(-1),
    }


def statement_ranks(report: EvidenceReport, subject: Subject) -> dict[str, float]:
    """The rank of the first faulty statement in both orders; empty if no failing test executes one."""
    by_keys = np.unique(-report.keys, axis=0, return_inverse=True)[1].reshape(-1)
    executed = np.flatnonzero((report.level >= 0) & (report.level < len(report.keys)))
    found = {}
    for order, place in (("keys", by_keys), ("first function first", np.arange(len(by_keys)))):
        level = place[report.level[executed]]
        own = level[np.isin(executed, subject.faulty)]
        if len(own):
            tied, among = np.count_nonzero(level == own.min()), np.count_nonzero(own == own.min())
            found[order] = float(np.count_nonzero(level < own.min()) + 1 + (tied - among) / (among + 1))
    return found


def rank_of(places: Ints, report: RankedReport, subject: Subject) -> float:
    """How many functions are read until a faulty one."""
    found, elements = report.function_levels, report.spectrum.elements
    inside = elements.function[subject.faulty]
    numbers = np.where(inside >= 0, inside, -1 - elements.file[subject.faulty].astype(np.int64))
    own = np.flatnonzero(np.isin(found.number, numbers))
    if not len(own):  # no failing test executes it
        return (len(found) + max(len(elements.functions), len(found)) + 1) / 2
    best = places[own].min()
    tied, among = np.count_nonzero(places == best), np.count_nonzero(places[own] == best)
    return float(np.count_nonzero(places < best) + 1 + (tied - among) / (among + 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--technique", action="append", help="evidence unless given; may be repeated")
    options = parser.parse_args()
    techniques = options.technique or ["evidence"]
    ranks: Mapping[tuple[str, str], list[float]] = defaultdict(list)
    statements: Mapping[tuple[str, str], list[float]] = defaultdict(list)
    for corpus in options.corpora:
        for file in read_index(corpus)[0]:
            subject = read_subject(file)
            if not subject.spectrum.elements.functions:
                continue
            for name in techniques:
                report = make_technique(name).localize(subject.spectrum, subject.program)
                for order, places in orders(report).items():
                    ranks[name, order].append(rank_of(places, report, subject))
                if isinstance(report, EvidenceReport):
                    first = rank_of(report.function_levels.level, report, subject) == 1
                    by = statement_ranks(report, subject)
                    for order, rank in by.items():
                        statements[name, order].append(rank)
                        statements[f"{name}, faulty function {'' if first else 'not '}first", order].append(rank)
    for what, rows in (("functions", ranks), ("statements", statements)):
        print(f"\n| technique | {what} by | subjects | {' | '.join(f'Top-{n}' for n in TOP)} | MRR | mean |")
        print(f"|---|---|---:|{'---:|' * len(TOP)}---:|---:|")
        for (name, order), found in rows.items():
            top = " | ".join(str(sum(rank <= n for rank in found)) for n in TOP)
            rates = f"{mean(1 / rank for rank in found):.3f} | {mean(found):.1f}"
            print(f"| {name} | {order} | {len(found)} | {top} | {rates} |")


if __name__ == "__main__":
    main()
