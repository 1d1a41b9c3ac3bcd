"""The progress of a test run: a line that is updated on a terminal, a few lines elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from suspectra.output.terminal import Style, fit, safe, terminal_width

if TYPE_CHECKING:
    from suspectra.evidence.evidence import TestResult

STEP = 10
"""Without a terminal, a line is written every this many percent."""


class ProgressLines:
    """Writes the progress after each test, and names failing tests."""

    def __init__(self, out: TextIO):
        self.out = out  # the output
        self.style = Style(out)
        self.changing = out.isatty()
        self._shown = 0
        self._failed = 0

    def __call__(self, done: int, total: int, test: TestResult) -> None:
        """Report that a test ended, as number `done` of `total`."""
        if test.verdict.failing:
            self._failed += 1
            self._clear()
            reason = f": {test.message}" if test.message else ""
            self._line(f"{self.style(test.verdict.value, 'red')} {safe(test.name + reason)}")
        percent = 100 * done // total
        state = f"[{percent:3}%] {done} of {total} tests, {self._failed} failed"
        if self.changing:
            self._clear()
            self.out.write(fit(safe(f"{state}  {test.name}"), terminal_width(self.out) - 1))
            self.out.flush()
        elif percent // STEP > self._shown // STEP:
            self._shown = percent
            self._line(state)

    def __enter__(self) -> ProgressLines:
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def _clear(self) -> None:
        if self.changing:
            self.out.write("\r\x1b[K")
            self.out.flush()

    def _line(self, text: str) -> None:
        self.out.write(text + "\n")
        self.out.flush()
