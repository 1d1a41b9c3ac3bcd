"""Edits of a text, as editors apply them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """A range of a text, and what replaces it."""

    # where the range begins: the line from 1, the column in bytes of UTF-8 from 0
    line: int
    column: int
    # where it ends; that column is not included
    end_line: int
    end_column: int
    text: str  # what replaces it. Lines end with a line feed
    whole_statement: bool = False  # whether both are statements, and no expressions

    def apply(self, source: str) -> str:
        """Replace the range."""
        lines = source.split("\n")
        before = lines[self.line - 1].encode()[: self.column].decode()
        after = lines[self.end_line - 1].encode()[self.end_column :].decode()
        lines[self.line - 1 : self.end_line] = [before + self.text + after]
        return "\n".join(lines)

    def replaced(self, source: str) -> str:
        """The text in the range."""
        lines = source.split("\n")[self.line - 1 : self.end_line]
        lines[-1] = lines[-1].encode()[: self.end_column].decode()
        lines[0] = lines[0].encode()[self.column :].decode()
        return "\n".join(lines)

    def changed_lines(self, lines: Sequence[str]) -> tuple[int, int, tuple[str, ...]]:
        """The number of the first line that it changes, how many these are, and what they are afterwards.

        It is the same for all edits of some lines that have the same effect, whatever range they replace.
        """
        old = list(lines[self.line - 1 : self.end_line])
        before = old[0].encode()[: self.column].decode()
        new = (before + self.text + old[-1].encode()[self.end_column :].decode()).split("\n")
        first = self.line
        while old and new and old[0] == new[0]:
            del old[0], new[0]
            first += 1
        while old and new and old[-1] == new[-1]:
            del old[-1], new[-1]
        return first, len(old), tuple(new)

    @property
    def lines_removed(self) -> int:
        """How many lines fewer the text has afterwards."""
        return self.end_line - self.line - self.text.count("\n")


def with_edits(text: str, edits: Iterable[Edit]) -> str:
    """A text with all of some edits, each of which has its place in the text as it is."""
    for edit in sorted(edits, reverse=True):  # the last first
        text = edit.apply(text)
    return text
