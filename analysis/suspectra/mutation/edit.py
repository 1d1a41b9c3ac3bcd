"""Edits of a text, as editors apply them."""

from __future__ import annotations

from typing import NamedTuple


class Edit(NamedTuple):
    """A range of a text, and what replaces it.

    Parameters
    ----------
    line, column : int
        Where the range begins: the line from 1, the column in bytes of UTF-8 from 0.
    end_line, end_column : int
        Where it ends; that column is not included.
    text : str
        What replaces it. Lines end with a line feed.

    Examples
    --------
    >>> Edit(1, 5, 1, 6, ">=").apply("if a > b:")
    'if a >= b:'
    >>> Edit(1, 0, 3, 0, "").lines_removed
    2
    """

    line: int
    column: int
    end_line: int
    end_column: int
    text: str

    def apply(self, source: str) -> str:
        """Replace the range.

        Parameters
        ----------
        source : str
            A text whose lines end with a line feed.

        Returns
        -------
        str
            The text with the replacement.
        """
        lines = source.split("\n")
        before = lines[self.line - 1].encode()[: self.column].decode()
        after = lines[self.end_line - 1].encode()[self.end_column :].decode()
        lines[self.line - 1 : self.end_line] = [before + self.text + after]
        return "\n".join(lines)

    @property
    def lines_removed(self) -> int:
        """How many lines fewer the text has afterwards."""
        return self.end_line - self.line - self.text.count("\n")
