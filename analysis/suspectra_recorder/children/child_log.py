"""What a child process writes for the process that runs the tests: its log, its cells, and why it could not."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import MutableSequence
from typing import TYPE_CHECKING

from suspectra_recorder.children.shared_cells import SharedCells
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, resource, sys
from suspectra_recorder.log.frames import SUFFIX, FrameKind, with_json
from suspectra_recorder.log.writer import LogWriter

if TYPE_CHECKING:
    from suspectra_recorder.instrumentation.first_imports import FirstImport
    from suspectra_recorder.instrumentation.loaded_file import LoadedFile

__builtins__ = library_references.builtins

CELLS = ".cells"
STATE = "state"
"""The file with the current number, the mark of the last child, whether packages are recorded, and a failure."""
MARK = slice(8, 16)
"""Where in it the mark is."""
FAILURE = slice(17, 21)
"""Where in it the errno of a child is that could not record."""
_MIN_DESCRIPTORS = 64


class ChildLog:
    """The log and the cells of a child, as used by the child itself.

    Raises OSError when the run is over, or the limit of open files is too low.
    """

    def __init__(self, folder: str, number: int, counting: bool):
        if _descriptors() < _MIN_DESCRIPTORS:  # leave the remaining descriptors to the program
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        mark = os.urandom(8)
        self.folder = folder  # the folder of the process that runs the tests
        self.number = number  # the number with which this process was started
        self._imports: dict[FirstImport, int] = {}
        base = os.path.join(folder, f"{number}-{os.getpid()}-{mark.hex()}")
        self._cells = SharedCells(base + CELLS, counting)
        self._log = LogWriter(base + SUFFIX)
        try:
            # last: who sees another mark looks for the log, and looks into the folder only then
            _write_state(folder, MARK, mark)
        except OSError:
            self._log.close()
            raise

    def take(self, path: str, digest: str, cells: int, source_map: bytes, **more: int) -> MutableSequence[int]:
        """Allocate cells for a source."""
        at, room = self._cells.take(cells)
        head = {"path": path, "digest": digest, "cells": cells, "at": at, **more}
        self._log.write(FrameKind.FILE, with_json(head, source_map))
        return room

    def room(self, first: FirstImport, file: LoadedFile) -> MutableSequence[int]:
        """Allocate cells for what a first import runs of a source.

        The cells, all zero; an unused list if the log can't be written.
        """
        # written apart from other cells until it is known whether the import succeeds
        number = self._imports.setdefault(first, len(self._imports) + 1)
        try:
            return self.take(file.path, file.digest, len(file.cells), b"", **{"import": number})
        except OSError:  # the program's own code must not see the error
            return [0] * len(file.cells)

    def imported(self, first: FirstImport) -> None:
        """Note that a first import succeeded."""
        if first in self._imports:
            self._log.write(FrameKind.SHARED, with_json({"import": self._imports[first], "module": first.path}))

    def close(self) -> None:
        """Close the log, which belongs to another process after a fork."""
        self._log.close()


def report_failure(folder: str, error: OSError) -> None:
    """Report to the process that runs the tests that this one can't record itself."""
    with contextlib.suppress(OSError):  # the run is over
        _write_state(folder, FAILURE, (error.errno or errno.EIO).to_bytes(4, "little"))


def _write_state(folder: str, place: slice, value: bytes) -> None:
    with open(os.path.join(folder, STATE), "rb+") as stream:
        stream.seek(place.start)
        stream.write(value)


def _descriptors() -> int:
    """The number of files that this process may open."""
    if resource is None:
        return _MIN_DESCRIPTORS
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


def current_number(folder: str) -> int:
    """Return the number with which children are started now.

    0 if no test is running.

    Raises OSError when the run is over.
    """
    with open(os.path.join(folder, STATE), "rb") as stream:
        return int.from_bytes(stream.read(8), "little")
