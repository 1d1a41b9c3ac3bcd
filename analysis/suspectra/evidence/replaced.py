"""Things other than the measured sources that changed: packages, Python, files."""

from __future__ import annotations

from typing import NamedTuple


class Replaced(NamedTuple):
    """Something of which a test ran with another version when it passed.

    Parameters
    ----------
    name : str
        A distribution, ``Python`` for the interpreter, or a file relative to the workspace.
    before, after : str
        The versions; empty where it was not there, and both empty for a file.

    Examples
    --------
    >>> str(Replaced("numpy", "1.26.4", "2.1.0")), str(Replaced("rates.csv", "", ""))
    ('numpy 1.26.4 → 2.1.0', 'rates.csv')
    """

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        if not (self.before or self.after):
            return self.name
        if not self.before:
            return f"{self.name} {self.after} is new"
        if not self.after:
            return f"{self.name} {self.before} is gone"
        return f"{self.name} {self.before} → {self.after}"
