"""Suspects and collection errors at their lines in the present text."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from suspectra.base.location import Location
from suspectra.report import Suspect
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.stack import FailedLine, Stack
from suspectra_server.messages import SuspicionLevel
from suspectra_server.state.documents import Lines, Placement
from suspectra_server.state.ranking import RecordedLine, suspicion_level

_SYNTAX = ("SyntaxError", "IndentationError", "TabError")


@dataclass(frozen=True)
class Mark:
    """A suspect at its lines in the present text."""

    suspect: Suspect  # as ranked, in the lines of the run
    first: int  # lines now, counted from 0
    last: int
    start: int  # columns in code points: of the first line's first character that is not blank
    end: int  # of the end of the last line
    line_end: int  # of the end of the first line
    examined: bool  # marked as examined or innocent
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
    def suspicion(self) -> SuspicionLevel:
        """How far up it is ranked."""
        return suspicion_level(self.suspect)

    def contains(self, line: int) -> bool:
        """Whether a line, counted from 0, belongs to it."""
        return self.first <= line <= self.last


@dataclass(frozen=True)
class ErrorMark:
    """A collection error at its line in the present text."""

    error: CollectionError
    line: int | None = None  # counted from 0; None if the line was edited, or if the text was never read
    start: int = 0  # columns in code points, without white space at the ends of the line
    end: int = 0

    @classmethod
    def for_error(cls, error: CollectionError, placement: Placement | None) -> ErrorMark:
        """The mark of an error, given the placement of its file."""
        found = _line_now(error.file, error.line, placement)
        return cls(error, *found) if found else cls(error)


def is_repaired(error: CollectionError, now: Lines | None) -> bool:
    """Whether the text of a file that could not be parsed has changed since, and can be parsed now."""
    if now is None or error.exception not in _SYNTAX or not error.file.endswith(".py"):
        return False
    try:
        ast.parse("\n".join(now))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


@dataclass(frozen=True)
class FailureMark:
    """A failing test at the line of test code in which it failed, in the present text."""

    test: str  # its name
    stack: Stack  # by what it failed
    file: str  # the file of the line, relative to the workspace folder
    line: int  # as for ErrorMark; there is no mark where the line was edited
    start: int
    end: int

    @classmethod
    def for_test(cls, test: str, stack: Stack, line: FailedLine, placement: Placement | None) -> FailureMark | None:
        """The mark of a test, given the placement of the file of a line in which it failed; None if it has no place."""
        found = _line_now(line.file, line.line, placement)
        return cls(test, stack, line.file, *found) if found else None


def _line_now(file: str, line: int, placement: Placement | None) -> tuple[int, int, int] | None:
    """A line in the present text, and the columns of its text; None if it was edited, or its text was never read."""
    lines = placement.current_lines(Location(file, line, line)) if placement else None
    if placement is None or lines is None:
        return None
    text = placement.now[lines[0]]
    return lines[0], len(text) - len(text.lstrip()), end_of(text)


def end_of(line: str) -> int:
    """Where the text of a line ends, in code points."""
    return len(line.rstrip())
