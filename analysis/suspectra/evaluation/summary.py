"""The summary of a study: statistics of each technique, and comparisons of techniques."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suspectra.base.arrays import Floats, Ints
from suspectra.evaluation.significance import increase_ratio, wilcoxon
from suspectra.evaluation.study import Result

TOP = (1, 5, 10)
TOP_PERCENT = 5
DIFFERENCES = (1, 5, 10)
"""Percent of the code, by which paper 000 (Table 3) counts differences."""
SAMPLES = 2_000
"""The number of bootstrap samples for confidence intervals. Subjects are drawn within their families."""

Run = tuple[str, int]
"""A technique, and 1 where it clones failed tests."""


@dataclass(frozen=True)
class Summary:
    """The statistics of one technique over some subjects.

    For each N of :data:`TOP`, `top` gives the number of subjects with a fault among the first N, by the best, average
    and worst rank of ties. The choice strongly affects such figures, so all three are given.
    """

    technique: str  # the name of the technique in tables
    clone: int  # 1 where failed tests are cloned, else 0
    subjects: int  # the number of subjects
    # of EXAM over the subjects
    mean: float
    median: float
    deviation: float
    # of EXAM
    lowest: float
    highest: float
    top: tuple[tuple[int, int, int], ...]  # for each N, at best, on average and at worst
    top_percent: tuple[int, int, int]  # the same for the first 5 % of the program
    t_score: float | None = None  # the mean T-score of the subjects that have one


class Interval(NamedTuple):
    """A statistic and its 95 % bootstrap confidence interval."""

    value: float  # the statistic of the subjects themselves
    # the 2.5th and the 97.5th percentile over the samples
    low: float
    high: float


@dataclass(frozen=True)
class TechniqueComparison:
    """The comparison of one technique with the reference, subject by subject."""

    technique: str  # the name of the technique in tables
    clone: int  # 1 where failed tests are cloned, else 0
    # the number of subjects whose EXAM is lower than, equal to and higher than the reference's
    better: int
    equal: int
    worse: int
    p_value: float  # wilcoxon's, two-sided
    ratio: Interval  # the mean EXAM, divided by that of the reference
    # for each of DIFFERENCES the numbers of subjects whose EXAM is lower by more, about equal, and higher by more
    differences: tuple[tuple[int, int, int], ...]
    # how many more faults than by the reference are among the first five, by the average rank of ties
    top_five: Interval


def by_run(results: Iterable[Result]) -> dict[Run, list[Result]]:
    """The results of each technique, in the order of the study."""
    groups: dict[Run, list[Result]] = {}
    for result in results:
        groups.setdefault((result.technique, result.clone), []).append(result)
    return groups


def summarize(results: Iterable[Result]) -> list[Summary]:
    """Compute the statistics of each technique.

    In the order of the study.
    """
    found = []
    for (technique, clone), own in by_run(results).items():
        exam = np.array([result.exam for result in own])
        ranks = np.array([[result.rank_best, result.rank_average, result.rank_worst] for result in own])
        top = []
        for n in TOP:
            best, average, worst = (ranks <= n).sum(axis=0).tolist()
            top.append((best, average, worst))
        size = np.array([[result.n] for result in own])
        best, average, worst = (ranks <= size * TOP_PERCENT / 100).sum(axis=0).tolist()
        searched = [result.t_score for result in own if result.t_score is not None]
        deviation = float(exam.std(ddof=1)) if len(exam) > 1 else 0.0
        found.append(
            Summary(
                technique,
                clone,
                len(own),
                float(exam.mean()),
                float(np.median(exam)),
                deviation,
                float(exam.min()),
                float(exam.max()),
                tuple(top),
                (best, average, worst),
                float(np.mean(searched)) if searched else None,
            )
        )
    return found


def compare(results: Sequence[Result], reference: Run | None = None) -> list[TechniqueComparison]:
    """Compare each technique with a reference, over the subjects that both ranked."""
    groups = by_run(results)
    if not groups:
        return []
    reference = reference if reference in groups else next(iter(groups))
    base = {(r.family, r.subject): r for r in groups[reference]}
    found = []
    for run, own in groups.items():
        if run == reference:
            continue
        both = [(r, base[r.family, r.subject]) for r in own if (r.family, r.subject) in base]
        one, other = (np.array([pair[side].exam for pair in both]) for side in (0, 1))
        more = np.array([(r.rank_average <= 5) * 1.0 - (b.rank_average <= 5) for r, b in both])
        better, equal = int((one < other).sum()), int((one == other).sum())
        samples = _samples([r.family for r, _ in both])
        with np.errstate(invalid="ignore"):  # techniques that ranked no subject both have no ratio
            ratio = one.sum() / other.sum()
            ratios = one[samples].sum(axis=1) / other[samples].sum(axis=1)
        found.append(
            TechniqueComparison(
                *run,
                better,
                equal,
                len(both) - better - equal,
                wilcoxon(one, other).p_value,
                _interval(ratio, ratios),
                tuple(_difference(one - other, percent / 100) for percent in DIFFERENCES),
                _interval(more.sum(), more[samples].sum(axis=1)),
            )
        )
    return found


def _difference(change: Floats, bound: float) -> tuple[int, int, int]:
    change = np.round(change, 12)  # a difference of exactly one percent is not more than that
    lower, higher = int((change < -bound).sum()), int((change > bound).sum())
    return lower, len(change) - lower - higher, higher


@dataclass(frozen=True)
class CloningEffect:
    """What cloning failed tests changes for one formula (paper 004, Tables 3 to 5)."""

    technique: str
    subjects: int
    # the mean increase ratio of the expense, with ties at their middle (Avg), their last (Max) and first (Min) place
    average: float
    worst: float
    best: float
    # the number of subjects with a fault among the first five, and in the first 5 %, by the average rank of ties:
    # without cloning, and with it
    top_five: tuple[int, int]
    top_percent: tuple[int, int]
    p_value: float  # wilcoxon's of the Avg expense, two-sided


def cloning_effects(results: Iterable[Result]) -> list[CloningEffect]:
    """Compare each formula with and without cloning, over the subjects that both ranked."""
    groups = by_run(results)
    found = []
    for (technique, clone), own in groups.items():
        cloned = {(r.family, r.subject): r for r in groups.get((technique, 1), [])}
        pairs = [(r, cloned[r.family, r.subject]) for r in own if (r.family, r.subject) in cloned]
        if clone or not pairs:
            continue
        expenses = np.array([[_expenses(one) for one in pair] for pair in pairs])  # (subjects, 2, 3)
        ratios = increase_ratio(expenses[:, 0], expenses[:, 1])
        average, worst, best = np.mean(ratios, axis=0).tolist()
        five, percent = (
            [sum(r.rank_average <= bound(r) for r in side) for side in zip(*pairs, strict=True)]
            for bound in (lambda r: 5, lambda r: r.n * TOP_PERCENT / 100)
        )
        p_value = wilcoxon(expenses[:, 0, 0], expenses[:, 1, 0]).p_value
        found.append(
            CloningEffect(
                technique, len(pairs), average, worst, best, (five[0], five[1]), (percent[0], percent[1]), p_value
            )
        )
    return found


def _expenses(result: Result) -> tuple[float, float, float]:
    """Avg, Max and Min expense (paper 004, Definition 2.2 and §3.2.2)."""
    middle = (result.rank_best + result.rank_worst) // 2
    return middle / result.n, result.rank_worst / result.n, result.rank_best / result.n


def _samples(families: Sequence[str]) -> Ints:
    """Subjects drawn with replacement, from each family as many as it has; shape (samples, subjects)."""
    chance, samples = np.random.default_rng(0), np.empty((SAMPLES, len(families)), np.int64)
    for family in dict.fromkeys(families):
        own = np.flatnonzero([name == family for name in families])
        samples[:, own] = chance.choice(own, (SAMPLES, len(own)))
    return samples


def _interval(value: float, drawn: Floats) -> Interval:
    low, high = np.percentile(drawn, [2.5, 97.5]).tolist()
    return Interval(float(value), low, high)


def found_within(results: Iterable[Result], shares: Floats) -> Floats:
    """The share of faults found when each of these shares of the code is examined (paper 000, Figure 2).

    Of shape (k,).
    """
    exam = np.sort([result.exam for result in results])
    return np.searchsorted(exam, shares, side="right") / max(len(exam), 1)
