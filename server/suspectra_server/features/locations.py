"""Statements in messages and on the screen: where they are now, and their ranks."""

from __future__ import annotations

from lsprotocol import types as lsp

from suspectra_server.messages import CodeLocation
from suspectra_server.safe_text import plain
from suspectra_server.session.navigation.ranked_statement import RankedStatement
from suspectra_server.session.session import Session


def current_location(session: Session, statement: RankedStatement) -> lsp.Location | None:
    """Where a statement of this or an earlier ranking is now.

    None if it was edited, or if the text of its file was never read.
    """
    now = statement.now()
    if now is None:
        return None
    folder = now.folder
    where = now.ranking.elements.location(now.element)
    placement = folder.placement(where.file)
    if placement is None or (lines := placement.current_lines(where)) is None:
        return None
    first, last = (placement.now[line] for line in lines)
    count = session.units.count
    return lsp.Location(
        folder.uri_of(where.file),
        lsp.Range(
            lsp.Position(lines[0], count(first[: len(first) - len(first.lstrip())])),
            lsp.Position(lines[1], count(last.rstrip())),
        ),
    )


def open_at(session: Session, location: lsp.Location) -> bool:
    """Let the client show the start of a location; False for a client that can't."""
    if not session.can("window.show_document.support"):
        return False
    # nothing is selected, so that a key can't replace the statement
    start = location.range.start
    show = lsp.ShowDocumentParams(location.uri, take_focus=True, selection=lsp.Range(start, start))
    session.window_show_document(show)
    return True


def to_protocol(session: Session, statement: RankedStatement) -> CodeLocation | None:
    """A `CodeLocation` of the protocol; None if it is not known where the statement is."""
    location, now = current_location(session, statement), statement.now()
    if location is None or now is None:
        return None
    elements = now.ranking.elements
    file, line = elements.files[elements.file[now.element]], location.range.start.line
    placement = now.folder.placement(file)
    if placement is None:
        return None
    suspect = now.suspect
    return {
        "uri": location.uri,
        "range": location.range,
        "file": file,
        "line": line + 1,
        "function": plain(elements.function_name(now.element)),
        "source": plain(placement.now[line].strip()),
        "rankBest": suspect.rank_best if suspect else None,
        "rankWorst": suspect.rank_worst if suspect else None,
        "steps": now.folder.snapshot.steps(now.element) if suspect else None,
    }
