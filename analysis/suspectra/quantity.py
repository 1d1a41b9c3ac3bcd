"""Counts and enumerations as English text."""

from collections.abc import Iterable, Sequence

_NAMED = 3  # of many names


def many(count: int, noun: str) -> str:
    """A count and its noun, in the singular or the plural.

    Parameters
    ----------
    count : int
        How many.
    noun : str
        The noun in the singular. The plural appends an "s".

    Returns
    -------
    str
        Such as "1,200 lines".

    Examples
    --------
    >>> many(1, "failing test"), many(0, "line"), many(1200, "line")
    ('1 failing test', '0 lines', '1,200 lines')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def every(count: int) -> str:
    """Write that it is all of several.

    Parameters
    ----------
    count : int
        How many there are, at least 2.

    Returns
    -------
    str
        "both", or "all" with the number.

    Examples
    --------
    >>> every(2), every(1200)
    ('both', 'all 1,200')
    """
    return "both" if count == 2 else f"all {count:,}"


def are(count: int) -> str:
    """Write the verb that follows a count.

    Parameters
    ----------
    count : int
        How many.

    Returns
    -------
    str
        "is" or "are".

    Examples
    --------
    >>> are(1), are(0), are(2)
    ('is', 'are', 'are')
    """
    return "is" if count == 1 else "are"


def enumeration(names: Sequence[str], most: int | None = None) -> str:
    """Join names for use in a sentence.

    Parameters
    ----------
    names : sequence of str
        At least one.
    most : int, optional
        So many are named; of others it says how many there are.

    Returns
    -------
    str
        Separated by commas, with "and" before the last one.

    Examples
    --------
    >>> enumeration(["branches"]), enumeration(["branches", "kinds", "functions"])
    ('branches', 'branches, kinds and functions')
    >>> enumeration(["branches", "kinds", "functions"], most=1)
    'branches and 2 more'
    """
    if most is not None and len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def first_of(names: Sequence[str], most: int = _NAMED) -> str:
    """Join the first names of a list, and say how many more there are.

    Parameters
    ----------
    names : sequence of str
        Any number of them.
    most : int, optional
        So many are named.

    Returns
    -------
    str
        Separated by commas; only "and" how many more there are.

    Examples
    --------
    >>> first_of(["a.py", "b.py"]), first_of(["a.py", "b.py", "c.py", "d.py", "e.py"])
    ('a.py, b.py', 'a.py, b.py, c.py and 2 more')
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def ordinal(number: int) -> str:
    """Write a number as a place in an order.

    Parameters
    ----------
    number : int
        From 1.

    Returns
    -------
    str
        Such as "2nd".

    Examples
    --------
    >>> [ordinal(number) for number in (1, 2, 3, 11, 22, 112)]
    ['1st', '2nd', '3rd', '11th', '22nd', '112th']
    """
    last = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{last}"


def some(names: Iterable[str], glue: str = ", ") -> str:
    """Join the first three names, and say how many more there are.

    Parameters
    ----------
    names : iterable of str
        Any texts, such as names from a recording.
    glue : str
        What is between two.

    Returns
    -------
    str
        Without unprintable characters.

    Examples
    --------
    >>> some(["a.py", "b.py", "c.py", "d.py", "e.py"])
    'a.py, b.py, c.py, 2 more'
    """
    names = [visible(name) for name in names]
    more = f"{glue}{len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return glue.join(names[:_NAMED]) + more


def visible(text: str) -> str:
    r"""Escape unprintable characters, which a terminal could take for commands.

    Parameters
    ----------
    text : str
        Any text, such as a name from a recording.

    Returns
    -------
    str
        The text, with escapes for unprintable characters.

    Examples
    --------
    >>> visible("test_sum[\x1b]")
    'test_sum[\\x1b]'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
