"""Code actions on a suspect: the commands that a reader may want to give there."""

from __future__ import annotations

from typing import Any

from lsprotocol import types as lsp

from suspectra_server.features.diagnostics import SOURCE
from suspectra_server.features.wording import rank_words
from suspectra_server.protocol import COMMAND_IDS
from suspectra_server.session.session import Session


def register(session: Session) -> None:
    """Answer `textDocument/codeAction`."""
    options = lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix], resolve_provider=False)

    @session.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, options)
    def code_actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction | lsp.Command]:
        uri = params.text_document.uri
        found = session.folders.holding(uri)
        only = params.context.only
        if found is None or not (only is None or any(kind in ("", lsp.CodeActionKind.QuickFix) for kind in only)):
            return []
        folder, path = found
        marks = [
            mark
            for mark in folder.current().by_file.get(path, ())
            if not mark.examined and mark.first <= params.range.end.line and params.range.start.line <= mark.last
        ]
        if not marks:
            return []
        mark = marks[0]
        cursor = {"uri": uri, "position": {"line": mark.first, "character": 0}}
        wanted: list[tuple[str, str, list[Any]]] = [
            (f"Explain suspect {rank_words(mark.suspect)}", "explain", [uri, mark.first]),
            ("Look around from this suspect…", "jump", [cursor]),
            ("Mark suspect as examined", "markExamined", [uri, mark.first]),
            ("Mark suspect as innocent", "markInnocent", [uri, mark.first]),
            ("Go to the next suspect", "nextSuspect", [cursor]),
            ("Rank suspects with another technique…", "selectTechnique", []),
        ]
        commands = [lsp.Command(title, COMMAND_IDS[name], arguments=arguments) for title, name, arguments in wanted]
        if not session.can("text_document.code_action.code_action_literal_support"):
            return list(commands)
        own = [diagnostic for diagnostic in params.context.diagnostics if diagnostic.source == SOURCE]
        return [
            lsp.CodeAction(command.title, kind=lsp.CodeActionKind.QuickFix, diagnostics=own or None, command=command)
            for command in commands
        ]
