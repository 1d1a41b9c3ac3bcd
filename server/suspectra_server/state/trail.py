"""The reader's way from place to place, so that it can be retraced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from suspectra_server.state.ranking import RecordedLine

MAX_STOPS = 1_000  # stops


@dataclass(frozen=True)
class Stop:
    """A place in a workspace folder, in the lines of the run."""

    folder: str
    line: RecordedLine


class Trail:
    """Where the reader was, the last stop being where they are."""

    def __init__(self) -> None:
        self._stops: list[Stop] = []
        self._seen: set[Stop] = set()

    @property
    def here(self) -> Stop | None:
        """Where the reader is."""
        return self._stops[-1] if self._stops else None

    def go(self, stop: Stop, origin: Stop | None = None) -> None:
        """The reader went to a place, from where they are or from a place they had found themselves."""
        for one in (origin, stop):
            if one is not None and one != self.here:
                self._stops.append(one)
                self._seen.add(one)
        del self._stops[:-MAX_STOPS]

    def back(self) -> Stop | None:
        """Go back one stop; None, and stay, where there is none."""
        if len(self._stops) < 2:
            return None
        self._stops.pop()
        return self._stops[-1]

    def saw(self, stop: Stop) -> bool:
        """Whether this walk came by a place, retraced or not."""
        return stop in self._seen

    def begin_again(self) -> None:
        """Take every place as not yet seen, but for the one the reader is at."""
        self._seen = {self.here} if self.here else set()

    def remap_lines(self, folder: str, moved: Callable[[RecordedLine], RecordedLine | None]) -> None:
        """Follow the places of a folder into a new run; those that are gone are forgotten."""

        def remapped(stop: Stop) -> Stop | None:
            line = moved(stop.line) if stop.folder == folder else stop.line
            return Stop(stop.folder, line) if line else None

        now = {stop: remapped(stop) for stop in {*self._stops, *self._seen}}
        self._stops = [current for stop in self._stops if (current := now[stop])]
        self._seen = {current for stop in self._seen if (current := now[stop])}
