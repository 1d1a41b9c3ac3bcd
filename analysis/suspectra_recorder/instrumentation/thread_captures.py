"""Capturing what one thread executes for a while, separately from everything else.

Probes do not know their thread, and other threads continue. So during captures, probes store into
:class:`_CellsByThread` instead of cells.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread, sys

if TYPE_CHECKING:
    from suspectra_recorder.instrumentation.imports import ImportHook
    from suspectra_recorder.instrumentation.loaded_file import LoadedFile

__builtins__ = library_references.builtins


@dataclass(eq=False)
class Capture(AbstractContextManager[None]):
    """Captures what this thread executes between begin and end, as a context manager."""

    captures: Captures  # the captures of this process
    name: str  # what is being done, for messages about failures of the recorder
    cells: dict[LoadedFile, MutableSequence[int]] = field(default_factory=dict)  # the cells of what was executed
    outer: Capture | None = None  # the enclosing capture of this thread

    def __enter__(self) -> None:
        self.captures.hook.guard.attempt(self.name, self.begin)

    def __exit__(self, kind: object, *_: object) -> None:
        self.captures.hook.guard.attempt(self.name, self.end, kind is not None)

    def begin(self) -> None:
        """Begin the capture."""
        self.captures.add(self)

    def end(self, failed: bool) -> None:
        """End the capture."""
        self.captures.remove(self)

    def room(self, file: LoadedFile) -> MutableSequence[int]:
        """Allocate cells for a source."""
        return [0] * len(file.cells)


class Captures:
    """The captures of this process."""

    def __init__(self, hook: ImportHook):
        self.hook = hook  # the import hook with the probes
        self._running: dict[int, Capture] = {}  # the innermost capture of each thread
        self._older_threads: frozenset[int] = frozenset()
        self._lock = _thread.RLock()

    def add(self, capture: Capture) -> None:
        """Start a capture of this thread."""
        with self._lock:
            thread = _thread.get_ident()
            capture.outer = self._running.get(thread)
            if not self._running:
                # what these execute has nothing to do with the capture
                self._older_threads = frozenset(sys._current_frames())
                self.hook.store_into(self._cells_by_thread)
            self._running[thread] = capture

    def remove(self, capture: Capture, *, give_back: bool = False) -> None:
        """End a capture."""
        with self._lock:  # must not need a deeper stack than `add`
            thread = _thread.get_ident()
            innermost = self._running.get(thread)
            if innermost is capture:
                if capture.outer is None:
                    del self._running[thread]
                else:
                    self._running[thread] = capture.outer
            while innermost is not None and innermost.outer is not capture:  # greenlets end in any order
                innermost = innermost.outer
            if innermost is not None:
                innermost.outer = capture.outer
            if not self._running:
                self.hook.store_into(None)
            if give_back:
                self._give_back(capture)

    def move(self) -> None:
        """Continue in a forked process, which has no other threads."""
        # another thread may have held the old one as the process was forked, and it is not here to release it
        self._lock = _thread.RLock()
        thread = _thread.get_ident()
        running = capture = self._running.get(thread)
        while capture is not None:  # the parent process reports what they ran so far
            capture.cells.clear()
            capture = capture.outer
        self._running = {} if running is None else {thread: running}
        self.hook.store_into(None if running is None else self._cells_by_thread)

    def cells_of_thread(self, file: LoadedFile) -> MutableSequence[int]:
        """Return the cells into which the probes of a source store in this thread."""
        thread = _thread.get_ident()
        capture = self._running.get(thread)
        if capture is None and thread not in self._older_threads:
            # Most likely the captured code started the thread.
            capture = next(iter(self._running.values()), None)
        return file.cells if capture is None else self._cells(capture, file)

    def _cells_by_thread(self, file: LoadedFile) -> Any:
        return _CellsByThread(self, file)

    def _cells(self, capture: Capture, file: LoadedFile) -> MutableSequence[int]:
        cells = capture.cells.get(file)
        if cells is None:
            with self._lock:
                # again, as another thread of the same capture may have come first
                cells = capture.cells.get(file)
                if cells is None:
                    cells = capture.cells[file] = capture.room(file)
        return cells

    def _give_back(self, capture: Capture) -> None:
        for file, cells in capture.cells.items():
            there = file.cells if capture.outer is None else self._cells(capture.outer, file)
            for cell, count in enumerate(cells):
                if count > 0:
                    # a cell without counts is a truth
                    there[cell] = there[cell] + count if self.hook.counting else 1
                    cells[cell] = 0


class _CellsByThread:
    """Stands in for the cells of a source during captures; it remains usable afterwards."""

    __slots__ = ("_captures", "_file")

    def __init__(self, captures: Captures, file: LoadedFile):
        self._captures = captures
        self._file = file

    def __getitem__(self, cell: int) -> int:
        return self._captures.cells_of_thread(self._file)[cell]

    def __setitem__(self, cell: int, value: int) -> None:
        self._captures.cells_of_thread(self._file)[cell] = value
