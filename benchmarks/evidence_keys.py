"""What each key of `evidence` does, and what the weights of its measure do, on corpora of versions with known faults.

For each family of subjects: mean EXAM, and how many faulty statements are among the first 1, 5 and 10, ties averaged.
The weight is that of the share of the failing tests that execute a statement, beside that of the tests that execute it
and fail. *One more passes* counts for each branch one more passing test than there are, as a branch that a single
failing test takes says little. Before kinds of statements, *names* puts functions first whose names have words of a
failing test's name, and *functions* those that have the most statements of the same score. Then each program is left
out once, and the rule taken that is best on the others, by the mean reciprocal rank, families counting the same.

    python benchmarks/evidence_keys.py CORPUS...
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from suspectra.base.arrays import Bools, Floats, Ints
from suspectra.evaluation.corpus import SubjectFile, read_index, read_subject
from suspectra.techniques import make_technique
from suspectra.techniques.all_evidence import EvidenceReport

WEIGHTS = (0.5, 0.55, 0.6, 0.65, 0.7)
RULES = tuple(product(WEIGHTS, (0, 1)))  # a weight, and how many more passing tests count for each branch
PRESENT = 0.55
_DIGITS = 9  # to which scores are compared


@dataclass(frozen=True)
class Known:
    """What the keys of a subject's suspects are made of."""

    family: str
    program: str
    total: int  # how many statements there are
    suspects: Ints  # those that failing tests execute
    faulty: Ints  # the faulty ones among these, as indices into them
    share: Floats  # the weighted share of the failing tests
    precision: Floats  # the share of the tests that fail
    # of each branch that leaves a suspect: the suspect, the share, and how many failing and passing tests take it
    branches: tuple[Ints, Floats, Ints, Ints]
    signature: Bools
    raised: Ints
    kind: Ints
    size: Ints
    function: Ints
    named: Floats  # which part of the words of its function's name the name of a failing test has

    def rank(
        self,
        weight: float,
        more: int = 0,
        branches: float = 1.0,
        keys: Sequence[str] = ("raised", "kind", "size"),
    ) -> float:
        """The rank of the fault, on average over the orders of a tie."""
        own = weight * self.share + (1 - weight) * self.precision
        best = own.copy()
        element, share, failing, passing = self.branches
        np.maximum.at(best, element, weight * share + (1 - weight) * failing / (failing + passing + more))
        best = np.where(self.signature, 0, own + branches * (best - own))
        if not len(self.faulty):
            return (len(self.suspects) + self.total + 1) / 2
        measures = [best.round(_DIGITS), own.round(_DIGITS)]
        further = [self.together(measures) if key == "together" else getattr(self, key) for key in keys]
        level = _levels([*measures, *further])
        first = level[self.faulty].min()
        return float(np.count_nonzero(level < first) + (np.count_nonzero(level == first) + 1) / 2)

    def together(self, measures: Sequence[Floats]) -> Ints:
        """How many statements of its function have the score of each."""
        _, of, size = np.unique([self.function, _levels(measures)], axis=1, return_inverse=True, return_counts=True)
        found: Ints = size[of.reshape(-1)]
        return found


def _levels(keys: Sequence[Floats | Ints]) -> Ints:
    """The rank of each column of some keys, the highest first."""
    found: Ints = np.unique(-np.array(keys), axis=1, return_inverse=True)[1]
    return found.reshape(-1)


def words(name: str) -> set[str]:
    """The words of the name of a function or a test, without its class or file."""
    own = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", re.split(r"[.:]", name.partition("[")[0])[-1])
    return {word for word in re.split(r"[^a-z]+", own.lower()) if len(word) > 2 and word != "test"}


def known_of(file: SubjectFile) -> Known:
    subject = read_subject(file)
    report = make_technique("evidence").localize(subject.spectrum, subject.program)
    assert isinstance(report, EvidenceReport)
    spectrum, weights, known = report.spectrum, report.weights, report.statements
    counts = spectrum.counts
    suspects = np.flatnonzero((report.level >= 0) & (report.level < len(report.keys)))
    keys = report.keys[report.level[suspects]]
    none = np.zeros(0, np.int64)
    branches: tuple[Ints, Floats, Ints, Ints] = none, np.zeros(0), none, none
    if spectrum.edges is not None:
        hits = spectrum.edge_hit_counts
        taken = np.isin(known.branches.element, suspects) & (hits.ef[known.branches.edge] > 0)
        element, edge = known.branches.element[taken], known.branches.edge[taken]
        share = weights.of_edges[edge] / max(weights.total, 1)
        branches = np.searchsorted(suspects, element), share, hits.ef[edge], hits.ep[edge]
    ef, ep = counts.ef[suspects], counts.ep[suspects]
    elements = spectrum.elements
    tests = [words(name) for name, failed in zip(spectrum.tests, spectrum.failed, strict=True) if failed]
    parts = [words(function.name) for function in elements.functions]
    shares = [max(len(own & test) / len(own) for test in tests) if own else 0.0 for own in parts]
    return Known(
        file.family,
        re.sub(r"[_-]?[vmn]?\d[\d_]*$", "", file.name),
        len(spectrum.elements),
        suspects,
        np.flatnonzero(np.isin(suspects, subject.faulty)),
        weights.of_elements[suspects] / max(weights.total, 1),
        ef / (ef + ep),
        branches,
        known.is_signature[suspects],
        *(keys[:, 2], keys[:, 3], keys[:, 4]),
        elements.function[suspects],
        np.array([*shares, 0.0])[elements.function[suspects]],  # the last one is that of no function
    )


def figures(ranks: Sequence[tuple[float, int]]) -> str:
    top = "/".join(str(sum(rank <= n for rank, _ in ranks)) for n in (1, 5, 10))
    return f"{mean(rank / total for rank, total in ranks):.4f} {top}"


def left_out(subjects: Sequence[Known]) -> Counter[tuple[float, int]]:
    """Which rule the other programs choose for each program."""
    chosen = Counter[tuple[float, int]]()
    rates = {rule: [1 / one.rank(*rule) for one in subjects] for rule in RULES}
    for program in sorted({one.program for one in subjects}):

        def rate(rule: tuple[float, int], without: str = program) -> float:
            by_family: dict[str, list[float]] = defaultdict(list)
            for one, reciprocal in zip(subjects, rates[rule], strict=True):
                if one.program != without:
                    by_family[one.family].append(reciprocal)
            return mean(map(mean, by_family.values()))

        chosen[max(RULES, key=rate)] += 1
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path)
    files = [file for corpus in parser.parse_args().corpora for file in read_index(corpus)[0]]
    with ProcessPoolExecutor() as pool:
        subjects = list(pool.map(known_of, files))
    variants: dict[str, tuple[Any, ...]] = {
        **{f"weight {weight}": (weight,) for weight in WEIGHTS},
        "without branches": (PRESENT, 0, 0.0),
        "branches at half": (PRESENT, 0, 0.5),
        "one more passes": (PRESENT, 1),
        "without kinds": (PRESENT, 0, 1.0, ("raised", "size")),
        "without size": (PRESENT, 0, 1.0, ("raised", "kind")),
        "names": (PRESENT, 0, 1.0, ("raised", "named", "kind", "size")),
        "functions": (PRESENT, 0, 1.0, ("raised", "together", "kind", "size")),
    }
    families = sorted({one.family for one in subjects})
    print(f"| mean EXAM, Top-1/5/10 | {' | '.join(families)} |\n|---|{'---:|' * len(families)}")
    for name, rule in variants.items():
        ranks = [(one.family, (one.rank(*rule), one.total)) for one in subjects]
        cells = [figures([rank for own, rank in ranks if own == family]) for family in families]
        print(f"| {name} | {' | '.join(cells)} |")
    for (weight, more), count in sorted(left_out(subjects).items()):
        print(f"weight {weight}, {more} more passing tests for a branch: best on the others for {count} programs")


if __name__ == "__main__":
    main()
