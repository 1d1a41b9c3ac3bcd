"""Giving back memory that is not in use.

Rankings and debugging models come and go as large arrays, and what stays between them keeps the C library from giving
their room back. In a session of days that room would become ever more.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Collect what was lately left in cycles, and give all pages back on which nothing is left."""
    gc.collect(0)
    _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    """The C library's own way; only glibc has one, and only glibc needs one."""
    if sys.platform == "linux":
        try:
            return ctypes.CDLL(None).malloc_trim
        except (OSError, AttributeError):
            pass
    return lambda pad: None
