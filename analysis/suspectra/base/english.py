"""Counts and enumerations as English text."""

from collections.abc import Iterable, Sequence

_NAMED = 3  # of many names
_LISTED = 10  # the most that a list in a message names


def many(count: int, noun: str) -> str:
    """A count and its noun, in the singular or the plural."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def every(count: int) -> str:
    """Write that it is all of several."""
    return "both" if count == 2 else f"all {count:,}"


def are(count: int) -> str:
    """Write the verb that follows a count."""
    return "is" if count == 1 else "are"


def share_does(count: int, of: int, noun: str, verb: str) -> str:
    """Say how many of several do something, as "both tests pass" or "1 of 3 tests fails"."""
    one_does = f"{verb}{'es' if verb.endswith('s') else 's'}"
    return f"{share(count, of, noun)} {one_does if count == 1 else verb}"


def share(count: int, of: int, noun: str) -> str:
    """Say how many of several it is, as "the test", "both tests" or "1 of 3 tests"."""
    if of == 1:
        return f"the {noun}"
    return f"{every(of)} {noun}s" if count == of else f"{count:,} of {of:,} {noun}s"


def enumeration(names: Sequence[str], most: int | None = None) -> str:
    """Join names for use in a sentence.

    Separated by commas, with "and" before the last one.
    """
    if most is not None and len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def first_of(names: Sequence[str], most: int = _NAMED) -> str:
    """Join the first names of a list, and say how many more there are.

    Separated by commas; only "and" how many more there are.
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def ordinal(number: int) -> str:
    """Write a number as a place in an order."""
    last = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{last}"


def some(names: Iterable[str], glue: str = ", ") -> str:
    """Join the first three names, and say how many more there are."""
    names = [visible(name) for name in names]
    more = f"{glue}{len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return glue.join(names[:_NAMED]) + more


def visible(text: str) -> str:
    """Escape unprintable characters, which a terminal could take for commands."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def listed(items: Sequence[object], noun: str) -> str:
    """Say how many items there are, and name the first ones."""
    names = ", ".join(str(item) for item in items[:_LISTED])
    more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
    return f"{len(items)} {noun}{'s' if len(items) != 1 else ''} ({names}{more})"
