"""What a process is doing, in a file mapped into memory, so that it is known after the process was killed.

A killed process writes nothing more, and a write for each test and import would cost time in the middle of the user's
code. Memory that is mapped to a file is kept by the system. `suspectra record` reads it if no process reported its end,
and adds a collection error of the whole run, so what shows such errors shows crashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, mmap, os

__builtins__ = library_references.builtins

SIZE = 1 << 14
TEST, COLLECTION, IMPORT = "test", "collection", "import"


class Doing(NamedTuple):
    """One thing that a process does."""

    what: str  # `TEST`, `COLLECTION` or `IMPORT`
    name: str  # the name of the test, or the node id of what is collected; empty for an import
    path: str  # its file, absolute; may be empty
    line: int  # counted from 1


class Activity:
    """What this process is doing: a test, the collection of tests, imports; each within the one before.

    Only memory is written, since imports are in the middle of the user's code. A forked process writes nothing.
    """

    def __init__(self, path: str):
        self._pid = os.getpid()
        self._end = 0
        self._memory = _mapped(path) if path else None

    def begin(self, what: str, name: str, path: str, line: int = 1) -> int:
        """Begin something."""
        start, memory = self._end, self._memory
        # a forked process shares this memory, and would note its own work as that of its parent
        if memory is not None and os.getpid() == self._pid:
            # readers stop at the zero, which the next entry overwrites
            entry = json.dumps([what, name, path, line]).encode() + b"\n\0"
            if start + len(entry) <= SIZE:
                memory[start : start + len(entry)] = entry
                self._end = start + len(entry) - 1
        return start

    @contextmanager
    def during(self, what: str, name: str, path: str, line: int = 1) -> Iterator[None]:
        """Do something, as a context manager."""
        start = self.begin(what, name, path, line)
        try:
            yield
        finally:
            self.end(start)

    def importing(self, path: str) -> int:
        """Begin the import of a module."""
        return self.begin(IMPORT, "", path)

    def end(self, start: int) -> None:
        """End something, and all that was begun within it."""
        if self._memory is not None and os.getpid() == self._pid:
            self._end = min(start, self._end)  # another thread may have ended what was around it
            self._memory[self._end] = 0


def read_activity(path: str) -> list[Doing]:
    """Read what a process was doing when it ended.

    The outermost first; what is damaged is left out.
    """
    with open(path, "rb") as stream:
        written, _, _ = stream.read(SIZE).partition(b"\0")
    return list(_entries(written))


def _entries(written: bytes) -> Iterator[Doing]:
    for line in written.split(b"\n"):
        try:
            what, name, path, number = json.loads(line)
            yield Doing(str(what), str(name), str(path), int(number))
        except (ValueError, TypeError):
            continue


def _mapped(path: str) -> mmap.mmap | None:
    # keep no descriptor open: the program may have few, or may close them all
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        try:
            memory = mmap.mmap(descriptor, SIZE)
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return None
    memory[0] = 0
    return memory
