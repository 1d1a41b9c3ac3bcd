"""The order of experiments: which kind, with which failing test, is worth most per second.

Experiments of a kind with a test form a stream, most suspicious statements first. A stream is continued for a moment at
a time; how much suspicion it met per second in its last moment says what its next one is worth. So a stream is left
when it comes to statements that are hardly suspicious, and continued when the others have become worse. Failure groups
get equal shares of the time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_OTHER_TEST = 0.5
"""What a stream that has not begun is worth, in relation to the first moment of its kind with a test of the group."""


class Stream(NamedTuple):
    """Experiments of one kind with one failing test.

    Parameters
    ----------
    group : int
        The failure group of the test.
    test : str
        Its name.
    kind : str
        The kind of experiments.

    Examples
    --------
    >>> Stream(group=0, test="test_cart", kind="switch").kind
    'switch'
    """

    group: int
    test: str
    kind: str


@dataclass
class _State:
    first: float | None = None  # suspicion per second, in the first moment
    last: float = 0.0


class Schedule:
    """Says which stream to continue.

    Parameters
    ----------
    streams : iterable of Stream
        In the order in which they begin where nothing is known of them.

    Examples
    --------
    >>> switches, values = Stream(1, "test_a", "switch"), Stream(1, "test_a", "value")
    >>> schedule = Schedule([switches, values])
    >>> schedule.next() == switches
    True
    >>> schedule.took(switches, 2.0, [("cart.py", 8)], lambda place: 0.5)
    >>> schedule.next() == values
    True
    >>> schedule.took(values, 2.0, [("cart.py", 9)], lambda place: 0.1)
    >>> schedule.next() == switches
    True
    >>> schedule.end(switches)
    >>> schedule.end(values)
    >>> print(schedule.next())
    None
    """

    def __init__(self, streams: Iterable[Stream]):
        self._open = dict.fromkeys(streams)
        self._states: dict[Stream, _State] = defaultdict(_State)
        self._seconds: dict[int, float] = defaultdict(float)  # by group
        self._hastened: set[tuple[int, str]] = set()
        self._tried: Counter[tuple[int, str, tuple[str, int]]] = Counter()

    def next(self) -> Stream | None:
        """The stream to continue.

        Returns
        -------
        Stream or None
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
        """Note what a moment of a stream brought.

        Parameters
        ----------
        stream : Stream
            The one that was continued.
        seconds : float
            How long it took.
        places : sequence of tuple of str and int
            File and line of each experiment.
        suspicion : callable
            How suspicious a place is now. Each further experiment of a kind at a place counts for less.
        """
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
        """Note time that was used for a group, and for none of its streams.

        Parameters
        ----------
        group : int
            The failure group.
        seconds : float
            How long it took.

        Examples
        --------
        >>> first, second = Stream(0, "test_a", "switch"), Stream(1, "test_b", "switch")
        >>> schedule = Schedule([first, second])
        >>> schedule.spent(0, 3.0)  # so it is the turn of the other group
        >>> schedule.next() == second
        True
        """
        self._seconds[group] += seconds

    def end(self, stream: Stream) -> None:
        """Note that a stream has nothing more.

        Parameters
        ----------
        stream : Stream
            The one that ended.
        """
        self._open.pop(stream, None)

    def hasten(self, group: int, kind: str) -> None:
        """Begin streams soon that have not begun, since something was found that other tests can confirm.

        Parameters
        ----------
        group : int
            Their failure group.
        kind : str
            Their kind.

        Examples
        --------
        >>> first, second = (Stream(0, test, "mutant") for test in ("test_a", "test_b"))
        >>> schedule = Schedule([first, second])
        >>> schedule.took(first, 1.0, [("cart.py", 8)], lambda place: 0.5)
        >>> schedule.next() == first
        True
        >>> schedule.hasten(0, "mutant")
        >>> schedule.next() == second
        True
        """
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
