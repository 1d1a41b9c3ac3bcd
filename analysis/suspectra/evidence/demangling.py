"""C++ names as their author wrote them."""

from __future__ import annotations

from functools import lru_cache

import itanium_demangler


@lru_cache(maxsize=65536)
def demangled(name: str) -> str:
    """The name of a C++ function from its linker name; a name of C, or one that can't be read, stays as it is.

    Examples
    --------
    >>> demangled("_ZN4cart5totalEi"), demangled("main")
    ('cart::total(int)', 'main')
    """
    if not name.startswith("_Z"):
        return name
    try:
        parsed = itanium_demangler.parse(name)
    except (NotImplementedError, RecursionError, ValueError, IndexError, KeyError, AttributeError, TypeError):
        return name  # the parser covers most, not all, of the grammar
    return str(parsed) if parsed is not None else name
