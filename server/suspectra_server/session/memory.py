"""Releasing memory that is not in use.

Rankings and debugging models are large arrays that come and go. Small objects that stay between them keep the C library
from returning their memory to the system, so a session of days would take more and more.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from functools import cache


def release_memory() -> None:
    """Collect young garbage, and return all unused pages to the system."""
    gc.collect(0)
    _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    """The function of the C library that does it; only glibc has one, and only glibc needs it."""
    if sys.platform == "linux":
        try:
            return ctypes.CDLL(None).malloc_trim
        except (OSError, AttributeError):
            pass
    return lambda pad: None
