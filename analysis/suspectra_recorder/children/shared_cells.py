"""Cells in a shared file, which survive when the process is killed."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import mmap, os

__builtins__ = library_references.builtins

_CHUNK = 1 << 18


class SharedCells:
    """Room for the cells of one process, in a file mapped into memory."""

    def __init__(self, path: str, counting: bool):
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        os.close(os.open(path, flags, 0o600))
        self._path = path
        self._counting = counting
        self._chunk = memoryview(b"")
        self._chunk_at = 0
        self._used = 0

    def take(self, cells: int) -> tuple[int, MutableSequence[int]]:
        """Allocate cells.

        Their offset in the file, in bytes.
        """
        size = cells * (8 if self._counting else 1)
        if self._used + size > len(self._chunk):
            # cells that were given away stay where they are: code has them
            self._chunk_at += len(self._chunk)
            length = -(-max(size, _CHUNK) // _CHUNK) * _CHUNK
            self._chunk = self._mapped(length)
            self._used = 0
        start = self._used
        self._used += size
        part: Any = self._chunk[start : start + size]  # a memoryview supports all operations of cells
        return self._chunk_at + start, part.cast("q") if self._counting else part

    def _mapped(self, length: int) -> memoryview:
        # keep no descriptor open: the program may have few, or may close them all
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(self._path, flags)
        try:
            os.ftruncate(descriptor, self._chunk_at + length)  # uses no disk space until it is written
            return memoryview(mmap.mmap(descriptor, length, offset=self._chunk_at))
        finally:
            os.close(descriptor)


def cells_in(stored: mmap.mmap, start: int, cells: int, counting: bool) -> list[int]:
    """Read cells from a mapped file, and reset them unless they count."""
    size = cells * (8 if counting else 1)
    part = stored[start : start + size].ljust(size, b"\0")
    if counting:
        return memoryview(part).cast("q").tolist()
    place = part.find(1)
    while place >= 0:
        stored[start + place] = 0
        place = part.find(1, place + 1)
    return list(part)
