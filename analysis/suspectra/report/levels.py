"""Levels: the distinct scores in order. Scores that are equal on paper share a level."""

from __future__ import annotations

import numpy as np

from suspectra.base.arrays import Floats, Ints

# Scores that agree to this many significant digits are equal: formulas divide, and quotients that are equal on paper
# may differ in the last bits.
SIGNIFICANT_DIGITS = 12
with np.errstate(over="ignore"):
    _POWERS = 10.0 ** np.concatenate([np.arange(400), np.arange(-400, 0)])  # by exponent, also by a negative one


def levels_of(scores: Floats) -> tuple[Floats, Ints]:
    """Return the distinct scores, highest first, and the level of each score.

    Statements of one basic block share a score, so each run of equal neighbours is looked up once.

    The scores are of shape (levels,): rounded to significant digits, descending, none a negative zero. The levels are
    of shape (n,).
    """
    if not len(scores):
        return np.zeros(0), np.zeros(0, np.int64)
    opens = np.flatnonzero(np.concatenate([[True], scores[1:] != scores[:-1]]))
    levels, of_run = np.unique(-round_significant(scores[opens]), return_inverse=True)
    return 0.0 - levels, np.repeat(of_run, np.diff(opens, append=len(scores)))


def comparable(scores: Floats) -> Floats:
    """Return scores that are equal where they are equal on paper: rounded, and NaN as the lowest.

    Of shape (n,). None is NaN.
    """
    return round_significant(np.nan_to_num(scores, nan=-np.inf, posinf=np.inf, neginf=-np.inf))


def round_significant(values: Floats, digits: int = SIGNIFICANT_DIGITS) -> Floats:
    """Round to significant decimal digits; zeros and infinities stay.

    Of shape (n,). Numbers closer to 0 than 1e-290 are not rounded.
    """
    values = np.asarray(values, float).copy()
    plain = np.isfinite(values) & (values != 0)
    # 1e-290 and smaller would need a power of ten that float64 does not have
    plain &= np.abs(values) > 1e-290
    scale = _POWERS[digits - 1 - np.floor(np.log10(np.abs(values[plain]))).astype(int)]  # quicker than to compute them
    rounded = np.round(values[plain] * scale) / scale
    values[plain] = np.where(np.isfinite(rounded), rounded, values[plain])
    return values
