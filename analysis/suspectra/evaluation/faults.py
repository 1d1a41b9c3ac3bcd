"""Where the faults are: a text file that names their lines, one fault a line.

``src/shop.py:12``, a range ``src/shop.py:12-14``, or several places of one fault separated by blanks; ``#`` starts a
comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from suspectra.arrays import Ints
from suspectra.errors import EvidenceError, Problem
from suspectra.spectrum import Elements

_PLACE = re.compile(r"(?P<file>.+?):(?P<first>\d+)(?:-(?P<last>\d+))?")
_HOW = "write FILE:LINE or FILE:FIRST-LAST, one fault a line"


@dataclass(frozen=True)
class FaultLocation:
    """Lines of one file that hold a fault.

    Parameters
    ----------
    file : str
        Relative to the workspace, with forward slashes.
    first, last : int
        Counted from 1, both included.
    named_on : int
        The line of the fault file that names them.

    Examples
    --------
    >>> FaultLocation("cart.py", 12, 14, named_on=1).last
    14
    """

    file: str
    first: int
    last: int
    named_on: int


@dataclass(frozen=True)
class FaultList:
    r"""The faults a file names.

    Parameters
    ----------
    source : str
        The file, as the user would name it.
    faults : tuple of tuple of FaultLocation
        For each fault its places.

    Examples
    --------
    >>> faults = FaultList.parse("faults.txt", "# two faults\nshop.py:3\nshop.py:7-8 tax.py:2\n")
    >>> [len(places) for places in faults.faults]
    [1, 2]
    """

    source: str
    faults: tuple[tuple[FaultLocation, ...], ...]

    @classmethod
    def read(cls, path: Path) -> FaultList:
        """Read a fault file.

        Parameters
        ----------
        path : Path
            A text file: a fault on each line, its places separated by spaces.

        Returns
        -------
        FaultList
            At least one fault.

        Raises
        ------
        EvidenceError
            When it can't be read, a line is not a place, or there is none.

        Examples
        --------
        >>> _ = (folder / "faults.txt").write_text("shop.py:3")
        >>> FaultList.read(folder / "faults.txt").faults[0][0].first
        3
        """
        try:
            return cls.parse(str(path), path.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            cause = f"it can't be read: {getattr(error, 'strerror', None) or error}"
            raise EvidenceError(Problem(str(path), "", cause, "name a text file of faults")) from None

    @classmethod
    def parse(cls, source: str, text: str) -> FaultList:
        """The faults in a text.

        Parameters
        ----------
        source : str
            How problems name the text.
        text : str
            A fault on each line; ``#`` begins a comment.

        Returns
        -------
        FaultList
            At least one fault.

        Raises
        ------
        EvidenceError
            When a line is not a place, or there is none.
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
        """The statements of each fault, and places that hold none.

        A fault none of whose lines is executable is left out with a problem: the statement where it takes effect is
        for the user to name.

        Parameters
        ----------
        elements : Elements
            Of the spectrum that is ranked.

        Returns
        -------
        faults : list of ndarray of int
            The columns of each fault that has any.
        problems : list of Problem
            Places that hold no statement.

        Examples
        --------
        >>> from suspectra.spectrum import Spectrum
        >>> elements = Spectrum.from_matrix([[1, 1, 0]], failed=[True]).elements
        >>> faults, problems = FaultList.parse("faults.txt", "program:2").elements(elements)
        >>> [columns.tolist() for columns in faults], problems
        ([[1]], [])
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
        cause = f"{place.file}:{place.first} holds no statement that can be executed"
        return Problem(self.source, named, cause, f"name a line where the fault takes effect, perhaps {nearest}")


def _parse_location(source: str, number: int, text: str) -> FaultLocation:
    match = _PLACE.fullmatch(text)
    first = int(match["first"]) if match else 0
    last = int(match["last"] or first) if match else 0
    if not match or not 1 <= first <= last or last >= 1 << 31:
        raise EvidenceError(Problem(source, f"line {number}", f"{text!r} is not a place in a file", _HOW))
    return FaultLocation(match["file"].replace("\\", "/").removeprefix("./"), first, last, number)


def _columns(place: FaultLocation, elements: Elements) -> Ints:
    """The statements that touch a place."""
    span = elements.in_file(place.file)
    if place.first == place.last:
        at = elements.at(place.file, place.first)
        return np.array([] if at is None else [at], np.int64)
    touched = (elements.line[span] <= place.last) & (elements.end_line[span] >= place.first)
    return np.add(np.flatnonzero(touched), span.start)
