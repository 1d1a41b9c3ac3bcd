"""The output of a test run, sent to the client while the tests run."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from suspectra.base.english import many
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.timing import RUN_LOG_S

MAX_STREAMED_LINES = 5_000  # of a run; of the rest only the last lines are shown, at its end
MAX_LAST_LINES = 200


class RunLog:
    """Shows the output of a run in batches, and not more than people can read. Belongs to the loop."""

    def __init__(self, show: Callable[[str], None]):
        self._show = show
        self._batch: list[str] = []
        self._last: deque[str] = deque(maxlen=MAX_LAST_LINES)  # of those that were not streamed
        self._lines = 0
        self._flushing: asyncio.TimerHandle | None = None
        self.last = ""

    def add(self, lines: Iterable[str]) -> None:
        """Add lines, which are shown soon."""
        for line in lines:
            self._lines += 1
            line = plain(line, MAX_TEXT)
            self.last = line if line.strip() else self.last
            (self._batch if self._lines <= MAX_STREAMED_LINES else self._last).append(line)
        if self._batch and self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_later(RUN_LOG_S, self.flush)

    def flush(self) -> None:
        """Show the lines that were added since."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        if self._batch:
            self._show("\n".join(self._batch))
            self._batch.clear()

    def end(self) -> None:
        """Show the last lines of the run."""
        self.flush()
        left_out = self._lines - MAX_STREAMED_LINES - len(self._last)
        if left_out > 0:
            self._show(f"… {many(left_out, 'line')} of output left out …")
        if self._last:
            self._show("\n".join(self._last))
            self._last.clear()
