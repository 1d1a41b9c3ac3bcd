"""Whether one technique is better than another (signed-rank test), and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from suspectra.arrays import Floats
from suspectra.errors import Problem, UsageError


def increase_ratio(before: Floats | float, after: Floats | float) -> Floats | float:
    """(before - after)/before of an expense; above 0 is better (paper 004, Definition 2.3). 0 where both are 0.

    Parameters
    ----------
    before, after : float or ndarray of float64, shape (k,)
        Expenses without and with the change that is evaluated.

    Returns
    -------
    float or ndarray of float64, shape (k,)
        At most 1.

    Examples
    --------
    >>> round(increase_ratio(0.0095, 0.0080), 3)
    0.158
    """
    old, new = np.asarray(before, float), np.asarray(after, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(old == new, 0.0, (old - new) / old)
    return ratio if ratio.ndim else float(ratio)


@dataclass(frozen=True)
class SignedRankTest:
    """The result of a Wilcoxon signed-rank test (Wilcoxon 1945; paper 004, §3.2).

    Parameters
    ----------
    statistic : float
        The test statistic: a sum of ranks.
    p_value : float
        The probability of a difference at least this large if there is none between the populations.
    pairs : int
        The number of pairs that differ.

    Examples
    --------
    >>> test = wilcoxon([0.2, 0.3, 0.4], [0.1, 0.1, 0.1])
    >>> test.statistic, test.p_value, test.pairs
    (0.0, 0.25, 3)
    """

    statistic: float
    p_value: float
    pairs: int


def wilcoxon(
    before: Sequence[float] | Floats,
    after: Sequence[float] | Floats,
    alternative: Literal["two-sided", "less", "greater"] = "two-sided",
) -> SignedRankTest:
    """Test whether two paired samples differ (Wilcoxon signed-rank test; paper 004, §3.2).

    Pairs of equal values are left out. If no pair is left, the p-value is 1.

    Parameters
    ----------
    before, after : array of float, shape (subjects,)
        Paired by subject.
    alternative : str
        ``two-sided``, ``greater`` (before is greater than after) or ``less``.

    Returns
    -------
    SignedRankTest
        Over the pairs that differ.

    Raises
    ------
    UsageError
        When the samples are not of the same length.

    Examples
    --------
    >>> wilcoxon([0.2, 0.3, 0.4], [0.2, 0.3, 0.4])
    SignedRankTest(statistic=0.0, p_value=1.0, pairs=0)
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
