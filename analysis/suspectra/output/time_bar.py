"""A bar on a terminal: how much of the time is gone, and what is being done."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from suspectra.output.terminal import fit, safe, terminal_width

_COLUMNS = 20
_REDRAW_S = 0.2
"""Between two drawings: as often as a number that counts can be read."""


class Bar:
    """One line that is drawn anew; nothing where the output is no terminal."""

    def __init__(self, out: TextIO):
        self.out = out  # written to
        self.changing = out.isatty()

    def show(self, share: float, state: str) -> None:
        """Draw it."""
        if self.changing:
            full = round(share * _COLUMNS)
            text = safe(f"[{'#' * full}{'.' * (_COLUMNS - full)}] {state}")
            self.clear()
            self.out.write(fit(text, terminal_width(self.out) - 1))
            self.out.flush()

    def clear(self) -> None:
        """Remove it."""
        if self.changing:
            self.out.write("\r\x1b[K")
            self.out.flush()


class TimeBar:
    """A bar that follows the clock while a search lasts, which may find nothing for long."""

    def __init__(self, out: TextIO, seconds: float):
        self._bar = Bar(out)
        self._seconds = seconds
        self._began = time.monotonic()
        self._drawing = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="suspectra-bar", daemon=True)
        self.state = ""  # what is written behind the time

    def __enter__(self) -> TimeBar:
        self._began = time.monotonic()
        if self._bar.changing:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with self._drawing:
            self._bar.clear()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Remove the bar while something is written or asked; the time for that does not count."""
        with self._drawing:
            self._bar.clear()
            began = time.monotonic()
            try:
                yield
            finally:
                self._began += time.monotonic() - began

    def _draw(self) -> None:
        while not self._ended.wait(_REDRAW_S):
            with self._drawing:
                if not self._ended.is_set():
                    gone = min(time.monotonic() - self._began, self._seconds)
                    share = gone / self._seconds if self._seconds else 1.0
                    words = f"{gone:.0f} of {self._seconds:g} s"
                    self._bar.show(share, f"{words}, {self.state}" if self.state else words)
