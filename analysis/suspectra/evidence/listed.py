"""Lists of things in messages."""

from __future__ import annotations

from collections.abc import Sequence

_NAMED = 10  # items a message names before it says how many more there are


def listed(items: Sequence[object], noun: str) -> str:
    """How many there are, and the names of the first.

    Parameters
    ----------
    items : sequence of object
        At least one.
    noun : str
        What one of them is.

    Returns
    -------
    str
        Part of a sentence.

    Examples
    --------
    >>> listed(["cart.py", "tax.py"], "file")
    '2 files (cart.py, tax.py)'
    """
    names = ", ".join(str(item) for item in items[:_NAMED])
    more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return f"{len(items)} {noun}{'s' if len(items) != 1 else ''} ({names}{more})"
