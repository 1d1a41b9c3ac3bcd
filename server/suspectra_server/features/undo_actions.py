"""Taking back the change that broke tests: an edit that the user confirms, and both texts beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types as lsp

from suspectra.base.english import many
from suspectra_server.messages import RunTexts
from suspectra_server.protocol import COMMAND_IDS
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.state.undo import Undo, narrowed

_ANNOTATION = "suspectra-undo"


def undo_actions(
    session: Session, folder: Folder, elements: Iterable[int], diagnostics: list[lsp.Diagnostic]
) -> list[lsp.CodeAction]:
    """Code actions that undo changes at some statements, and that show them."""
    found = []
    for undo, edits in _undos(folder, elements):
        title = "Undo this change" if len(undo.parts) == 1 else f"Undo these {len(undo.parts)} changes"
        edit = _workspace_edit(session, folder, undo, edits)
        first = undo.parts[0]
        at = [folder.uri_of(first.file), edits[first.file][0][0]]
        kind, known = lsp.CodeActionKind.QuickFix, diagnostics or None
        found.append(lsp.CodeAction(title, kind, known, edit=edit))
        shown = lsp.Command("Show difference", COMMAND_IDS["showDifference"], arguments=at)
        found.append(lsp.CodeAction(shown.title, kind, known, command=shown))
    return found


def undo_at(session: Session, folder: Folder, path: str, line: int) -> lsp.WorkspaceEdit | None:
    """The edit that takes back the change on or beside a line that broke tests; None where there is none."""
    for undo, edits in _undos(folder, folder.current().ranking.undos):
        if any(first <= line <= max(first, end - 1) for first, end, _ in edits.get(path, ())):
            return _workspace_edit(session, folder, undo, edits)
    return None


def difference(folder: Folder, path: str, line: int) -> RunTexts | None:
    """A file as it is, and without the change that broke tests on or beside a line; None where there is none."""
    snapshot = folder.current()
    for undo, edits in _undos(folder, snapshot.ranking.undos):
        for first, end, _ in edits.get(path, ()):
            if first <= line <= max(first, end - 1):
                return _texts(undo, path, snapshot.placements[path].now, edits[path])
    return None


def _undos(folder: Folder, elements: Iterable[int]) -> Iterator[tuple[Undo, dict[str, list[tuple[int, int, str]]]]]:
    """The changes at some statements that can be undone in the text as it is now, each once."""
    snapshot = folder.current()
    known = dict.fromkeys(undo for element in elements for undo in snapshot.ranking.undos.get(element, ()))
    for undo in known:
        files = {part.file for part in undo.parts}
        placements = {file: placement for file in files if (placement := folder.placement(file)) is not None}
        if (edits := undo.edits(placements)) is not None:
            yield undo, edits


def _workspace_edit(
    session: Session, folder: Folder, undo: Undo, edits: dict[str, list[tuple[int, int, str]]]
) -> lsp.WorkspaceEdit:
    now = {file: list(placement.now) for file in edits if (placement := folder.placement(file)) is not None}
    edits = {file: [narrowed(now.get(file, ()), *one) for one in several] for file, several in edits.items()}
    annotated = session.can("workspace.workspace_edit.change_annotation_support") is not None
    if not annotated or not session.can("workspace.workspace_edit.document_changes"):
        changes = {
            folder.uri_of(file): [lsp.TextEdit(_range(first, end), text) for first, end, text in several]
            for file, several in edits.items()
        }
        return lsp.WorkspaceEdit(changes=changes)
    documents: list[lsp.TextDocumentEdit | lsp.CreateFile | lsp.RenameFile | lsp.DeleteFile] = []
    for file, several in edits.items():
        document = folder.texts.document(file)
        named = lsp.OptionalVersionedTextDocumentIdentifier(folder.uri_of(file), document.version if document else None)
        made = [lsp.AnnotatedTextEdit(_ANNOTATION, _range(first, end), text) for first, end, text in several]
        documents.append(lsp.TextDocumentEdit(named, [*made]))
    it = "it" if len(undo.parts) == 1 else "them"
    about = lsp.ChangeAnnotation(
        "Undo your change" if len(undo.parts) == 1 else f"Undo {len(undo.parts)} of your changes",
        needs_confirmation=True,
        description=f"{many(len(undo.tests), 'failing test')} passed without {it}",
    )
    return lsp.WorkspaceEdit(document_changes=documents, change_annotations={_ANNOTATION: about})


def _range(first: int, end: int) -> lsp.Range:
    return lsp.Range(lsp.Position(first, 0), lsp.Position(end, 0))


def _texts(undo: Undo, path: str, lines: Iterable[str], edits: list[tuple[int, int, str]]) -> RunTexts:
    now = list(lines)
    before = now.copy()
    for first, end, text in sorted(edits, reverse=True):
        before[first:end] = text.removesuffix("\n").split("\n") if text else []
    pairs = enumerate(zip(now, before, strict=False))
    first_line = next((number for number, (one, other) in pairs if one != other), min(len(now), len(before)))
    name = path.rpartition("/")[2]
    tests = many(len(undo.tests), "failing test")
    return {
        "heading": plain(f"{name}: without your change {tests} passed", MAX_TEXT),
        "failing": {"title": plain(f"{name} (now)"), "text": "\n".join(now)},
        "passing": {"title": plain(f"{name} (before)"), "text": "\n".join(before)},
        "line": first_line,
    }
