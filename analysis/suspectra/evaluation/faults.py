"""Fault files: a text file that names the lines of known faults, one fault per line.

A fault is written as ``src/shop.py:12``, as a range ``src/shop.py:12-14``, or as several of these separated by spaces.
A ``#`` starts a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.errors import EvidenceError, Problem
from suspectra.spectrum import Elements

_PLACE = re.compile(r"(?P<file>.+?):(?P<first>\d+)(?:-(?P<last>\d+))?")
_HOW = "write FILE:LINE or FILE:FIRST-LAST, one fault a line"


@dataclass(frozen=True)
class FaultLocation:
    """A range of lines of one file that belongs to a fault."""

    file: str  # relative to the workspace, with forward slashes
    # counted from 1, both included
    first: int
    last: int
    named_on: int  # the line number in the fault file


@dataclass(frozen=True)
class FaultList:
    """The faults that a fault file names."""

    source: str  # the file, as the user would name it
    faults: tuple[tuple[FaultLocation, ...], ...]

    @classmethod
    def read(cls, path: Path) -> FaultList:
        """Read a fault file.

        Raises EvidenceError when it can't be read, a line is not a location, or there is no fault.
        """
        try:
            return cls.parse(str(path), path.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            cause = f"it can't be read: {getattr(error, 'strerror', None) or error}"
            raise EvidenceError(Problem(str(path), "", cause, "name a text file of faults")) from None

    @classmethod
    def parse(cls, source: str, text: str) -> FaultList:
        """Parse the text of a fault file.

        Raises EvidenceError when a line is not a location, or there is no fault.
        """
        faults = []
        for number, line in enumerate(text.splitlines(), 1):
            names = line.partition("#")[0].split()
            if names:
                faults.append(tuple(_parse_location(source, number, name) for name in names))
        if not faults:
            raise EvidenceError(Problem(source, "", "it names no fault", _HOW))
        return cls(source, tuple(faults))

    def elements(self, elements: Elements) -> tuple[list[Ints], list[Problem]]:
        """Find the statements of each fault, and the locations without a statement.

        A fault without any executable line is left out and reported: the user has to name a statement where it takes
        effect.

        Of shape (k,).
        """
        found, problems = [], []
        for places in self.faults:
            columns = [_columns(place, elements) for place in places]
            problems += [
                self._nothing_at(place, elements) for place, own in zip(places, columns, strict=True) if not len(own)
            ]
            if sum(map(len, columns)):
                found.append(np.unique(np.concatenate(columns)))
        return found, problems

    def _nothing_at(self, place: FaultLocation, elements: Elements) -> Problem:
        lines = elements.line[elements.in_file(place.file)]
        named = f"line {place.named_on}"
        if not len(lines):
            cause = f"{place.file} is not a measured file"
            return Problem(self.source, named, cause, "name it as the ranking does, relative to the workspace")
        nearest = int(lines[np.argmin(np.abs(lines - place.first))])
        cause = f"{place.file}:{place.first} contains no statement that can be executed"
        return Problem(self.source, named, cause, f"name a line where the fault takes effect, perhaps {nearest}")


def _parse_location(source: str, number: int, text: str) -> FaultLocation:
    match = _PLACE.fullmatch(text)
    first = int(match["first"]) if match else 0
    last = int(match["last"] or first) if match else 0
    if not match or not 1 <= first <= last or last >= 1 << 31:
        raise EvidenceError(Problem(source, f"line {number}", f"{text!r} is not a place in a file", _HOW))
    return FaultLocation(match["file"].replace("\\", "/").removeprefix("./"), first, last, number)


def _columns(place: FaultLocation, elements: Elements) -> Ints:
    """The statements that overlap a location."""
    span = elements.in_file(place.file)
    if place.first == place.last:
        at = elements.at(place.file, place.first)
        return np.array([] if at is None else [at], np.int64)
    touched = (elements.line[span] <= place.last) & (elements.end_line[span] >= place.first)
    return np.add(np.flatnonzero(touched), span.start)
