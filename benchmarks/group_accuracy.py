"""How well failure groups tell faults apart, on corpora of versions with one known fault each.

One fault: every version with two failing tests or more; its tests should be one group. Several faults: versions of one
program with equal statements are put together. A test fails there if it fails in one of them, and executes what it does
in the first of these; passing tests are those of the first version. Groups are compared with the faults by the adjusted
Rand index over the tests that see one fault. Then every fault is looked up in the ranking of the group that contains
most of its tests, in the one ranking over all failing tests, and in those of single failing tests (at most eight).
The groups are compared with those of other methods (`grouping_methods.py`).

Pairs and triples are measured again with one to three failing tests of each fault. A subject is separated if no group
has tests of two faults; groups of two tests or more are pure or not, those that say that they are sure and the others.

    python benchmarks/group_accuracy.py CORPUS... --technique ochiai
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from pathlib import Path
from statistics import mean

import numpy as np
from grouping_methods import COVERAGE, TRACEBACKS, FailingTests, Raised, tracebacks

from suspectra.base.errors import SuspectraError
from suspectra.evaluation.composing import compose as composed_versions
from suspectra.evaluation.corpus import Subject, read_index, read_subject
from suspectra.failure_groups.ranking import GroupedRanking, RankedGroup, rank_groups
from suspectra.report import RankedReport
from suspectra.spectrum import Spectrum, some_failing
from suspectra.techniques import make_technique
from suspectra.techniques.technique import Technique

MAX_SUBJECTS = {2: 12, 3: 6, 5: 3}  # of each program, by the number of faults
MAX_FAILING = 200
MAX_ALONE = 8  # tests of a fault that are ranked alone


@dataclass(frozen=True)
class Composed:
    """Versions put together.

    Parameters
    ----------
    name : str
        The versions.
    base : Subject
        The first version.
    spectrum : Spectrum
        All tests.
    faults : list of ndarray
        The faulty elements of each version.
    seen : dict of str to tuple of int
        The versions in which each failing test fails.
    raised : dict of str to Raised
        How the tests failed, where that is known.
    """

    name: str
    base: Subject
    spectrum: Spectrum
    faults: list[list[int]]
    seen: dict[str, tuple[int, ...]]
    raised: dict[str, Raised]


Tracebacks = Mapping[str, dict[str, Raised]]  # of the failing tests, by the name of the subject


def compose(subjects: Sequence[Subject], raised: Tracebacks) -> Composed:
    """Put versions with equal statements together."""
    together = composed_versions(subjects)
    failing = [{one.spectrum.tests[i] for i in np.flatnonzero(one.spectrum.failed).tolist()} for one in subjects]
    seen = {
        name: versions
        for name in together.spectrum.tests
        if (versions := tuple(i for i, some in enumerate(failing) if name in some))
    }
    known = [raised[subject.name] for subject in subjects]
    how = {name: known[versions[0]][name] for name, versions in seen.items() if name in known[versions[0]]}
    faults = [subject.faulty.tolist() for subject in subjects]
    return Composed(together.name, subjects[0], together.spectrum, faults, seen, how)


def compositions(subjects: Iterable[Subject], raised: Tracebacks, count: int, seed: int) -> Iterator[Composed]:
    """Some of all ways to put so many versions together in which each fault has failing tests of its own."""
    alike: dict[object, list[Subject]] = defaultdict(list)
    for subject in subjects:
        elements = subject.spectrum.elements
        paths = tuple(elements.files[file] for file in elements.file.tolist())
        if subject.spectrum.edges is not None and subject.spectrum.counts.failed <= MAX_FAILING:
            alike[paths, elements.line.tobytes()].append(subject)
    chance = np.random.default_rng(seed)
    for versions in alike.values():
        if comb(len(versions), count) > 5000:
            ways = [tuple(sorted(chance.choice(len(versions), count, replace=False))) for _ in range(5000)]
        else:
            ways = list(combinations(range(len(versions)), count))
        found = 0
        for which in chance.permutation(len(ways)).tolist():
            chosen = [versions[i] for i in ways[which]]
            own = [{one.spectrum.tests[i] for i in np.flatnonzero(one.spectrum.failed)} for one in chosen]
            times = Counter(name for names in own for name in names)
            different = len({tuple(one.faulty.tolist()) for one in chosen}) == count
            if different and all(any(times[name] == 1 for name in names) for names in own):
                found += 1
                yield compose(chosen, raised)
            if found == MAX_SUBJECTS[count]:
                break


def with_few(composed: Composed, chance: np.random.Generator) -> Composed:
    """The same with one to three failing tests of each fault."""
    kept = set[str]()
    for fault in range(len(composed.faults)):
        own = [test for test, versions in composed.seen.items() if versions == (fault,)]
        kept |= {own[i] for i in chance.permutation(len(own))[: chance.integers(1, 4)].tolist()}
    seen = {test: versions for test, versions in composed.seen.items() if test in kept}
    return replace(composed, spectrum=without_other_failures(composed.spectrum, kept), seen=seen)


def without_other_failures(spectrum: Spectrum, kept: set[str]) -> Spectrum:
    """A spectrum whose only failing tests are some of those that fail."""
    wanted = [i for i, name in enumerate(spectrum.tests) if name in kept or not spectrum.failed[i]]
    edge_rows = spectrum.edge_rows
    return Spectrum(
        tuple(spectrum.tests[i] for i in wanted),
        spectrum.failed[wanted],
        spectrum.elements,
        tuple(spectrum.rows[i] for i in wanted),
        spectrum.candidates,
        spectrum.edges,
        None if edge_rows is None else tuple(edge_rows[i] for i in wanted),
        raised=None if spectrum.raised is None else spectrum.raised[wanted],
    )


def adjusted_rand(one: Sequence[object], other: Sequence[object]) -> float:
    """The adjusted Rand index of two groupings of the same things (Hubert & Arabie 1985)."""
    both = sum(comb(n, 2) for n in Counter(zip(one, other, strict=True)).values())
    left, right = (sum(comb(n, 2) for n in Counter(side).values()) for side in (one, other))
    pairs = comb(len(one), 2)
    expected = left * right / pairs if pairs else 0.0
    most = (left + right) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def rank_of(report: RankedReport, faulty: Sequence[int]) -> float:
    """The average rank of the best-placed of some statements."""
    return min(report.suspect_of(element).rank_average for element in faulty)


def figures(ranks: Sequence[Sequence[float]]) -> dict[str, float]:
    """Top-1 and Top-5 in percent, and the mean reciprocal rank, from one or more ranks of each fault."""
    top = {f"top{n}": round(100 * mean(mean(rank <= n for rank in own) for own in ranks), 1) for n in (1, 5)}
    return {**top, "mrr": round(mean(mean(1 / rank for rank in own) for own in ranks), 3)}


def alone(composed: Spectrum, subject: Subject, tests: Sequence[str], technique: Technique) -> list[float]:
    """The ranks of a subject's fault in the rankings of some of its failing tests, each alone."""
    step = -(-len(tests) // MAX_ALONE)
    ranked = (technique.localize(some_failing(composed, [name]), subject.program) for name in tests[::step])
    return [rank_of(report, subject.faulty.tolist()) for report in ranked]


def other_groups(tests: FailingTests) -> dict[str, dict[str, object]]:
    """For each other method the group of each test."""
    methods = {**COVERAGE, **(TRACEBACKS if tests.raised else {})}
    return {name: dict(zip(tests.names, method(tests), strict=True)) for name, method in methods.items()}


def several(
    subjects: Sequence[Subject], raised: Tracebacks, count: int, technique: Technique, seed: int, *, few: bool = False
) -> dict[str, object]:
    """The figures for so many faults at once."""
    indices, right, ranks = [], [], defaultdict[str, list[list[float]]](list)
    separated, pure, chance = [], defaultdict[bool, list[bool]](list), np.random.default_rng(seed)
    others = defaultdict[str, list[float]](list)
    for whole in compositions(subjects, raised, count, seed):
        composed = with_few(whole, chance) if few else whole
        report = technique.localize(composed.spectrum, composed.base.program)
        grouped = rank_groups(report, technique, composed.base.program)
        number = {test: one.group.number for one in grouped.groups for test in one.group.tests}
        single = {test: versions[0] for test, versions in composed.seen.items() if len(versions) == 1}
        indices.append(adjusted_rand(list(single.values()), [number[test] for test in single]))
        right.append(len(grouped.groups) == count)
        common = [set.intersection(*(set(composed.seen[test]) for test in one.group.tests)) for one in grouped.groups]
        separated.append(all(common))
        for ranked, shared in zip(grouped.groups, common, strict=True):
            if len(ranked.group.tests) > 1:
                pure[ranked.group.alike].append(bool(shared))
        for name, label in other_groups(FailingTests(composed.spectrum, composed.raised)).items():
            others[name].append(adjusted_rand(list(single.values()), [label[test] for test in single]))
        for fault, faulty in enumerate(composed.faults):
            tests = [test for test, versions in composed.seen.items() if fault in versions]
            one = replace(composed.base, faulty=np.array(faulty))
            ranks["one ranking"].append([rank_of(report, faulty)])
            ranks["one per test"].append(alone(composed.spectrum, one, tests, technique))
            ranks["groups"].append([rank_of(best_group(grouped, tests).report, faulty)])
            true = some_failing(composed.spectrum, tests)
            ranks["true groups"].append([rank_of(technique.localize(true, composed.base.program), faulty)])
    if not indices:
        return {"subjects": 0}
    found: dict[str, object] = {
        "subjects": len(indices),
        "ari": round(mean(indices), 3),
        "right": round(100 * mean(right), 1),
        "separated": round(100 * mean(separated), 1),
        "pure, of the sure ones": (len(pure[True]), round(100 * mean(pure[True] or [0]), 1)),
        "pure, of the others": (len(pure[False]), round(100 * mean(pure[False] or [0]), 1)),
        "ari of others": {name: round(mean(some), 3) for name, some in others.items()},
    }
    return found | {name: figures(some) for name, some in ranks.items()}


def best_group(grouped: GroupedRanking, tests: Iterable[str]) -> RankedGroup:
    """The group that contains most of some tests."""
    wanted = set(tests)
    return max(grouped.groups, key=lambda one: (len(wanted.intersection(one.group.tests)), -one.group.number))


def one_fault(subjects: Sequence[Subject], raised: Tracebacks, technique: Technique) -> dict[str, object]:
    """How many versions with one fault fall apart, and where the fault is then."""
    split, ranks = [], defaultdict[str, list[list[float]]](list)
    others = Counter[str]()
    for subject in subjects:
        if subject.spectrum.counts.failed < 2:
            continue
        report = technique.localize(subject.spectrum, subject.program)
        grouped = rank_groups(report, technique, subject.program)
        if len(grouped.groups) > 1:
            split.append(subject.name)
        names = [subject.spectrum.tests[i] for i in np.flatnonzero(subject.spectrum.failed).tolist()]
        ranks["one ranking"].append([rank_of(report, subject.faulty.tolist())])
        ranks["one per test"].append(alone(subject.spectrum, subject, names, technique))
        ranks["groups"].append([rank_of(best_group(grouped, names).report, subject.faulty.tolist())])
        tests = FailingTests(subject.spectrum, raised[subject.name])
        others.update({name: len(set(label.values())) > 1 for name, label in other_groups(tests).items()})
    count = len(ranks["groups"])
    return {
        "subjects": count,
        "split": len(split),
        "split percent": round(100 * len(split) / count, 1),
        "fell apart": split,
        "split percent of others": {name: round(100 * some / count, 1) for name, some in others.items()},
        **{name: figures(some) for name, some in ranks.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--technique", default="kulczynski2")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    technique = make_technique(options.technique)
    everything: dict[str, dict[str, object]] = {}
    for corpus in options.corpora:
        files, problems = read_index(corpus)
        subjects, raised = [], {}
        for file in files:
            try:
                subjects.append(read_subject(file))
                raised[subjects[-1].name] = tracebacks(file.tracebacks)
            except SuspectraError as error:
                problems.append(error.problem)
        for problem in problems:
            print(f"left out: {problem}")
        print(f"\n{corpus.name}, ranked by {technique.info.title}")
        found = everything[corpus.name] = {"one fault": one_fault(subjects, raised, technique)}
        print(f"  one fault: {found['one fault']}")
        for count, name in ((2, "pairs"), (3, "triples"), (5, "fives")):
            found[name] = several(subjects, raised, count, technique, options.seed)
            print(f"  {name}: {found[name]}", flush=True)
        for count, name in ((2, "pairs, few tests"), (3, "triples, few tests")):
            found[name] = several(subjects, raised, count, technique, options.seed, few=True)
            print(f"  {name}: {found[name]}", flush=True)
    print(json.dumps({"technique": technique.name, "seed": options.seed, "corpora": everything}))


if __name__ == "__main__":
    main()
