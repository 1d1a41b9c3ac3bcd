"""The statements that the reader visited, in order, so that they can go back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from suspectra_server.state.ranking import RecordedLine

MAX_STOPS = 1_000


@dataclass(frozen=True)
class Stop:
    """A statement in a workspace folder, by its line as it was run."""

    folder: str
    line: RecordedLine


class Trail:
    """The stops of the reader; the last one is where they are."""

    def __init__(self) -> None:
        self._stops: list[Stop] = []
        self._seen: set[Stop] = set()

    @property
    def current(self) -> Stop | None:
        """Where the reader is."""
        return self._stops[-1] if self._stops else None

    def go(self, stop: Stop, origin: Stop | None = None) -> None:
        """The reader went to a statement, from the current one or from one that they had found without a command."""
        for one in (origin, stop):
            if one is not None and one != self.current:
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
        """Whether this walk visited a statement, even if the reader went back from it."""
        return stop in self._seen

    def begin_again(self) -> None:
        """Forget what was visited, except the statement that the reader is on."""
        self._seen = {self.current} if self.current else set()

    def remap_lines(self, folder: str, moved: Callable[[RecordedLine], RecordedLine | None]) -> None:
        """Follow the stops of a folder into a new run; those that are gone are forgotten."""

        def remapped(stop: Stop) -> Stop | None:
            line = moved(stop.line) if stop.folder == folder else stop.line
            return Stop(stop.folder, line) if line else None

        now = {stop: remapped(stop) for stop in {*self._stops, *self._seen}}
        self._stops = [current for stop in self._stops if (current := now[stop])]
        self._seen = {current for stop in self._seen if (current := now[stop])}
