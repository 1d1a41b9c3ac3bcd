"""Conversion between Suspectra's types and those of LSP: URIs, positions and ranges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from suspectra_server.state.documents import Units
from suspectra_server.state.marks import Mark


def path_of(uri: str) -> Path | None:
    """The path of a ``file:`` URI, None for any other."""
    try:
        path = to_fs_path(uri)
    except (ValueError, AttributeError):
        return None
    return Path(path) if path and "\0" not in path else None


def range_of(mark: Mark, lines: Sequence[str], units: Units) -> lsp.Range:
    """The range of a whole statement."""
    return lsp.Range(
        position(mark.first, mark.start, lines, units),
        position(mark.last, mark.end, lines, units),
    )


def first_line_of(mark: Mark, lines: Sequence[str], units: Units) -> lsp.Range:
    """The range of the first line of a statement."""
    return lsp.Range(
        position(mark.first, mark.start, lines, units),
        position(mark.first, mark.line_end, lines, units),
    )


def position(line: int, column: int, lines: Sequence[str], units: Units) -> lsp.Position:
    """The LSP position of a line and a column, counted from 0 and in code points."""
    text = lines[line] if line < len(lines) else ""
    return lsp.Position(line, units.count(text[:column]))


def whole_line(line: int) -> lsp.Range:
    """The range from the start of a line to the start of the next."""
    return lsp.Range(lsp.Position(line, 0), lsp.Position(line + 1, 0))
