"""The sources that a process has loaded. Each point in them that can be altered has a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

PointT = TypeVar("PointT")


@dataclass
class NumberedSource(Generic[PointT]):
    """A source of this process."""

    path: str  # relative to the workspace, forward slashes
    first: int  # the number of its first point
    points: Sequence[PointT]  # what can be altered, by number from `first` on: decisions, or assigned values


class NumberedSources(Generic[PointT]):
    """The loaded sources of a process, for one kind of points."""

    def __init__(self) -> None:
        self.loaded: list[NumberedSource[PointT]] = []  # in the order in which they were loaded
        self.next = 0  # the number of the first point of the next source
        self._notify: Callable[[NumberedSource[PointT]], object] = _ignore

    def add(self, path: str, points: Sequence[PointT], numbers: int = 0) -> None:
        """Add a source, whose points have the numbers from `next` on."""
        source = NumberedSource(path, self.next, points)
        self.loaded.append(source)
        # a source may use more numbers than it has points, as for comparisons
        self.next += max(len(points), numbers)
        self._notify(source)

    def watch(self, notify: Callable[[NumberedSource[PointT]], object]) -> None:
        """Call a function with each source that is loaded, and from now on with each that is added."""
        for source in self.loaded:
            notify(source)
        self._notify = notify

    def unwatch(self) -> None:
        """Call that function no more."""
        self._notify = _ignore


def _ignore(source: NumberedSource[PointT]) -> None:
    pass
