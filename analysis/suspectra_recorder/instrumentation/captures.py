"""What a thread executes for a while, captured apart from everything else.

Probes do not know their thread. So while anything is captured they store into :class:`_CellsByThread` instead of cells,
because other threads go on with what they do.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import _thread, sys

if TYPE_CHECKING:
    from suspectra_recorder.instrumentation.imports import ImportHook
    from suspectra_recorder.instrumentation.loaded_file import LoadedFile

__builtins__ = own.builtins


@dataclass(eq=False)
class Capture(AbstractContextManager[None]):
    """Captures what this thread executes between its begin and its end; a context manager around that.

    Parameters
    ----------
    captures : Captures
        Those of this process.
    name : str
        What a failure of the recorder is told of.
    cells : dict of LoadedFile to mutable sequence of int
        What was executed.
    outer : Capture, optional
        The one that this thread had begun before, while this one runs.

    Attributes
    ----------
    cells : dict of LoadedFile to mutable sequence of int
        What was executed.
    """

    captures: Captures
    name: str
    cells: dict[LoadedFile, MutableSequence[int]] = field(default_factory=dict)
    outer: Capture | None = None

    def __enter__(self) -> None:
        self.captures.hook.guard.attempt(self.name, self.begin)

    def __exit__(self, kind: object, *_: object) -> None:
        self.captures.hook.guard.attempt(self.name, self.end, kind is not None)

    def begin(self) -> None:
        """Begin the capture."""
        self.captures.add(self)

    def end(self, failed: bool) -> None:
        """End the capture.

        Parameters
        ----------
        failed : bool
            Whether what was captured ended by an exception.
        """
        self.captures.remove(self)

    def room(self, file: LoadedFile) -> MutableSequence[int]:
        """Cells for what is captured of a source, all zero.

        Parameters
        ----------
        file : LoadedFile
            The source.

        Returns
        -------
        mutable sequence of int
            As many as the source has.
        """
        return [0] * len(file.cells)


class Captures:
    """The captures of this process.

    Parameters
    ----------
    hook : ImportHook
        Whose probes are passed.
    """

    def __init__(self, hook: ImportHook):
        self.hook = hook
        self._running: dict[int, Capture] = {}  # by thread, the innermost one of each
        self._older_threads: frozenset[int] = frozenset()
        self._lock = _thread.RLock()

    def add(self, capture: Capture) -> None:
        """Give a capture what this thread executes.

        Parameters
        ----------
        capture : Capture
            The innermost one of this thread from now on.
        """
        with self._lock:
            here = _thread.get_ident()
            capture.outer = self._running.get(here)
            if not self._running:
                self._older_threads = frozenset(sys._current_frames())
                self.hook.store_into(self._cells_by_thread)
            self._running[here] = capture

    def remove(self, capture: Capture, *, give_back: bool = False) -> None:
        """End a capture.

        Parameters
        ----------
        capture : Capture
            One that was added; captures of greenlets may end in any order.
        give_back : bool
            Let what it has go where it would have gone without it.
        """
        with self._lock:  # nothing here may need more of the stack than `add` did
            here = _thread.get_ident()
            innermost = self._running.get(here)
            if innermost is capture:
                if capture.outer is None:
                    del self._running[here]
                else:
                    self._running[here] = capture.outer
            while innermost is not None and innermost.outer is not capture:  # greenlets end in any order
                innermost = innermost.outer
            if innermost is not None:
                innermost.outer = capture.outer
            if not self._running:
                self.hook.store_into(None)
            if give_back:
                self._give_back(capture)

    def move(self) -> None:
        """Go on in a forked process, whose other threads are not there any more."""
        self._lock = _thread.RLock()
        here = _thread.get_ident()
        running = capture = self._running.get(here)
        while capture is not None:  # the process that this one was forked from tells what they ran so far
            capture.cells.clear()
            capture = capture.outer
        self._running = {} if running is None else {here: running}
        self.hook.store_into(None if running is None else self._cells_by_thread)

    def cells_of_thread(self, file: LoadedFile) -> MutableSequence[int]:
        """Find where the probes of a source store what this thread passes.

        Parameters
        ----------
        file : LoadedFile
            The source.

        Returns
        -------
        mutable sequence of int
            The cells of a capture, or those of the source.
        """
        thread = _thread.get_ident()
        capture = self._running.get(thread)
        if capture is None and thread not in self._older_threads:
            capture = next(iter(self._running.values()), None)  # most likely it was started there
        return file.cells if capture is None else self._cells(capture, file)

    def _cells_by_thread(self, file: LoadedFile) -> Any:
        return _CellsByThread(self, file)

    def _cells(self, capture: Capture, file: LoadedFile) -> MutableSequence[int]:
        cells = capture.cells.get(file)
        if cells is None:
            with self._lock:
                cells = capture.cells.get(file)
                if cells is None:
                    cells = capture.cells[file] = capture.room(file)
        return cells

    def _give_back(self, capture: Capture) -> None:
        for file, cells in capture.cells.items():
            there = file.cells if capture.outer is None else self._cells(capture.outer, file)
            for cell, count in enumerate(cells):
                if count > 0:
                    there[cell] = there[cell] + count if self.hook.counting else 1
                    cells[cell] = 0


class _CellsByThread:
    """Stands in for the cells of a source while anything is captured; it stays usable ever after."""

    __slots__ = ("_captures", "_file")

    def __init__(self, captures: Captures, file: LoadedFile):
        self._captures = captures
        self._file = file

    def __getitem__(self, cell: int) -> int:
        return self._captures.cells_of_thread(self._file)[cell]

    def __setitem__(self, cell: int, value: int) -> None:
        self._captures.cells_of_thread(self._file)[cell] = value
