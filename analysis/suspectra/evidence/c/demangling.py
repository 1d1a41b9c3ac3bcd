"""Demangling of C++ names."""

from __future__ import annotations

from functools import lru_cache

import itanium_demangler


@lru_cache(maxsize=65536)
def demangled(name: str) -> str:
    """Return the source name of a C++ function, given its linker name.

    C names, and names that the parser does not support, such as those of lambdas, are returned unchanged.
    """
    if not name.startswith("_Z"):
        return name
    try:
        parsed = itanium_demangler.parse(name)
    except (NotImplementedError, RecursionError, ValueError, IndexError, KeyError, AttributeError, TypeError):
        return name  # the parser supports most of the grammar, but not all
    if parsed is None:
        return name
    if parsed.kind == "func" and parsed.name.kind == "cv_qual":  # qualifiers of a method follow its parameters
        qualifiers = sorted(parsed.name.qual)
        return " ".join([str(parsed._replace(name=parsed.name.value)), *qualifiers])
    return str(parsed)
