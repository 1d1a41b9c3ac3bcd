"""The names by which tests are told apart."""

from __future__ import annotations

from collections.abc import Sequence

from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins


def distinct_names(names: Sequence[str]) -> list[str]:
    """Number tests of the same name, from the second one on.

    The first one keeps its name: where it is alone, as where a part of the tests runs, it is the same test.

    Parameters
    ----------
    names : sequence of str
        The tests, in the order in which they were collected.

    Returns
    -------
    list of str
        A name for each, which no other one has.

    Examples
    --------
    >>> distinct_names(["print", "len", "print", "print[1]", "print"])
    ['print', 'len', 'print[2]', 'print[1]', 'print[3]']
    """
    taken = set(names)
    if len(taken) == len(names):
        return list(names)
    seen: set[str] = set()
    numbers: dict[str, int] = {}
    distinct = []
    for name in names:
        candidate = name
        while candidate in seen or (candidate != name and candidate in taken):
            numbers[name] = numbers.get(name, 0) + 1
            candidate = f"{name}[{numbers[name]}]"
        seen.add(candidate)
        distinct.append(candidate)
    return distinct
