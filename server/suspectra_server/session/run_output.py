"""The output of a test run, passed on to the client while it comes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from suspectra_server.text import MAX_TEXT, many, plain

MAX_STREAMED_LINES = 5_000  # of a run; beyond them only its last lines are shown, at its end
MAX_LAST_LINES = 200
MAX_CHUNK = 2**16


class Output:
    """Takes lines, and hands them on in batches, never more than can be read.

    Parameters
    ----------
    show : callable
        Takes text of one or more lines.
    """

    def __init__(self, show: Callable[[str], None]):
        self._show = show
        self._batch: list[str] = []
        self._last: deque[str] = deque(maxlen=MAX_LAST_LINES)  # of those that were not streamed
        self._lines = 0
        self.last = ""

    def add(self, line: str) -> None:
        """Take the next line."""
        self._lines += 1
        line = plain(line, MAX_TEXT)
        self.last = line if line.strip() else self.last
        (self._batch if self._lines <= MAX_STREAMED_LINES else self._last).append(line)

    def flush(self) -> None:
        """Show what came since."""
        if self._batch:
            self._show("\n".join(self._batch))
            self._batch.clear()

    def end(self) -> None:
        """Show the last lines."""
        self.flush()
        left_out = self._lines - MAX_STREAMED_LINES - len(self._last)
        if left_out > 0:
            self._show(f"… {many(left_out, 'line')} of output left out …")
        if self._last:
            self._show("\n".join(self._last))
            self._last.clear()


async def lines_of(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    """Lines of output, overlong ones in pieces."""
    rest = b""
    while data := await stream.read(MAX_CHUNK):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace").rstrip("\r")
        if len(rest) > MAX_CHUNK:
            yield rest.decode(errors="replace")
            rest = b""
    if rest:
        yield rest.decode(errors="replace")
