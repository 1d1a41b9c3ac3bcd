"""C++ names as their author wrote them."""

from __future__ import annotations

from functools import lru_cache

import itanium_demangler


@lru_cache(maxsize=65536)
def demangled(name: str) -> str:
    """The name of a C++ function from its linker name.

    A name of C stays as it is, and so does one that the parser does not cover, such as that of a lambda.

    Parameters
    ----------
    name : str
        As the linker knows it.

    Returns
    -------
    str
        As the source has it.

    Examples
    --------
    >>> demangled("_ZN4cart5totalEi"), demangled("_ZNK4cart5emptyEv"), demangled("main")
    ('cart::total(int)', 'cart::empty() const', 'main')
    """
    if not name.startswith("_Z"):
        return name
    try:
        parsed = itanium_demangler.parse(name)
    except (NotImplementedError, RecursionError, ValueError, IndexError, KeyError, AttributeError, TypeError):
        return name  # the parser covers most, not all, of the grammar
    if parsed is None:
        return name
    if parsed.kind == "func" and parsed.name.kind == "cv_qual":  # the qualifiers of a method stand at its end
        qualifiers = sorted(parsed.name.qual)
        return " ".join([str(parsed._replace(name=parsed.name.value)), *qualifiers])
    return str(parsed)
