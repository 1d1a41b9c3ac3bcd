"""Lines that a project excludes, according to gcovr when its tests were recorded."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from suspectra.errors import Problem
from suspectra.quantity import are, many


@dataclass(frozen=True)
class Exclusions:
    """Lines and files that are excluded from rankings.

    Parameters
    ----------
    lines : mapping of str to frozenset of int
        Excluded lines by path relative to the workspace.
    files : frozenset of str
        Files that are excluded completely.
    why : str
        The reason, for messages.

    Examples
    --------
    >>> exclusions = Exclusions({"cart.c": frozenset({3, 9})}, frozenset({"made.c", "old.c"}), "markers in the source")
    >>> exclusions.contains("cart.c", 3), exclusions.contains("cart.c", 4), exclusions.contains("made.c", 1)
    (True, False, True)
    >>> Exclusions.from_fields(exclusions.fields()) == exclusions
    True
    >>> exclusions.problem("recording").cause
    '2 files and 2 lines of 1 file are not ranked: markers in the source'
    """

    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    why: str = ""

    def contains(self, path: str, line: int) -> bool:
        """Whether a line is excluded.

        Parameters
        ----------
        path : str
            Relative to the workspace.
        line : int
            Counted from 1.

        Returns
        -------
        bool
            Also True if the whole file is excluded.
        """
        return path in self.files or line in self.lines.get(path, ())

    def replaced(self, paths: Collection[str], others: Exclusions) -> Exclusions:
        """Replace the exclusions of some files.

        Parameters
        ----------
        paths : collection of str
            The files to replace.
        others : Exclusions
            The exclusions of these files. Their reason is used for all, if they have one.

        Returns
        -------
        Exclusions
            The exclusions of all files.

        Examples
        --------
        >>> before = Exclusions({"cart.c": frozenset({3}), "tax.c": frozenset({7})}, why="markers in the source")
        >>> before.replaced(["cart.c"], Exclusions({"cart.c": frozenset({4})})).lines
        {'tax.c': frozenset({7}), 'cart.c': frozenset({4})}
        """
        lines = {path: numbers for path, numbers in self.lines.items() if path not in paths}
        files = frozenset(path for path in self.files if path not in paths)
        return Exclusions({**lines, **others.lines}, files | others.files, others.why or self.why)

    def problem(self, source: str) -> Problem | None:
        """Describe what is excluded and why.

        Parameters
        ----------
        source : str
            The name of the evidence in messages.

        Returns
        -------
        Problem or None
            None if nothing is excluded.
        """
        parts = [many(len(self.files), "file")] if self.files else []
        if count := sum(map(len, self.lines.values())):
            parts.append(f"{many(count, 'line')} of {many(len(self.lines), 'file')}")
        if not parts:
            return None
        cause = f"{' and '.join(parts)} {are(len(self.files) + count)} not ranked: {self.why}"
        return Problem(source, "", cause, "to have them ranked, take the markers or settings away and record again")

    def fields(self) -> dict[str, object]:
        """Return the fields for :meth:`from_fields`.

        Returns
        -------
        dict of str to object
            In a form that JSON can represent.
        """
        lines = {path: sorted(numbers) for path, numbers in sorted(self.lines.items())}
        return {"lines": lines, "files": sorted(self.files), "why": self.why}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Exclusions:
        """Make exclusions from the result of :meth:`fields`.

        Parameters
        ----------
        fields : mapping of str to Any
            Fields from a recording; not trusted.

        Returns
        -------
        Exclusions
            Equal to those that were stored.

        Raises
        ------
        KeyError, TypeError, ValueError, AttributeError
            When the fields have another form.
        """
        lines = {str(path): frozenset(map(int, numbers)) for path, numbers in fields["lines"].items()}
        return cls(lines, frozenset(map(str, fields["files"])), str(fields["why"]))


NO_EXCLUSIONS = Exclusions()
