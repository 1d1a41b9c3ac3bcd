"""Inlay hints at the ends of lines: the ranks of suspects (off by default), and the values on the way to a failure.

Every editor draws hints in its own way and moves them with the text, so no client needs code of its own for values. The
call hierarchy of LSP has no place for values, and belongs to the server of the language.
"""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from suspectra_server.features.chain_steps import chain_now
from suspectra_server.features.next_place import next_place
from suspectra_server.features.step_messages import StepMessages
from suspectra_server.features.suspect_texts import headline, rank_words, score_words
from suspectra_server.positions import first_line_of
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session

_ON_THE_WAY = "The value in the failing run, on the way from the cause to the failure"


def register(session: Session) -> None:
    """Answer `textDocument/inlayHint`."""

    @session.feature(lsp.TEXT_DOCUMENT_INLAY_HINT, lsp.InlayHintOptions(resolve_provider=False))
    def inlay_hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        found = session.folders.containing(params.text_document.uri)
        if found is None:
            return []
        folder, path = found
        values = [*_values(session, params), *_run_values(session, folder, path, params)]
        if not folder.settings.inlay_hints:
            return values
        snapshot = folder.current()
        return values + [
            lsp.InlayHint(
                first_line_of(mark, snapshot.placements[path].now, session.units).end,
                " · ".join(
                    [
                        f"suspect {rank_words(mark.suspect)}",
                        *filter(None, [mark.suspect.badge]),
                        score_words(mark.suspect.score),
                        *snapshot.ranking.findings.get(mark.suspect.element, ())[:1],
                        *filter(None, [next_place(folder, snapshot, mark)]),
                    ]
                ),
                tooltip=headline(snapshot.ranking, mark.suspect),
                padding_left=True,
            )
            for mark in snapshot.by_file.get(path, ())
            if not mark.examined and params.range.start.line <= mark.first <= params.range.end.line
        ]


def _values(session: Session, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """The values along the chain from a cause to its failure; several of a line one after the other."""
    first, last = params.range.start.line, params.range.end.line
    by_end: dict[tuple[int, int], list[str]] = {}
    for step in chain_now(session):
        end = step["range"].end
        if step["uri"] == params.text_document.uri and step["value"] and first <= end.line <= last:
            values = by_end.setdefault((end.line, end.character), [])
            values += [step["value"]] if step["value"] not in values else []
    return [
        lsp.InlayHint(lsp.Position(*end), f"→ {', '.join(values)}", tooltip=_ON_THE_WAY, padding_left=True)
        for end, values in by_end.items()
    ]


def _run_values(session: Session, folder: Folder, path: str, params: lsp.InlayHintParams) -> Iterator[lsp.InlayHint]:
    """The values of the run that is shown, but those that are there on the way to its failure."""
    run = session.shown_run
    if run is None or run.folder is not folder or not run.is_current:
        return
    there = {step["range"].end.line for step in chain_now(session) if step["uri"] == params.text_document.uri}
    for place, where in StepMessages(session, folder).placed(path, run.lines):
        end, text = where.end, run.lines[place]
        if text and params.range.start.line <= end.line <= params.range.end.line and end.line not in there:
            tooltip = plain(f"In the failing run of {run.test}", MAX_TEXT)
            yield lsp.InlayHint(end, f"→ {text}", tooltip=tooltip, padding_left=True)


def refresh(session: Session, *, always: bool = False) -> None:
    """Have the client request inlay hints again, if it supports that and they are on."""
    shown = (
        always
        or session.cause_search is not None
        or session.shown_run is not None
        or any(f.settings.inlay_hints for f in session.folders)
    )
    if session.can("workspace.inlay_hint.refresh_support") and shown:
        session.workspace_inlay_hint_refresh(None)
