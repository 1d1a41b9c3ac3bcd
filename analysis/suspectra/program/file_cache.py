"""A cache of results per file, which forgets those that are no longer requested."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
ROUNDS = 4
"""A result is forgotten after this many rounds without a request; so up to this many workspaces may take turns."""


class Remembered(Generic[P, T]):
    """A function of one file, whose results are cached while rounds over all files request them.

    A cache of a fixed size would either be too small for a large workspace, or fill up with old versions of files.
    Several threads may use it; two that request the same result at once may both compute it.
    """

    def __init__(self, work: Callable[P, T]):
        self._work = work
        self._round = 0
        self._known: dict[tuple[object, ...], tuple[int, T]] = {}
        self._changing = Lock()

    def begin(self) -> None:
        """Begin a round over all files."""
        with self._changing:
            self._round += 1
            # what files were before would otherwise be kept for ever
            self._known = {key: known for key, known in self._known.items() if known[0] >= self._round - ROUNDS}

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> T:
        """The function's result for these arguments."""
        known = self._known.get(_key(*arguments, **named))
        result = known[1] if known is not None else self._work(*arguments, **named)
        self.keep(result, *arguments, **named)
        return result

    def knows(self, *arguments: P.args, **named: P.kwargs) -> bool:
        """Whether the result for some arguments is cached.

        False if a call would compute it.
        """
        return _key(*arguments, **named) in self._known

    def keep(self, result: T, *arguments: P.args, **named: P.kwargs) -> None:
        """Cache a result that was computed in another way."""
        with self._changing:
            self._known[_key(*arguments, **named)] = self._round, result

    def __len__(self) -> int:
        return len(self._known)


def _key(*arguments: object, **named: object) -> tuple[object, ...]:
    return (*arguments, *named.items())
