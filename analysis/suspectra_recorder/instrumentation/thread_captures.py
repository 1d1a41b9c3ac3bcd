"""Capturing what one thread executes for a while, separately from everything else.

Probes do not know their thread, and other threads continue. So during captures, probes store into
:class:`_CellsByThread` instead of cells. It is slow; with a single thread, and between captures, the first store into
it lets the probes of that source store directly from then on.

A capture, like a test, has what it used of results that were made before (:mod:`kept_results
<suspectra_recorder.instrumentation.kept_results>`): what made them is added when the capture ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import _thread, sys

if TYPE_CHECKING:
    from suspectra_recorder.instrumentation.imports import ImportHook
    from suspectra_recorder.instrumentation.loaded_file import LoadedFile

__builtins__ = library_references.builtins


@dataclass(frozen=True, eq=False)
class Making:
    """What was executed to make a result that was kept."""

    cells: Mapping[LoadedFile, Sequence[int]]


class Uses:
    """The results that a test or a capture used, and did not make."""

    def __init__(self) -> None:
        self.found: set[Making] = set()  # all that were found, the same object all the time
        self.made: set[Making] = set()  # what was executed to make these is in the cells already

    def take(self) -> Iterable[Making]:
        """Return what was found and not made, and begin again."""
        found = self.found - self.made
        self.found.clear()
        self.made.clear()
        return found


@dataclass(eq=False)
class Capture(AbstractContextManager[None]):
    """Captures what this thread executes between begin and end, as a context manager."""

    captures: Captures  # the captures of this process
    name: str  # what is being done, for messages about failures of the recorder
    cells: dict[LoadedFile, MutableSequence[int]] = field(default_factory=dict)  # the cells of what was executed
    outer: Capture | None = None  # the enclosing capture of this thread
    uses: Uses = field(default_factory=Uses)  # the results that were used

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
        self.running: dict[int, Capture] = {}  # the innermost capture of each thread
        self._older_threads: frozenset[int] = frozenset()
        self._lock = _thread.RLock()
        self.outside = Uses()  # of what runs outside of captures
        self._parted = False  # whether probes store by their thread, but for those of the following sources
        self._direct: list[LoadedFile] = []
        self._by_thread: dict[LoadedFile, _CellsByThread] = {}
        self.on_change: Callable[[], None] = lambda: None  # called when uses count for another test or capture
        hook.settle = self._settle

    @property
    def uses(self) -> Uses:
        """The results that the innermost capture of this thread used, or the test."""
        capture = self.innermost
        return self.outside if capture is None else capture.uses

    @property
    def innermost(self) -> Capture | None:
        """The innermost capture of this thread."""
        return self._for_thread(_thread.get_ident()) if self.running else None

    def _settle(self) -> None:
        """Add what made the results that the test used."""
        self.on_change()
        for making in self.outside.take():
            for file, cells in making.cells.items():
                self.merge(cells, file.cells)

    def merge(self, cells: Sequence[int], into: MutableSequence[int]) -> None:
        """Add cells to others."""
        for cell in compress(range(len(cells)), cells):
            if cells[cell] > 0:  # a thread that counts at the same time may make counts negative
                # a cell without counts is a truth
                into[cell] = into[cell] + cells[cell] if self.hook.counting else 1

    def settle(self, capture: Capture) -> None:
        """Add what made the results that a capture used."""
        for making in capture.uses.take():
            for file, cells in making.cells.items():
                self.merge(cells, self.cells_of(capture, file))

    def add(self, capture: Capture) -> None:
        """Start a capture of this thread."""
        with self._lock:
            thread = _thread.get_ident()
            capture.outer = self.running.get(thread)
            self._part()
            self.on_change()
            if not self.running:
                # what these execute has nothing to do with the capture
                self._older_threads = frozenset(sys._current_frames() if _thread._count() else (thread,))
                if not self._parted:
                    self._parted = True
                    self.hook.store_into(self._cells_by_thread)
            self.running[thread] = capture

    def remove(self, capture: Capture, *, give_back: bool = False) -> None:
        """End a capture."""
        self.settle(capture)
        with self._lock:  # must not need a deeper stack than `add`
            self._part()
            self.on_change()
            thread = _thread.get_ident()
            innermost = self.running.get(thread)
            if innermost is capture:
                if capture.outer is None:
                    del self.running[thread]
                else:
                    self.running[thread] = capture.outer
            while innermost is not None and innermost.outer is not capture:  # greenlets end in any order
                innermost = innermost.outer
            if innermost is not None:
                innermost.outer = capture.outer
            # else the first probe of each source to be passed restores its cells
            if not self.running and self.hook.monitor is not None:
                self._parted = False
                self.hook.store_into(None)
            if give_back:
                self._give_back(capture)

    def move(self) -> None:
        """Continue in a forked process, which has no other threads."""
        # another thread may have held the old one as the process was forked, and it is not here to release it
        self._lock = _thread.RLock()
        thread = _thread.get_ident()
        running = capture = self.running.get(thread)
        while capture is not None:  # the parent process reports what they ran so far
            capture.cells.clear()
            capture = capture.outer
        self.running.clear()
        if running is not None:
            self.running[thread] = running
        self._direct.clear()
        self._parted = running is not None
        self.hook.store_into(None if running is None else self._cells_by_thread)

    def cells_for_thread(self, file: LoadedFile) -> MutableSequence[int]:
        """Return the cells into which the probes of a source store in this thread."""
        capture = self._for_thread(_thread.get_ident())
        cells = file.cells if capture is None else self.cells_of(capture, file)
        if file.target is not cells:
            with self._lock:
                if not self.running or not _thread._count():
                    file.target = file.cells if not self.running else cells
                    self._direct.append(file)
        return cells

    def _for_thread(self, thread: int) -> Capture | None:
        capture = self.running.get(thread)
        if capture is None and thread not in self._older_threads:
            # Most likely the captured code started the thread.
            capture = next(iter(self.running.values()), None)
        return capture

    def _part(self) -> None:
        """Let all probes store by their thread again."""
        while self._direct:
            file = self._direct.pop()
            file.target = self._cells_by_thread(file)

    def _cells_by_thread(self, file: LoadedFile) -> Any:
        if file not in self._by_thread:
            self._by_thread[file] = _CellsByThread(self, file)
        return self._by_thread[file]

    def cells_of(self, capture: Capture, file: LoadedFile) -> MutableSequence[int]:
        """Return the cells of a capture for a source."""
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
            self.merge(cells, file.cells if capture.outer is None else self.cells_of(capture.outer, file))
            for cell in compress(range(len(cells)), cells):
                cells[cell] = 0


class _CellsByThread:
    """Stands in for the cells of a source during captures; it remains usable afterwards."""

    __slots__ = ("_captures", "_file")

    def __init__(self, captures: Captures, file: LoadedFile):
        self._captures = captures
        self._file = file

    def __getitem__(self, cell: int) -> int:
        return self._captures.cells_for_thread(self._file)[cell]

    def __setitem__(self, cell: int, value: int) -> None:
        self._captures.cells_for_thread(self._file)[cell] = value
