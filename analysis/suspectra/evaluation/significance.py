"""Whether one technique is better than another (signed-rank test), and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from suspectra.base.arrays import Floats
from suspectra.base.errors import Problem, UsageError


def increase_ratio(before: Floats | float, after: Floats | float) -> Floats | float:
    """(before - after)/before of an expense; above 0 is better (paper 004, Definition 2.3). 0 where both are 0.

    Of shape (k,).
    """
    old, new = np.asarray(before, float), np.asarray(after, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(old == new, 0.0, (old - new) / old)
    return ratio if ratio.ndim else float(ratio)


@dataclass(frozen=True)
class SignedRankTest:
    """The result of a Wilcoxon signed-rank test (Wilcoxon 1945; paper 004, §3.2)."""

    statistic: float  # the test statistic: a sum of ranks
    p_value: float  # the probability of a difference at least this large if there is none between the populations
    pairs: int  # the number of pairs that differ


def wilcoxon(
    before: Sequence[float] | Floats,
    after: Sequence[float] | Floats,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
) -> SignedRankTest:
    """Test whether two paired samples differ (Wilcoxon signed-rank test; paper 004, §3.2).

    Pairs of equal values are left out. If no pair is left, the p-value is 1.

    Raises UsageError when the samples are not of the same length.
    """
    x, y = (np.asarray(sample, float).reshape(-1) for sample in (before, after))
    if x.shape != y.shape:
        cause = f"{len(x)} scores are paired with {len(y)}"
        raise UsageError(Problem("", "", cause, "give one score a subject on either side"))
    with np.errstate(invalid="ignore"):
        differ = x != y
    if not differ.any():
        return SignedRankTest(0.0, 1.0, 0)
    result = stats.wilcoxon(x[differ], y[differ], alternative=alternative)
    return SignedRankTest(float(result.statistic), float(result.pvalue), int(differ.sum()))


def independent_t(one: Sequence[float] | Floats, other: Sequence[float] | Floats) -> float:
    """Test whether two independent samples have the same mean (two-sample t-test; paper 003, Table III).

    Its p-value; 1 where a sample has fewer than two values, or all values are equal.
    """
    x, y = (np.asarray(sample, float).reshape(-1) for sample in (one, other))
    if min(len(x), len(y)) < 2 or np.ptp(np.concatenate([x, y])) == 0:
        return 1.0
    return float(stats.ttest_ind(x, y).pvalue)
