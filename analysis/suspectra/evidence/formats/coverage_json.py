"""Reading the report of ``coverage json --show-contexts``: which context executed each line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.errors import EvidenceError, Problem
from suspectra.evidence.boundary import Boundary
from suspectra.evidence.formats.coverage_data import MAX_LINES
from suspectra.evidence.opening import open_evidence, read_evidence
from suspectra.evidence.sources import reason

MAX_REPORT = 2**30
HOW_TO_WRITE = "write it again with `coverage json --show-contexts`"
_HEAD = 4096


def is_report(path: Path) -> bool:
    """Whether a file looks like a report of coverage.py, with contexts or without."""
    try:
        with open_evidence(path, limit=sys.maxsize) as file:  # whoever reads all of it says that it is too large
            return b'"show_contexts"' in file.read(_HEAD)
    except (OSError, ValueError):
        return False


class CoverageJson:
    """One report.

    Raises EvidenceError when it can't be read, or has another form.
    """

    has_arcs = False  # the report has branches, but not which context took them

    def __init__(self, path: Path, name: str, boundary: Boundary | None = None):
        self.path, self.name, self._boundary = path, name, boundary
        files = self._load()
        self.files = list(enumerate(files))
        self.contexts: dict[int, str] = {}
        self.plugins: set[int] = set()
        numbers: dict[str, int] = {}
        self._hits = {file: self._read(numbers, path, files[path]) for file, path in self.files}
        self.contexts = {number: context for context, number in numbers.items()}

    def lines(self, file: int) -> Iterator[tuple[Ints, Ints]]:
        """Read the contexts and the lines that these executed."""
        yield self._hits[file]

    def arcs(self, file: int) -> tuple[Ints, Ints, Ints]:
        """Nothing: the report has no arcs."""
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing

    def _load(self) -> dict[str, Any]:
        try:
            data = read_evidence(self.path, self._boundary, MAX_REPORT)
        except FileNotFoundError:
            raise self._error("", "there is no such file") from None
        except (OSError, ValueError) as error:
            raise self._error("", f"it can't be read: {reason(error)}") from None
        try:
            document = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._error("", f"it is not JSON, or cut off: {error}") from None
        files = document.get("files") if isinstance(document, dict) else None
        if not isinstance(files, dict):
            raise self._error("", "it is not a report of coverage.py: it has no files")
        return files

    def _read(self, numbers: dict[str, int], path: str, file: Any) -> tuple[Ints, Ints]:
        try:
            hits = [
                (numbers.setdefault(str(context), len(numbers)), int(line))
                for line, contexts in file.get("contexts", {}).items()
                for context in contexts
            ]
            context, line = np.array(hits, np.int64).reshape(-1, 2).T
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise self._error(path, f"it has an odd value ({error})") from None
        if len(line) and not 0 < line.min() <= line.max() < MAX_LINES:
            raise self._error(path, f"it contains line numbers that are not from 1 to {MAX_LINES}")
        return context, line

    def _error(self, place: str, cause: str) -> EvidenceError:
        return EvidenceError(Problem(self.name, place, cause, HOW_TO_WRITE))
