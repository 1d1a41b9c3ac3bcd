"""The order of experiments: which kind, with which failing test, is worth most per second.

Experiments of a kind with a test form a stream, most suspicious statements first. A stream is continued for a moment at
a time; how much suspicion it met per second in its last moment says what its next one is worth. So a stream is left
when it comes to statements that are hardly suspicious, and continued when the others have become worse. Failure groups
get equal shares of the time.

So costs need no model: what is slow for this test has a low rate, and waits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_OTHER_TEST = 0.5
"""What a stream that has not begun is worth, in relation to the first moment of its kind with a test of the group."""


class Stream(NamedTuple):
    """Experiments of one kind with one failing test."""

    group: int  # the failure group of the test
    test: str  # its name
    kind: str  # the kind of experiments


@dataclass
class _State:
    first: float | None = None  # suspicion per second, in the first moment
    last: float = 0.0


class ExperimentSchedule:
    """Says which stream to continue."""

    def __init__(self, streams: Iterable[Stream]):
        self._open = dict.fromkeys(streams)
        self._states: dict[Stream, _State] = defaultdict(_State)
        self._seconds: dict[int, float] = defaultdict(float)  # by group
        self._hastened: set[tuple[int, str]] = set()
        self._tried: Counter[tuple[int, str, tuple[str, int]]] = Counter()

    def next(self) -> Stream | None:
        """The stream to continue.

        None when all have ended.
        """
        if not self._open:
            return None
        group = min((stream.group for stream in self._open), key=lambda group: self._seconds[group])
        return max((stream for stream in self._open if stream.group == group), key=self._worth)

    def took(
        self,
        stream: Stream,
        seconds: float,
        places: Sequence[tuple[str, int]],
        suspicion: Callable[[tuple[str, int]], float],
    ) -> None:
        """Note what a moment of a stream brought."""
        met = 0.0
        for place in places:
            self._tried[stream.group, stream.kind, place] += 1
            met += suspicion(place) / self._tried[stream.group, stream.kind, place]
        state = self._states[stream]
        state.last = met / max(seconds, 1e-6)
        if state.first is None:
            state.first = state.last
        self.spent(stream.group, seconds)

    def spent(self, group: int, seconds: float) -> None:
        """Note time that was used for a group, and for none of its streams."""
        self._seconds[group] += seconds

    def end(self, stream: Stream) -> None:
        """Note that a stream has nothing more."""
        self._open.pop(stream, None)

    def hasten(self, group: int, kind: str) -> None:
        """Begin streams soon that have not begun, since something was found that other tests can confirm."""
        self._hastened.add((group, kind))

    def _worth(self, stream: Stream) -> float:
        """The suspicion per second to expect; without limit where nothing is known."""
        if (state := self._states.get(stream)) is not None:
            return state.last
        if (stream.group, stream.kind) in self._hastened:
            return float("inf")
        known = [
            state.first
            for other, state in self._states.items()
            if (other.group, other.kind) == (stream.group, stream.kind) and state.first is not None
        ]
        return _OTHER_TEST * max(known) if known else float("inf")
