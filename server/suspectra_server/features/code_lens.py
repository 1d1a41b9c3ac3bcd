"""Code lenses where someone decides: above failing tests, and above the functions that deserve the next look."""

from __future__ import annotations

from lsprotocol import types as lsp

from suspectra.base.location import Location
from suspectra_server.features.failing_tests import (
    DEBUG,
    NEXT,
    WHY,
    WHY_SHORT,
    can_be_compared,
    can_be_investigated,
    tests_in_text,
)
from suspectra_server.features.suspect_texts import named
from suspectra_server.protocol import COMMAND_IDS
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.state.marks import Mark
from suspectra_server.state.snapshot import Snapshot


def register(session: Session) -> None:
    """Answer `textDocument/codeLens`."""

    @session.feature(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions(resolve_provider=False))
    def code_lens(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        found = session.folders.containing(params.text_document.uri)
        if found is None or not found[0].settings.code_lens:
            return []
        folder, path = found
        snapshot = folder.current()
        lenses = _tests(session, folder, path)
        for line, marks in _functions(snapshot, path):
            if not _deserves_a_lens(snapshot, marks):
                continue
            uri, best = params.text_document.uri, marks[0].suspect
            commands = [_explain(_title(snapshot, marks), uri, marks[0])]
            first = best.element in {mark.suspect.element for mark in snapshot.first}
            if first and session.trust.granted and can_be_compared(folder):
                arguments = [folder.uri, list(best.failing_tests)]
                commands.append(lsp.Command(WHY_SHORT, COMMAND_IDS["why"], arguments=arguments))
            if len(snapshot.marks) > len(marks):
                cursor = {"uri": uri, "position": {"line": marks[0].first, "character": 0}}
                commands.append(lsp.Command(NEXT, COMMAND_IDS["nextSuspect"], arguments=[cursor]))
            where = lsp.Range(lsp.Position(line, 0), lsp.Position(line, 0))
            lenses += [lsp.CodeLens(where, command) for command in commands]
        return lenses


def _tests(session: Session, folder: Folder, path: str) -> list[lsp.CodeLens]:
    """Above each failing test that can be run again the two commands that people give most; code actions have all."""
    if not (session.trust.granted and can_be_investigated(folder)):
        return []
    return [
        lsp.CodeLens(lsp.Range(lsp.Position(line, 0), lsp.Position(line, 0)), command)
        for line, names in tests_in_text(folder, path).items()
        for command in (
            lsp.Command(WHY, COMMAND_IDS["why"], arguments=[folder.uri, names]),
            lsp.Command(DEBUG, COMMAND_IDS["debugTest"], arguments=[folder.uri, names[0]]),
        )
    ]


def refresh(session: Session) -> None:
    """Have the client request code lenses again, if it supports that."""
    if session.can("workspace.code_lens.refresh_support"):
        session.workspace_code_lens_refresh(None)


def _functions(snapshot: Snapshot, path: str) -> list[tuple[int, list[Mark]]]:
    """The first line of each function with marks, counted from 0, and its marks, best first."""
    marks_of: dict[int, list[Mark]] = {}
    for mark in snapshot.by_file.get(path, ()):
        function = int(snapshot.ranking.elements.function[mark.suspect.element])
        if function >= 0 and not mark.examined:
            marks_of.setdefault(function, []).append(mark)
    placed = []
    for function, marks in marks_of.items():
        line = snapshot.ranking.elements.functions[function].line
        if lines := snapshot.placements[path].current_lines(Location(path, line, line)):
            placed.append((lines[0], marks))
    return placed


def _deserves_a_lens(snapshot: Snapshot, marks: list[Mark]) -> bool:
    """Whether a function contains a first suspect, or one about which experiments found something."""
    first = {mark.suspect.element for mark in snapshot.first}
    found = snapshot.ranking.findings
    return any(mark.suspect.element in first or mark.suspect.element in found for mark in marks)


def _explain(title: str, uri: str, mark: Mark) -> lsp.Command:
    return lsp.Command(title, COMMAND_IDS["explain"], arguments=[uri, mark.first])


def _title(snapshot: Snapshot, marks: list[Mark]) -> str:
    """How suspicious a function is, and what experiments found about it or what is remarkable."""
    best = marks[0].suspect
    found = [sentence.removesuffix(".") for sentence in snapshot.ranking.findings.get(best.element, ())[:1]]
    remarks = found or ([best.badge] if best.badge else [])
    return " · ".join([f"{named(snapshot.ranking, best)} ({best.ef} of {best.ef + best.nf} failing)", *remarks])
