"""A result that is shown only if a better one does not come at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Postponed(Generic[Result]):
    """Keeps the newest result back for a while. Belongs to the loop."""

    def __init__(self, delay: float, show: Callable[[Result], None]):
        self._delay = delay
        self._show = show
        self._result: Result | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> bool:
        """Whether there is a result that was not shown yet, and will be unless a better one comes."""
        return self._result is not None

    def keep(self, result: Result) -> None:
        """Postpone a result, in place of the previous one."""
        self._result = result
        if self._timer is None:  # a new timer each time would delay results for ever
            self._timer = asyncio.get_running_loop().call_later(self._delay, self._time_is_up)

    def drop(self) -> None:
        """Forget the result; one that follows is shown when this one would have been."""
        self._result = None

    def take(self) -> Result | None:
        """The result, if it was not shown yet: it is not going to be."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        result, self._result = self._result, None
        return result

    def _time_is_up(self) -> None:
        self._timer = None
        result, self._result = self._result, None
        if result is not None:
            self._show(result)
