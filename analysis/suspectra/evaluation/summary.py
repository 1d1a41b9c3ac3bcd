"""What the results of a study say: figures by technique, and techniques against one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from suspectra.arrays import Floats
from suspectra.evaluation.significance import wilcoxon
from suspectra.evaluation.study import Result

TOP = (1, 5, 10)

Run = tuple[str, int]
"""A technique, and 1 where it clones failed tests."""


@dataclass(frozen=True)
class Summary:
    """The figures of one technique over some subjects.

    `top` gives for each N of :data:`TOP` in how many subjects the fault stands among the first N, with ties counted
    at best, on average and at worst: how ties are counted decides such figures, so all three are told.

    Parameters
    ----------
    technique : str
        What the tables call it.
    clone : int
        1 where failed tests are cloned, else 0.
    subjects : int
        How many.
    mean, median, deviation : float
        Of EXAM over the subjects.
    lowest, highest : float
        Of EXAM.
    top : tuple of (int, int, int)
        For each N, at best, on average and at worst.

    Examples
    --------
    >>> (summary,) = summarize([Result("shop", "shop-17", "ochiai", 0, 10, 1, 2.0, 3)])
    >>> summary.mean, dict(zip(TOP, summary.top))
    (0.2, {1: (1, 0, 0), 5: (1, 1, 1), 10: (1, 1, 1)})
    """

    technique: str
    clone: int
    subjects: int
    mean: float
    median: float
    deviation: float
    lowest: float
    highest: float
    top: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Comparison:
    """One technique against the reference, subject by subject.

    Parameters
    ----------
    technique : str
        What the tables call it.
    clone : int
        1 where failed tests are cloned, else 0.
    better, equal, worse : int
        Subjects whose EXAM is lower, the same, higher than by the reference.
    p_value : float
        Wilcoxon's, two-sided.

    Examples
    --------
    >>> Comparison("dstar", 0, better=3, equal=1, worse=2, p_value=0.4).better
    3
    """

    technique: str
    clone: int
    better: int
    equal: int
    worse: int
    p_value: float


def by_run(results: Iterable[Result]) -> dict[Run, list[Result]]:
    """The results of each technique, in the order of the study.

    Parameters
    ----------
    results : iterable of Result
        Of one study.

    Returns
    -------
    dict of Run to list of Result
        By the technique and whether it clones.

    Examples
    --------
    >>> list(by_run([Result("shop", "shop-17", "ochiai", 0, 10, 1, 2.0, 3)]))
    [('ochiai', 0)]
    """
    groups: dict[Run, list[Result]] = {}
    for result in results:
        groups.setdefault((result.technique, result.clone), []).append(result)
    return groups


def summarize(results: Iterable[Result]) -> list[Summary]:
    """Figures by technique.

    Parameters
    ----------
    results : iterable of Result
        Of one study.

    Returns
    -------
    list of Summary
        In the order of the study.

    Examples
    --------
    >>> [(s.technique, s.mean, s.top[0]) for s in summarize([Result("a", "b", "ochiai", 0, 10, 1, 2.0, 3)])]
    [('ochiai', 0.2, (1, 0, 0))]
    """
    found = []
    for (technique, clone), own in by_run(results).items():
        exam = np.array([result.exam for result in own])
        ranks = np.array([[result.rank_best, result.rank_average, result.rank_worst] for result in own])
        top = []
        for n in TOP:
            best, average, worst = (ranks <= n).sum(axis=0).tolist()
            top.append((best, average, worst))
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
            )
        )
    return found


def compare(results: Sequence[Result], reference: Run | None = None) -> list[Comparison]:
    """Every technique against one, over the subjects both ranked.

    Parameters
    ----------
    results : sequence of Result
        Of one study.
    reference : (str, int), optional
        The first technique if left out.

    Returns
    -------
    list of Comparison
        Empty without results.

    Examples
    --------
    >>> ochiai = Result("shop", "shop-17", "ochiai", 0, 10, 1, 2.0, 3)
    >>> dstar = Result("shop", "shop-17", "dstar", 0, 10, 1, 1.0, 1)
    >>> [(one.technique, one.better, one.worse) for one in compare([ochiai, dstar])]
    [('dstar', 1, 0)]
    """
    groups = by_run(results)
    if not groups:
        return []
    reference = reference if reference in groups else next(iter(groups))
    base = {(r.family, r.subject): r.exam for r in groups[reference]}
    found = []
    for run, own in groups.items():
        if run == reference:
            continue
        pairs = [(r.exam, base[r.family, r.subject]) for r in own if (r.family, r.subject) in base]
        one, other = (np.array(side) for side in zip(*pairs, strict=True)) if pairs else (np.zeros(0), np.zeros(0))
        better, equal = int((one < other).sum()), int((one == other).sum())
        found.append(Comparison(*run, better, equal, len(pairs) - better - equal, wilcoxon(one, other).p_value))
    return found


def found_within(results: Iterable[Result], shares: Floats) -> Floats:
    """The share of faults found when each of these shares of the code is examined (paper 000, Figure 2).

    Parameters
    ----------
    results : iterable of Result
        Of one technique.
    shares : ndarray of float64, shape (k,)
        From 0 to 1.

    Returns
    -------
    ndarray of float64, shape (k,)
        From 0 to 1.

    Examples
    --------
    >>> results = [Result("shop", name, "ochiai", 0, 10, 1, rank, 5) for name, rank in (("17", 2.0), ("18", 5.0))]
    >>> found_within(results, np.array([0.1, 0.2, 0.5])).tolist()
    [0.0, 0.5, 1.0]
    """
    exam = np.sort([result.exam for result in results])
    return np.searchsorted(exam, shares, side="right") / max(len(exam), 1)
