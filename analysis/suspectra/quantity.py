"""How many there are of something, in words."""


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
