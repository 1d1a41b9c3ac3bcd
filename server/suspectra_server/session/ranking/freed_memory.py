"""Memory that is not in use: the next ranking takes it, and after a rest it goes back to the system.

Rankings and debugging models are large arrays that come and go. Small objects that stay between them keep the C library
from returning their memory to the system, so a session of days would take more and more. But where each array gets
fresh pages from the system, the first write to each page costs more than the calculation.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import cache

MMAP_LIMIT = 256 << 20
"""Bytes from which an array gets pages of its own, which go back to the system with it."""

RESERVE = 256 << 20
"""Bytes of unused memory at the end of the heap that are kept until the next release."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # options of mallopt


def reuse_memory() -> None:
    """Let arrays take the memory of earlier ones; called once, when the server starts."""
    library = _library()
    if library is not None:
        library.mallopt(_MMAP_THRESHOLD, MMAP_LIMIT)
        library.mallopt(_TRIM_THRESHOLD, RESERVE)


def release_memory() -> None:
    """Collect young garbage, and return all unused pages to the system."""
    gc.collect(0)
    library = _library()
    if library is not None:
        library.malloc_trim(0)


@cache
def _library() -> ctypes.CDLL | None:
    """The C library; only glibc has these functions, and only glibc needs them."""
    if sys.platform != "linux":
        return None
    try:
        library = ctypes.CDLL(None)
        _ = library.malloc_trim, library.mallopt
    except (OSError, AttributeError):
        return None
    return library
