"""Sources that have not changed since the tests ran."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from suspectra.program import Program

if TYPE_CHECKING:
    from suspectra.program.source_facts import SourceFacts
    from suspectra.runs.measured_file import MeasuredFile

SourceOf = Callable[[str], bytes | None]
"""Given a path, returns the bytes of the file as it was when the tests ran, or None if they are not available."""


@dataclass(frozen=True)
class SourcesAsRun:
    """Sources that are still as they were when the tests ran."""

    files: tuple[MeasuredFile, ...]  # the files with their digests
    read: SourceOf | None  # given a path, returns the current bytes of the file, or None
    facts: SourceFacts | None = None  # what the evidence has instead of sources

    @classmethod
    def for_program(cls, program: Program | None) -> SourcesAsRun:
        """Make the sources of a program."""
        return cls((), None) if program is None else cls(program.files, program.source_of, program.facts)

    def __call__(self, path: str) -> bytes | None:
        """Return the bytes of a file, None if it can't be read or has changed."""
        data = self.read(path) if self.read else None
        digest = self._digests.get(path)
        changed = data is not None and digest is not None and hashlib.sha256(data).hexdigest() != digest
        return None if changed else data

    @cached_property
    def _digests(self) -> dict[str, str | None]:
        return {file.path: file.digest for file in self.files}
