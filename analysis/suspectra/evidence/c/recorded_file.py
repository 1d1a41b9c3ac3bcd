"""One source of C or C++ as a recording knows it: its lines can be found again in another text of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from suspectra.base.arrays import Ints
from suspectra.evidence.source_changes import SourceLines
from suspectra.runs.measured_file import MeasuredFile


@dataclass(frozen=True, eq=False, kw_only=True)
class CRecordedFile(MeasuredFile):
    """One source file as a recording knows it. A recording keeps digests of lines, and no source text."""

    recorded: Callable[[], SourceLines | None]  # returns the digests of its lines, None where they are missing

    @classmethod
    def from_file(cls, file: MeasuredFile, recorded: Callable[[], SourceLines | None]) -> CRecordedFile:
        """The same file with its digests."""
        return cls(**{one.name: getattr(file, one.name) for one in fields(MeasuredFile)}, recorded=recorded)

    def lines_in(self, text: bytes) -> Ints | None:
        """Find the lines in another text of the file.

        Of shape (lines + 1,). For each line of the run, counted from 1, its line in the text; 0 for one that was
        edited, that says nothing, or that can't be told from others. None if the recording has no usable digests of the
        lines.
        """
        as_run = self.recorded()
        last = int(self.end_line.max(initial=0))
        return None if as_run is None else as_run.lines_in(SourceLines.from_text(self.path, text), last)
