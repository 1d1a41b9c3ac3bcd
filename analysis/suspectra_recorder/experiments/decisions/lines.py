"""Noting the lines that a run executes, in order. This is much slower than noting its decisions."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

from suspectra_recorder.experiments.messages import Findings, RunRequest
from suspectra_recorder.experiments.number_columns import column_text
from suspectra_recorder.experiments.pausable import Pausable
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread, sys

if TYPE_CHECKING:
    from _typeshed import TraceFunction

__builtins__ = library_references.builtins

MAX_LINES = 20_000
"""Lines of a run that are noted; of more the first ones."""


class NotingLines(RunKind, Pausable):
    """The program as it is, with the lines that the thread of the test executes."""

    alters = False

    def __init__(self, name_of: Callable[[str], str | None]):
        super().__init__()
        self._name_of = name_of
        self._files: dict[str, int] = {}
        self._numbers: dict[str, int] = {}  # by the name that code has of its file; -1 for none
        self._lines = array("i")
        self._depth = 0
        self._before: TraceFunction | None = None

    def apply(self, job: RunRequest) -> None:
        """Note lines from now on."""
        self._files, self._numbers, self._lines, self._depth = {}, {}, array("i"), 0
        self._before = sys.gettrace()
        sys.settrace(self._call)

    def take_back(self) -> Findings:
        """The lines, and the files in which they are."""
        sys.settrace(self._before)
        return {"files": list(self._files), "lines": column_text(self._lines)}

    def _call(self, frame: FrameType, event: str, value: object) -> TraceFunction | None:
        """A call begins, or goes on; Python calls this."""
        path = frame.f_code.co_filename
        number = self._numbers.get(path)
        if number is None:
            name = self._name_of(path)
            number = -1 if name is None else self._files.setdefault(name, len(self._files))
            self._numbers[path] = number
        # None: Python then asks no more about this call, so foreign code keeps its speed
        if number < 0 or len(self._lines) >= 3 * MAX_LINES or _thread.get_ident() in self.paused:
            return None
        self._depth += 1
        last = 0

        def line(frame: FrameType, event: str, value: object) -> TraceFunction:
            nonlocal last
            # Python may report a line of several parts more than once
            if event == "line" and frame.f_lineno != last and len(self._lines) < 3 * MAX_LINES:
                last = frame.f_lineno
                self._lines.extend((number, last, self._depth))
            elif event == "return":
                self._depth -= 1
            return line

        return line
