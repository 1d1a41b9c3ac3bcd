"""Suspects and collection errors at their lines in the present text."""

from __future__ import annotations

from dataclasses import dataclass

from suspectra.location import Location
from suspectra.report import Suspect
from suspectra_recorder.log.collection import CollectionError
from suspectra_server.state.documents import Placement
from suspectra_server.state.ranking import Band, RecordedLine


@dataclass(frozen=True)
class Mark:
    """A suspect at its lines in the present text.

    Parameters
    ----------
    suspect : Suspect
        As ranked, in the lines of the run.
    first, last : int
        Lines now, counted from 0.
    start, end : int
        Columns in code points: the first character of the first line that is not blank, the end of the last line.
    line_end : int
        The end of the first line.
    examined : bool
        Marked as examined or innocent.
    innocent : bool
    """

    suspect: Suspect
    first: int
    last: int
    start: int
    end: int
    line_end: int
    examined: bool
    innocent: bool = False

    @property
    def file(self) -> str:
        """The file, relative to the workspace folder."""
        return self.suspect.location.file

    @property
    def recorded_line(self) -> RecordedLine:
        """Its file and its first line as it was run."""
        return self.suspect.location.file, self.suspect.location.line

    @property
    def band(self) -> Band:
        """How high it is ranked."""
        return Band.for_suspect(self.suspect)

    def contains(self, line: int) -> bool:
        """Whether a line, counted from 0, belongs to it."""
        return self.first <= line <= self.last


@dataclass(frozen=True)
class ErrorMark:
    """A collection error at its line in the present text.

    Parameters
    ----------
    error : CollectionError
    line : int or None
        Counted from 0; None if the line was edited, or if the text was never read.
    start, end : int
        Columns in code points, without white space at the ends of the line.
    """

    error: CollectionError
    line: int | None = None
    start: int = 0
    end: int = 0

    @classmethod
    def for_error(cls, error: CollectionError, placement: Placement | None) -> ErrorMark:
        """The mark of an error, given the placement of its file."""
        lines = placement.current_lines(Location(error.file, error.line, error.line)) if placement else None
        if placement is None or lines is None:
            return cls(error)
        text = placement.now[lines[0]]
        return cls(error, lines[0], len(text) - len(text.lstrip()), end_of(text))


def end_of(line: str) -> int:
    """Where the text of a line ends, in code points."""
    return len(line.rstrip())
