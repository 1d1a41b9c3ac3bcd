"""Inlay hints: the rank at the end of a suspicious line. Off by default."""

from __future__ import annotations

from lsprotocol import types as lsp

from suspectra_server.convert import first_line_of
from suspectra_server.features.wording import headline, rank_words, score_words
from suspectra_server.session.session import Session


def register(session: Session) -> None:
    """Answer `textDocument/inlayHint`."""

    @session.feature(lsp.TEXT_DOCUMENT_INLAY_HINT, lsp.InlayHintOptions(resolve_provider=False))
    def inlay_hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        found = session.folders.containing(params.text_document.uri)
        if found is None or not found[0].settings.inlay_hints:
            return []
        folder, path = found
        snapshot = folder.current()
        return [
            lsp.InlayHint(
                first_line_of(mark, snapshot.placements[path].now, session.units).end,
                " · ".join(
                    [
                        f"suspect {rank_words(mark.suspect)}",
                        score_words(mark.suspect.score),
                        *snapshot.ranking.findings.get(mark.suspect.element, ())[:1],
                    ]
                ),
                tooltip=headline(snapshot.ranking, mark.suspect),
                padding_left=True,
            )
            for mark in snapshot.by_file.get(path, ())
            if not mark.examined and params.range.start.line <= mark.first <= params.range.end.line
        ]


def refresh(session: Session) -> None:
    """Have the client request inlay hints again, if it supports that and they are on."""
    if session.can("workspace.inlay_hint.refresh_support") and any(f.settings.inlay_hints for f in session.folders):
        session.workspace_inlay_hint_refresh(None)
