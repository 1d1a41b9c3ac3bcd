"""When the lines of some files were executed last, and which of the files were opened.

What a failing test executes shortly before it fails is suspected first, and what it does not execute not at all. Other
processes that a run starts are not seen.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from types import FrameType
from typing import TYPE_CHECKING

from suspectra_recorder.experiments.opened_files import OpenedFiles
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, sys

if TYPE_CHECKING:
    from _typeshed import TraceFunction

__builtins__ = library_references.builtins


class LastExecuted:
    """What the threads of this process execute of some files from now on, until the process ends."""

    def __init__(self, workspace: str, files: Collection[str]):
        self._files = {os.path.join(workspace, file): file for file in files}
        self._when: dict[tuple[str, int], int] = {}  # by path and line
        self._count = 0
        self.opened = OpenedFiles(workspace, files)
        threading.settrace(self._call)
        sys.settrace(self._call)

    def take(self) -> list[tuple[str, int]]:
        """The files and lines that were executed since they were taken before, in the order of the last time."""
        lines = sorted(self._when, key=self._when.__getitem__)
        self._when = {}
        return [(self._files[path], line) for path, line in lines]

    def _call(self, frame: FrameType, event: str, value: object) -> TraceFunction | None:
        """A call begins, or goes on; Python calls this."""
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, event: str, value: object) -> TraceFunction:
        if event == "line":
            self._when[frame.f_code.co_filename, frame.f_lineno] = self._count
            self._count += 1
        return self._line
