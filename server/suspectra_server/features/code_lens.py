"""Code lenses where someone decides: above failing tests, and above the functions that deserve the next look."""

from __future__ import annotations

from lsprotocol import types as lsp

from suspectra.base.location import Location
from suspectra_server.features.failing_tests import (
    CAUSE,
    COMPARE_RUNS,
    DEBUG,
    LED_HERE,
    WHY,
    WOULD_PASS,
    can_be_investigated,
    tests_in_text,
)
from suspectra_server.features.next_place import next_place
from suspectra_server.features.suspect_texts import rank_words, score_words
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
            commands = [_explain(_title(snapshot, marks), params.text_document.uri, marks[0])]
            best = marks[0].suspect
            if best.element in {mark.suspect.element for mark in snapshot.first} and _can_run(session, folder):
                arguments = [folder.uri, list(best.failing_tests)]
                commands.append(lsp.Command(WHY, COMMAND_IDS["why"], arguments=arguments))
            if command := _next(folder, snapshot, params.text_document.uri, marks):
                commands.append(command)
            where = lsp.Range(lsp.Position(line, 0), lsp.Position(line, 0))
            lenses += [lsp.CodeLens(where, command) for command in commands]
        return lenses


def _tests(session: Session, folder: Folder, path: str) -> list[lsp.CodeLens]:
    """Above each failing test that can be run again, the commands that do so."""
    if not _can_run(session, folder):
        return []
    return [
        lsp.CodeLens(lsp.Range(lsp.Position(line, 0), lsp.Position(line, 0)), command)
        for line, names in tests_in_text(folder, path).items()
        for command in (
            lsp.Command(WHY, COMMAND_IDS["why"], arguments=[folder.uri, names]),
            lsp.Command(DEBUG, COMMAND_IDS["debugTest"], arguments=[folder.uri, names[0]]),
            lsp.Command(WOULD_PASS, COMMAND_IDS["investigate"], arguments=[folder.uri, names]),
            lsp.Command(CAUSE, COMMAND_IDS["findCause"], arguments=[folder.uri, names[0]]),
            lsp.Command(COMPARE_RUNS, COMMAND_IDS["comparePassing"], arguments=[folder.uri, names[0]]),
            lsp.Command(LED_HERE, COMMAND_IDS["whatLedHere"], arguments=[folder.uri_of(path), line, names[0]]),
        )
    ]


def _can_run(session: Session, folder: Folder) -> bool:
    return session.trust.granted and can_be_investigated(folder)


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


def _next(folder: Folder, snapshot: Snapshot, uri: str, marks: list[Mark]) -> lsp.Command | None:
    """Where to look after the function's best suspect, according to the navigation model."""
    known = snapshot.navigation.next if snapshot.navigation else {}
    mark = next((mark for mark in marks if mark.suspect.element in known), None)
    if mark is None:
        return None
    cursor = {"uri": uri, "position": {"line": mark.first, "character": 0}}
    title = next_place(folder, snapshot, mark)
    return lsp.Command(title, COMMAND_IDS["jump"], arguments=[cursor]) if title else None


def _title(snapshot: Snapshot, marks: list[Mark]) -> str:
    best = marks[0].suspect
    more = f" · {len(marks)} suspicious lines" if len(marks) > 1 else ""
    badge = f" · {best.badge}" if best.badge else ""
    ranking = snapshot.ranking
    group = f" · {ranking.group.heading}" if ranking.group else ""
    score = f"{ranking.technique.info.title} {score_words(best.score)}"
    found = "".join(f" · {sentence.removesuffix('.')}" for sentence in ranking.findings.get(best.element, ())[:1])
    return f"Suspect {rank_words(best)} · {score}{found}{badge}{more}{group}"
