"""Hovers on every line that a failing test executes: why it has its rank, in four lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from lsprotocol import types as lsp

from suspectra.report import Suspect
from suspectra.selection.blame import blame
from suspectra_server.features.chain_steps import judgement_at, state_at
from suspectra_server.features.failing_tests import WOULD_PASS, can_be_compared
from suspectra_server.features.failures import first_failing, short_name, summary
from suspectra_server.features.suspect_texts import with_code
from suspectra_server.positions import range_of, whole_line
from suspectra_server.protocol import COMMAND_IDS
from suspectra_server.safe_text import MAX_TEXT, code, plain
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.state.marks import Mark


def register(session: Session) -> None:
    """Answer `textDocument/hover`."""

    @session.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        found = session.folders.containing(params.text_document.uri)
        if found is None:
            return None
        folder, path = found
        snapshot, line = folder.current(), params.position.line
        suspect = snapshot.suspect_at(path, line)
        if suspect is None:
            return None
        mark = next(iter(snapshot.marks_at(path, line)), None)
        marked = mark if mark is not None and mark.suspect == suspect else None
        lines = snapshot.placements[path].now
        where = range_of(marked, lines, session.units) if marked is not None else whole_line(line)
        formats = session.can("text_document.hover.content_format")
        said = judgement_at(session, folder, path, line)
        below = session.supports_status and marked is not None and _has_diagnostic(folder, marked, params.position)
        by = await _changed_by(session, folder, marked) if marked is not None else ""
        text = [*summary(snapshot, suspect, below_diagnostic=below), *filter(None, [said, by])]
        if isinstance(formats, Sequence) and lsp.MarkupKind.Markdown in formats:
            links = " · ".join(_links(session, folder, suspect, params))
            shown = [*_linked(folder, suspect, text), *([links] if links else [])]
            content = lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n\n".join(shown))
        else:
            content = lsp.MarkupContent(lsp.MarkupKind.PlainText, "\n".join(text))
        return lsp.Hover(content, where)


def _has_diagnostic(folder: Folder, mark: Mark, at: lsp.Position) -> bool:
    """Whether a client that shows diagnostics above hovers shows that of a suspect there."""
    snapshot, shown = folder.snapshot, folder.settings.diagnostics
    if shown == "off" or mark.examined or snapshot.regions or at.line != mark.first or at.character < mark.start:
        return False
    return shown == "all" or mark in snapshot.first


async def _changed_by(session: Session, folder: Folder, mark: Mark) -> str:
    """Who changed a suspect last, and with which commit, where it changed since failing tests passed; else empty."""
    if not mark.suspect.changed or not session.trust.granted:
        return ""
    root, text = str(folder.root), folder.snapshot.placements[mark.file].now
    found = await session.files.run(lambda: blame(root, mark.file, text, mark.first + 1, mark.last + 1))
    return plain(f"{found}.", MAX_TEXT) if found else ""


def _links(session: Session, folder: Folder, suspect: Suspect, params: lsp.HoverParams) -> Iterator[str]:
    """What to do from a hover, in Markdown."""
    if session.follows_commands:
        yield _command("Explain", "explain", params.text_document.uri, params.position.line)
        if session.trust.granted and state_at(session, params.text_document.uri, params.position.line) is not None:
            at = params.text_document.uri, params.position.line
            yield _command("This Value Is Right", "stateIsRight", *at)
            yield _command("This Value Is Wrong", "stateIsWrong", *at)
        if session.trust.granted and can_be_compared(folder):
            yield _command(WOULD_PASS, "investigate", folder.uri, list(suspect.failing_tests))


def _linked(folder: Folder, suspect: Suspect, lines: Iterable[str]) -> Iterator[str]:
    """Lines of text as Markdown, in which the failing test leads to where it failed."""
    test = first_failing(folder.snapshot.ranking, suspect)
    failed = folder.snapshot.failure_of.get(test) if test else None
    begin = f"✗ {short_name(failed.test)}" if failed is not None else None
    for line in lines:
        if failed is not None and begin is not None and line.startswith(begin):
            link = f"[{code(short_name(failed.test))}]({folder.uri_of(failed.file)}#L{failed.line + 1})"
            yield f"✗ {link}{with_code(line.removeprefix(begin))}"
        else:
            yield with_code(line)


def _command(title: str, name: str, *arguments: object) -> str:
    return f"[{title}](command:{COMMAND_IDS[name]}?{quote(json.dumps(arguments))})"
