"""The reader's way from place to place, so that it can be retraced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from suspectra_server.state.ranking import Place

LONGEST = 1_000  # stops


@dataclass(frozen=True)
class Stop:
    """A place in a workspace folder, in the lines of the run."""

    folder: str
    place: Place


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
        del self._stops[:-LONGEST]

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

    def carry(self, folder: str, moved: Callable[[Place], Place | None]) -> None:
        """Follow the places of a folder into a new run; those that are gone are forgotten."""
        carried = {stop: stop for stop in {*self._stops, *self._seen}}
        for stop in carried:
            if stop.folder == folder:
                place = moved(stop.place)
                carried[stop] = Stop(folder, place) if place else None
        self._stops = [carried[stop] for stop in self._stops if carried[stop]]
        self._seen = {carried[stop] for stop in self._seen if carried[stop]}
