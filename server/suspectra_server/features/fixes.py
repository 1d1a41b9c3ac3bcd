"""Changes after which all failing tests pass: as a diff, and as an edit that the user may apply."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import unified_diff

from lsprotocol import types as lsp

from suspectra.mutation.edit import Edit
from suspectra_server.safe_text import plain
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.state.documents import Placement, Units
from suspectra_server.state.fix import MutantFix
from suspectra_server.state.snapshot import Snapshot

_ANNOTATION = "suspectra-fix"


def diffs_at(snapshot: Snapshot, element: int) -> list[str]:
    """The fixes of a statement as unified diffs without headers, one a fix."""
    found = []
    for fix in snapshot.ranking.fixes.get(element, ()):
        placement = snapshot.placements.get(fix.location.file)
        if placement is not None and (edit := _edit_now(fix, placement)) is not None:
            before = placement.now[edit.line - 1 : edit.end_line]
            moved = edit._replace(line=1, end_line=1 + edit.end_line - edit.line)
            after = moved.apply("\n".join(before)).split("\n")
            lines = list(unified_diff(before, after, lineterm="", n=0))[3:]
            found.append("\n".join(plain(line) for line in lines))
    return found


def fix_actions(
    session: Session, folder: Folder, elements: Iterable[int], diagnostics: list[lsp.Diagnostic]
) -> list[lsp.CodeAction]:
    """Code actions that apply the fixes of some statements. A client that can do so shows the change first.

    They name the diagnostics of the statements, since clients list actions without diagnostics last.
    """
    ranking = folder.snapshot.ranking
    found = []
    for fix in (fix for element in elements for fix in ranking.fixes.get(element, ())):
        placement = folder.placement(fix.location.file)
        edit = _edit_now(fix, placement) if placement is not None else None
        if placement is not None and edit is not None:
            title = f"Apply {fix.change}, which {fix.effect}"
            text_edit = lsp.TextEdit(_range(edit, placement.now, session.units), edit.text)
            applied = _workspace_edit(session, folder, fix, text_edit)
            found.append(lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, diagnostics or None, edit=applied))
    return found


def _edit_now(fix: MutantFix, placement: Placement) -> Edit | None:
    """The edit in the lines of the text now; None if these are not exactly what was run."""
    lines = placement.current_lines(fix.location)
    if lines is None:
        return None
    first, last = lines
    was = placement.run[fix.location.line - 1 : fix.location.end_line]
    if list(placement.now[first : last + 1]) != list(was):
        return None
    return fix.edit._replace(line=first + 1, end_line=last + 1)


def _range(edit: Edit, lines: Sequence[str], units: Units) -> lsp.Range:
    def position(line: int, column: int) -> lsp.Position:
        return lsp.Position(line - 1, units.count(lines[line - 1].encode()[:column].decode()))

    return lsp.Range(position(edit.line, edit.column), position(edit.end_line, edit.end_column))


def _workspace_edit(session: Session, folder: Folder, fix: MutantFix, edit: lsp.TextEdit) -> lsp.WorkspaceEdit:
    uri = folder.uri_of(fix.location.file)
    annotated = session.can("workspace.workspace_edit.change_annotation_support") is not None
    if not annotated or not session.can("workspace.workspace_edit.document_changes"):
        return lsp.WorkspaceEdit(changes={uri: [edit]})
    document = folder.texts.document(fix.location.file)
    named = lsp.OptionalVersionedTextDocumentIdentifier(uri, document.version if document else None)
    change = lsp.AnnotatedTextEdit(_ANNOTATION, edit.range, edit.new_text)
    about = lsp.ChangeAnnotation(
        f"{fix.change} {fix.effect}", needs_confirmation=True, description="It may only look like a repair"
    )
    return lsp.WorkspaceEdit(
        document_changes=[lsp.TextDocumentEdit(named, [change])], change_annotations={_ANNOTATION: about}
    )
