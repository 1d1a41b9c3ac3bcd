"""A failure group as it is shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """A failure group as it is shown.

    Parameters
    ----------
    number : int
        It stays over re-runs.
    title, heading : str
        The exception and a place; the same with a sign and the number of tests.
    sure : bool
        False for compiled programs, in which groups are less certain.
    tests : tuple of str
        Its failing tests.
    covered : tuple of str
        Those of them that say what it is about, in the same order.
    uncovered : tuple of str
        Those of them that executed nothing that may be a suspect.
    """

    number: int
    title: str
    heading: str
    sure: bool
    tests: tuple[str, ...]
    covered: tuple[str, ...]
    uncovered: tuple[str, ...] = ()
