"""How often the first suspects are tied, and what would tell them apart, on corpora of versions with known faults.

For each version the tie of the first suspect is looked at: suspects whose score by coverage is the same, whatever else
puts them in order. Counted are ties of several members, those that every test executes as a whole or not at all, those
with a passing test that executes what a failing one does (same coverage), with a way that no test takes (a missing
outcome), and with members in several functions (a direct call).

    python benchmarks/tie_steps.py CORPUS... [--technique evidence] [--sources DIR]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean, median

from suspectra.base.errors import SuspectraError
from suspectra.distinctions.steps import DirectCall, MissingOutcome, NearestTest, SameCoverage
from suspectra.distinctions.tie import TieAdvice, advise
from suspectra.evaluation.corpus import read_index, read_subject
from suspectra.techniques import make_technique


def figures(found: list[TieAdvice], gain_of: type) -> dict[str, float]:
    """How many ties have a step of a kind, and what its best one gains on average, in bits."""
    best = [
        max(step.gain or 0.0 for step in steps)
        for advice in found
        if (steps := [step for step in advice.steps if isinstance(step, gain_of)])
    ]
    return {"ties": len(best), "bits": round(mean(best), 2) if best else 0.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--technique", default="evidence")
    parser.add_argument("--sources", type=Path)
    options = parser.parse_args()
    technique = make_technique(options.technique)
    everything = {}
    for corpus in options.corpora:
        tied: list[TieAdvice] = []
        subjects = 0
        for file in read_index(corpus, options.sources)[0]:
            try:
                subject = read_subject(file)
                report = technique.localize(subject.spectrum, subject.program)
            except SuspectraError as error:
                print(f"left out: {error.problem}")
                continue
            subjects += 1
            advice = advise(report, subject.program, int(report.top(1)[0]))
            if len(advice.tie.members) > 1:
                tied.append(advice)
        sizes = [len(advice.tie.members) for advice in tied]
        everything[corpus.name] = found = {
            "subjects": subjects,
            "tied": len(tied),
            "median members": median(sizes) if sizes else 0,
            "bits": round(mean(advice.tie.bits for advice in tied), 2) if tied else 0.0,
            "agreeing in every test": sum(advice.agreeing for advice in tied),
            "same coverage": figures(tied, SameCoverage)["ties"],
            "missing outcome": figures(tied, MissingOutcome),
            "direct call": figures(tied, DirectCall),
            "any of these": sum(any(not isinstance(step, NearestTest) for step in advice.steps) for advice in tied),
        }
        print(f"\n{corpus.name}, ranked by {technique.info.title}")
        for name, value in found.items():
            print(f"  {name:24} {value}")
    print(json.dumps({"technique": technique.name, "corpora": everything}))


if __name__ == "__main__":
    main()
