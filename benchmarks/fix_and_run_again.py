"""How many faults of one program are found one after the other, each fixed before the next is looked for (paper 000,
§5.2.4).

Versions of a program are composed, so that it has several faults. The fault that ranks best is found, with its rank and
the share of the code that is examined; then it is fixed: the program is composed without its version, tests are judged
again, and the rest is ranked anew, until none is left. What faults would do to each other in one program is not seen.

    python benchmarks/fix_and_run_again.py CORPUS... [--technique cp] [--faults 5]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import mean

from suspectra.base.errors import SuspectraError
from suspectra.evaluation.composing import compose, compositions
from suspectra.evaluation.corpus import Subject, read_index, read_subject
from suspectra.techniques import make_technique
from suspectra.techniques.technique import Technique


def find_all(versions: list[Subject], technique: Technique) -> list[tuple[str, int, float]]:
    """The faults in the order in which they are found: name, failing tests, share of the code examined."""
    found = []
    while versions:
        subject = compose(versions)
        report = technique.localize(subject.spectrum, subject.program)
        ranks = []
        for k, (_, faulty) in enumerate(subject.faults):
            ranks.append((min(report.suspect_of(one).rank_average for one in faulty.tolist()), k))
        rank, first = min(ranks)
        found.append((versions[first].name, subject.spectrum.counts.failed, rank / len(report)))
        versions = versions[:first] + versions[first + 1 :]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--technique", action="append")
    parser.add_argument("--faults", type=int, default=5)
    parser.add_argument("--most", type=int, default=3, help="compositions of each program")
    options = parser.parse_args()
    files = [file for corpus in options.corpora for file in read_index(corpus)[0]]
    everything: dict[str, list[list[float]]] = {}
    for composed in compositions(files, options.faults, options.most):
        for name in options.technique or ["cp", "ochiai", "evidence"]:
            try:
                found = find_all([read_subject(one) for one in composed.versions], make_technique(name))
            except (SuspectraError, KeyError, ValueError) as error:
                print(f"left out: {composed.name}: {error}", file=sys.stderr)
                continue
            told = ", ".join(f"{fault} ({failed} failing) {share:.2%}" for fault, failed, share in found)
            print(f"{name}: {told}")
            everything.setdefault(name, []).append([share for _, _, share in found])
    for name, shares in everything.items():
        by_turn = ", ".join(f"{mean(turn):.2%}" for turn in zip(*shares, strict=True))
        print(f"{name:10} {len(shares)} programs, mean share of the code for the first fault to the last: {by_turn}")
    print(json.dumps(everything))


if __name__ == "__main__":
    main()
