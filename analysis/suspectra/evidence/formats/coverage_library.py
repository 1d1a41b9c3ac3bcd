"""Reading data of a newer coverage.py through its own library, where that is installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.formats.coverage_data import MAX_DATA, NewerSchema
from suspectra.evidence.opening import open_evidence
from suspectra.processes.scratch import ScratchFolder

if TYPE_CHECKING:
    import coverage


class LibraryData:
    """What coverage.py's library reads from a copy of a data file, since it may write to what it opens.

    Raises EvidenceError when the library is not installed, or can't read the file either.
    """

    def __init__(self, path: Path, newer: NewerSchema, boundary: Boundary | None = None):
        self.name = newer.problem.file
        try:
            import coverage
        except ImportError:
            raise newer from None
        try:
            with ScratchFolder() as folder:
                copy = folder / "data"
                with open_evidence(path, boundary, MAX_DATA) as file, open(copy, "wb") as target:
                    shutil.copyfileobj(file, target)
                data = coverage.CoverageData(basename=str(copy))
                data.read()
                self._take(data)
                data.close()
        except (coverage.CoverageException, OSError, ValueError, TypeError) as error:
            problem = newer.problem
            reason = str(error).rpartition(": ")[2]  # before it is the path of the copy
            cause = f"{problem.cause}, and coverage.py {coverage.__version__} can't read it either ({reason})"
            raise EvidenceError(Problem(problem.file, "", cause, problem.cure)) from None

    def _take(self, data: coverage.CoverageData) -> None:
        self.files = list(enumerate(sorted(data.measured_files())))
        self.contexts = dict(enumerate(sorted(data.measured_contexts())))
        self.has_arcs = data.has_arcs()
        self.plugins = {number for number, path in self.files if data.file_tracer(path)}
        self._hits: dict[int, list[tuple[int, Any]]] = {number: [] for number, _ in self.files}
        for context, name in self.contexts.items():
            data.set_query_context(name)
            for number, path in self.files:
                hits = data.arcs(path) if self.has_arcs else data.lines(path)
                if hits:
                    self._hits[number].append((context, np.array(hits, np.int64)))

    def lines(self, file: int) -> Iterator[tuple[Ints, Ints]]:
        """Read the contexts and the lines that these executed, in chunks."""
        for context, lines in self._hits[file]:
            yield np.full(len(lines), context, np.int64), lines

    def arcs(self, file: int) -> tuple[Ints, Ints, Ints]:
        """Read contexts, and the ends of the arcs that these executed."""
        hits = self._hits[file]
        if not hits:
            nothing = np.zeros(0, np.int64)
            return nothing, nothing, nothing
        contexts = np.concatenate([np.full(len(arcs), context, np.int64) for context, arcs in hits])
        source, target = np.concatenate([arcs for _, arcs in hits]).T
        return contexts, source, target
