"""The log on standard error, written by a thread: a client that does not read it must not block the loop."""

from __future__ import annotations

import logging
import os
import queue
import threading
from contextlib import suppress

MAX_WAITING = 1000  # lines; what comes beyond is dropped
MAX_LENGTH = 10_000  # characters of one line


class BackgroundHandler(logging.Handler):
    """Hands log lines to a thread that writes them.

    The thread writes to the file descriptor directly. It may block for ever, and if it held a lock of `sys.stderr` or
    of another handler then, the program could not end.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._waiting: queue.Queue[str | None] = queue.Queue(MAX_WAITING)
        self._dropped = 0
        self._thread = threading.Thread(target=self._write, name="suspectra-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line for the thread, or count it as dropped if too many wait."""
        try:
            self._waiting.put_nowait(self.format(record)[:MAX_LENGTH])
        except queue.Full:
            self._dropped += 1

    def finish(self, timeout: float = 1.0) -> None:
        """Wait until the queue is written, if anybody reads it."""
        with suppress(queue.Full):
            self._waiting.put(None, timeout=timeout)
            self._thread.join(timeout)

    def _write(self) -> None:
        while (line := self._waiting.get()) is not None:
            if self._waiting.empty() and (dropped := self._take_dropped()):
                line += f"\n{dropped} lines of the log were dropped: nobody read them"
            rest = f"{line}\n".encode(errors="backslashreplace")
            with suppress(OSError):
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]

    def _take_dropped(self) -> int:
        self.acquire()  # the handler's lock, as `emit` holds it; it is never held during a write
        dropped, self._dropped = self._dropped, 0
        self.release()
        return dropped
