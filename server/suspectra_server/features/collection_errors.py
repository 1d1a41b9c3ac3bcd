"""Diagnostics for what keeps tests from being collected."""

from __future__ import annotations

from lsprotocol import types as lsp

from suspectra.base.english import many
from suspectra_server.positions import position
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.folder import Folder
from suspectra_server.state.documents import Units
from suspectra_server.state.marks import ErrorMark

SOURCE = "suspectra"
CODE = "collection-error"


def range_of_error(folder: Folder, mark: ErrorMark, units: Units) -> lsp.Range | None:
    """The line of an error as it is now; None if it was edited, or if its text was never read."""
    lines = folder.texts.now(mark.error.file)
    if mark.line is None or lines is None or mark.line >= len(lines):
        return None
    return lsp.Range(*(position(mark.line, column, lines, units) for column in (mark.start, mark.end)))


def collection_diagnostics(folder: Folder, units: Units) -> dict[str, list[lsp.Diagnostic]]:
    """One diagnostic for each line and error, however many test files run into it."""
    met: dict[tuple[str, int, str], list[ErrorMark]] = {}
    for mark in folder.snapshot.errors:
        if mark.line is not None and mark.error.file in folder.snapshot.ranking.inside:
            met.setdefault((mark.error.file, mark.line, mark.error.what), []).append(mark)
    wanted: dict[str, list[lsp.Diagnostic]] = {}
    for (file, _, what), marks in met.items():
        if (place := range_of_error(folder, marks[0], units)) is not None:
            text = f"{plain(what, MAX_TEXT)}\n{plain(_consequence(marks))}"
            diagnostic = lsp.Diagnostic(place, text, severity=lsp.DiagnosticSeverity.Error, code=CODE, source=SOURCE)
            wanted.setdefault(file, []).append(diagnostic)
    return wanted


def _consequence(marks: list[ErrorMark]) -> str:
    collectors = list(dict.fromkeys(mark.error.collector for mark in marks))
    if "" in collectors:
        return "The test run failed."
    more = f" and {many(len(collectors) - 1, 'more file')}" if len(collectors) > 1 else ""
    return f"{collectors[0]}{more} could not be collected."
