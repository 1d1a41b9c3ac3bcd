"""Where something is in the user's sources."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Location:
    """A range of lines of one file.

    Parameters
    ----------
    file : str
        Path relative to the workspace, with forward slashes.
    line, end_line : int
        First and last line, counted from 1, both included.

    Examples
    --------
    >>> print(Location("src/cart.py", 12, 14))
    src/cart.py:12-14
    """

    file: str
    line: int
    end_line: int

    def __post_init__(self) -> None:
        if not 1 <= self.line <= self.end_line:
            raise ValueError(f"not a range of lines: {self.line}-{self.end_line}")

    @property
    def short(self) -> str:
        """The name of the file and the first line, for sentences.

        Examples
        --------
        >>> Location("src/cart.py", 12, 14).short
        'cart.py:12'
        """
        return f"{self.file.rpartition('/')[2]}:{self.line}"

    def __str__(self) -> str:
        last = f"-{self.end_line}" if self.end_line != self.line else ""
        return f"{self.file}:{self.line}{last}"
