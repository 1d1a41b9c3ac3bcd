"""How many there are of something, and enumerations, in words."""

from collections.abc import Sequence


def many(count: int, noun: str) -> str:
    """A number of things.

    Parameters
    ----------
    count : int
        How many.
    noun : str
        One of them; the last word gets an s where there are more or none.

    Returns
    -------
    str
        With a comma between thousands.

    Examples
    --------
    >>> many(1, "failing test"), many(0, "line"), many(1200, "line")
    ('1 failing test', '0 lines', '1,200 lines')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def enumeration(names: Sequence[str]) -> str:
    """Several names, as a sentence has them.

    Parameters
    ----------
    names : sequence of str
        At least one.

    Returns
    -------
    str
        With commas, and an "and" before the last one.

    Examples
    --------
    >>> enumeration(["branches"]), enumeration(["branches", "kinds", "functions"])
    ('branches', 'branches, kinds and functions')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
