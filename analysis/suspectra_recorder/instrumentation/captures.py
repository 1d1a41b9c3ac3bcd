"""Capturing what one thread executes for a while, separately from everything else.

Probes do not know their thread, and other threads continue. So during captures, probes store into
:class:`_CellsByThread` instead of cells.
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
    r"""Captures what this thread executes between begin and end, as a context manager.

    Parameters
    ----------
    captures : Captures
        The captures of this process.
    name : str
        What is being done, for messages about failures of the recorder.
    cells : dict of LoadedFile to mutable sequence of int
        The cells of what was executed.
    outer : Capture, optional
        The enclosing capture of this thread.

    Attributes
    ----------
    cells : dict of LoadedFile to mutable sequence of int
        The cells of what was executed.

    Examples
    --------
    >>> from suspectra_recorder.instrumentation.imports import ImportHook
    >>> hook = ImportHook(lambda path: "price.py")
    >>> code = hook.code("price.py", "price.py", b"vat = 20\n")
    >>> capture = Capture(Captures(hook), "an explanation")
    >>> with capture:  # or begin() and end()
    ...     exec(code, {})
    >>> hook.passed(), [list(cells) for cells in capture.cells.values()]
    ({}, [[1, 0, 0, 0, 0, 0, 0, 0]])

    Until it ends, the probes of this thread store into cells of its own:

    >>> capture.begin()
    >>> capture.room(hook.files[0])
    [0, 0, 0, 0, 0, 0, 0, 0]
    >>> capture.end(failed=False)
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
            Whether the captured code raised an exception.
        """
        self.captures.remove(self)

    def room(self, file: LoadedFile) -> MutableSequence[int]:
        """Allocate cells for a source.

        Parameters
        ----------
        file : LoadedFile
            The source.

        Returns
        -------
        mutable sequence of int
            As many cells as the source has, all zero.
        """
        return [0] * len(file.cells)


class Captures:
    r"""The captures of this process.

    Parameters
    ----------
    hook : ImportHook
        The import hook with the probes.

    Examples
    --------
    >>> from suspectra_recorder.instrumentation.imports import ImportHook
    >>> hook = ImportHook(lambda path: "price.py")
    >>> code = hook.code("price.py", "price.py", b"vat = 20\n")
    >>> captures = Captures(hook)
    >>> capture = Capture(captures, "an import")
    >>> captures.add(capture)
    >>> exec(code, {})
    >>> captures.cells_of_thread(hook.files[0]) is capture.cells[hook.files[0]]
    True
    >>> hook.passed()
    {}

    An import that failed counts for its importer:

    >>> captures.remove(capture, give_back=True)
    >>> hook.passed()
    {0: 128}
    >>> captures.move()  # in a forked process
    """

    def __init__(self, hook: ImportHook):
        self.hook = hook
        self._running: dict[int, Capture] = {}  # the innermost capture of each thread
        self._older_threads: frozenset[int] = frozenset()
        self._lock = _thread.RLock()

    def add(self, capture: Capture) -> None:
        """Start a capture of this thread.

        Parameters
        ----------
        capture : Capture
            The capture, which becomes the innermost one of this thread.
        """
        with self._lock:
            thread = _thread.get_ident()
            capture.outer = self._running.get(thread)
            if not self._running:
                self._older_threads = frozenset(sys._current_frames())
                self.hook.store_into(self._cells_by_thread)
            self._running[thread] = capture

    def remove(self, capture: Capture, *, give_back: bool = False) -> None:
        """End a capture.

        Parameters
        ----------
        capture : Capture
            A capture that was added; captures of greenlets may end in any order.
        give_back : bool
            Whether to add its cells to where they would have been without it.
        """
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
        self._lock = _thread.RLock()
        thread = _thread.get_ident()
        running = capture = self._running.get(thread)
        while capture is not None:  # the parent process reports what they ran so far
            capture.cells.clear()
            capture = capture.outer
        self._running = {} if running is None else {thread: running}
        self.hook.store_into(None if running is None else self._cells_by_thread)

    def cells_of_thread(self, file: LoadedFile) -> MutableSequence[int]:
        """Return the cells into which the probes of a source store in this thread.

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
            # Most likely the captured code started the thread.
            capture = next(iter(self._running.values()), None)
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
    """Stands in for the cells of a source during captures; it remains usable afterwards."""

    __slots__ = ("_captures", "_file")

    def __init__(self, captures: Captures, file: LoadedFile):
        self._captures = captures
        self._file = file

    def __getitem__(self, cell: int) -> int:
        return self._captures.cells_of_thread(self._file)[cell]

    def __setitem__(self, cell: int, value: int) -> None:
        self._captures.cells_of_thread(self._file)[cell] = value
