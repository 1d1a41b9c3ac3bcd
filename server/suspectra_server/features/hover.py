"""Hovers on every line that a failing test executes: why it has its rank."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types as lsp

from suspectra_server.convert import range_of, whole_line
from suspectra_server.features.wording import as_markdown, as_text
from suspectra_server.session.session import Session


def register(session: Session) -> None:
    """Answer `textDocument/hover`."""

    @session.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        found = session.folders.containing(params.text_document.uri)
        if found is None:
            return None
        folder, path = found
        snapshot, line = folder.current(), params.position.line
        suspect = snapshot.suspect_at(path, line)
        if suspect is None:
            return None
        mark = next(iter(snapshot.marks_at(path, line)), None)
        lines = snapshot.placements[path].now
        where = range_of(mark, lines, session.units) if mark and mark.suspect == suspect else whole_line(line)
        formats = session.can("text_document.hover.content_format")
        if isinstance(formats, Sequence) and lsp.MarkupKind.Markdown in formats:
            content = lsp.MarkupContent(lsp.MarkupKind.Markdown, as_markdown(snapshot, suspect))
        else:
            content = lsp.MarkupContent(lsp.MarkupKind.PlainText, as_text(snapshot, suspect))
        return lsp.Hover(content, where)
