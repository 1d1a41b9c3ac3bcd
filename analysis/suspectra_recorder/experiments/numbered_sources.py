"""The sources that a process has loaded. Each point in them that can be altered has a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins

PointT = TypeVar("PointT")


@dataclass
class NumberedSource(Generic[PointT]):
    """A source of this process.

    Parameters
    ----------
    path : str
        Relative to the workspace, forward slashes.
    first : int
        The number of its first point.
    points : sequence
        What can be altered, by number from `first` on: decisions, or assigned values.

    Examples
    --------
    >>> source = NumberedSource("price.py", first=10, points=["if", "while"])
    >>> source.first + source.points.index("while")
    11
    """

    path: str
    first: int
    points: Sequence[PointT]


class NumberedSources(Generic[PointT]):
    """The loaded sources of a process, for one kind of points.

    Attributes
    ----------
    loaded : list of NumberedSource
        In the order in which they were loaded.
    next : int
        The number of the first point of the next source.

    Examples
    --------
    >>> sources, found = NumberedSources(), []
    >>> sources.add("cart.py", ["if", "while"])
    >>> sources.watch(lambda source: found.append((source.path, source.first)))
    >>> sources.add("shop.py", ["for"])
    >>> found, sources.next
    ([('cart.py', 0), ('shop.py', 2)], 3)
    >>> sources.unwatch()
    """

    def __init__(self) -> None:
        self.loaded: list[NumberedSource[PointT]] = []
        self.next = 0
        self._notify: Callable[[NumberedSource[PointT]], object] = _ignore

    def add(self, path: str, points: Sequence[PointT], numbers: int = 0) -> None:
        """Add a source, whose points have the numbers from `next` on.

        Parameters
        ----------
        path : str
            Relative to the workspace.
        points : sequence
            What can be altered.
        numbers : int
            How many numbers the source needs, if it needs more than it has points.
        """
        source = NumberedSource(path, self.next, points)
        self.loaded.append(source)
        self.next += max(len(points), numbers)
        self._notify(source)

    def watch(self, notify: Callable[[NumberedSource[PointT]], object]) -> None:
        """Call a function with each source that is loaded, and from now on with each that is added.

        Parameters
        ----------
        notify : callable
            Replaces the function of an earlier call.
        """
        for source in self.loaded:
            notify(source)
        self._notify = notify

    def unwatch(self) -> None:
        """Call that function no more."""
        self._notify = _ignore


def _ignore(source: NumberedSource[PointT]) -> None:
    pass
