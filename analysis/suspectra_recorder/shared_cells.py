"""Cells in a file that processes share, so that what a killed process set is still there."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any, BinaryIO

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import mmap, os

__builtins__ = own.builtins

_CHUNK = 1 << 18


class SharedCells:
    """Room for the cells of one process, in a file mapped into memory.

    Parameters
    ----------
    path : str
        A file that does not exist yet.
    counting : bool
        Cells of eight bytes that count, not of one byte that is set.
    """

    def __init__(self, path: str, counting: bool):
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        os.close(os.open(path, flags, 0o600))
        self._path = path
        self._counting = counting
        self._chunk = memoryview(b"")
        self._chunk_at = 0
        self._used = 0

    def take(self, cells: int) -> tuple[int, MutableSequence[int]]:
        """Take room for some cells.

        Parameters
        ----------
        cells : int
            How many.

        Returns
        -------
        start : int
            Where in the file they begin, in bytes.
        cells : mutable sequence of int
            All zero.
        """
        size = cells * (8 if self._counting else 1)
        if self._used + size > len(self._chunk):
            self._chunk_at += len(self._chunk)
            length = -(-max(size, _CHUNK) // _CHUNK) * _CHUNK
            self._chunk = self._mapped(length)
            self._used = 0
        start = self._used
        self._used += size
        part: Any = self._chunk[start : start + size]  # it can do all that is done with cells
        return self._chunk_at + start, part.cast("q") if self._counting else part

    def _mapped(self, length: int) -> memoryview:
        # a descriptor that is kept would be missed by a program that may open few, or be closed by one that closes all
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(self._path, flags)
        try:
            os.ftruncate(descriptor, self._chunk_at + length)  # takes no room until it is written to
            return memoryview(mmap.mmap(descriptor, length, offset=self._chunk_at))
        finally:
            os.close(descriptor)


def stored_cells(file: BinaryIO, start: int, cells: int, counting: bool) -> list[int]:
    """Read cells out of such a file.

    Parameters
    ----------
    file : binary file
        Open for reading.
    start : int
        Where they begin, in bytes.
    cells : int
        How many.
    counting : bool
        Whether each takes eight bytes.

    Returns
    -------
    list of int
        Those behind the end of the file are zero.
    """
    size = cells * (8 if counting else 1)
    file.seek(start)
    part = file.read(size).ljust(size, b"\0")
    return memoryview(part).cast("q").tolist() if counting else list(part)
