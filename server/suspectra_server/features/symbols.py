"""Workspace symbols: the suspects, for clients that can list nothing but symbols."""

from __future__ import annotations

from lsprotocol import types as lsp

from suspectra_server.features.suspect_texts import rank_words, score_words
from suspectra_server.positions import range_of
from suspectra_server.safe_text import plain
from suspectra_server.session.session import Session


def register(session: Session) -> None:
    """Answer `workspace/symbol`."""

    @session.feature(lsp.WORKSPACE_SYMBOL)
    def symbols(params: lsp.WorkspaceSymbolParams) -> list[lsp.SymbolInformation]:
        query = params.query.casefold()
        found = []
        for folder in session.folders:
            snapshot = folder.current()
            for mark in snapshot.marks:
                place = f"{mark.file}:{mark.first + 1}"
                name = f"suspect {rank_words(mark.suspect)}: {place} ({score_words(mark.suspect.score)})"
                container = mark.suspect.function
                if query in name.casefold() or query in container.casefold():
                    where = range_of(mark, snapshot.placements[mark.file].now, session.units)
                    location = lsp.Location(folder.uri_of(mark.file), where)
                    found.append(
                        lsp.SymbolInformation(
                            location, plain(name), lsp.SymbolKind.Event, container_name=plain(container) or None
                        )
                    )
        return found
