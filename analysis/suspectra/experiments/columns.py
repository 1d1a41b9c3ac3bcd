"""Columns of numbers, as machines answer them."""

from __future__ import annotations

from base64 import b64decode

import numpy as np

from suspectra.base.arrays import Ints


def read_column(text: str) -> Ints:
    """Read a column of numbers.

    Of shape (n,).
    """
    return np.frombuffer(b64decode(text), np.int32).astype(np.int64)
