"""Fixes that a search has found, as edits of the documents, which the client shows before it applies them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from lsprotocol import types as lsp

from suspectra.base.differing_parts import difference_of
from suspectra.fixes.apart import Apart
from suspectra.fixes.diff import FileEdits, edits_by_file
from suspectra.fixes.fix import Fix, fix_in_words
from suspectra.mutation.edit import Edit, with_edits
from suspectra.output.fixes import apart_in_words
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session

_ANNOTATION = "suspectra-fix"


def place_of(fix: Fix) -> str:
    """Where a fix is, as text."""
    return plain(f"{fix.file}:{fix.line}", MAX_TEXT)


def said_of(fix: Fix) -> str:
    """What is known of a fix, as the end of a sentence."""
    return plain(f"{fix_in_words(fix, len(fix.repaired))}.", MAX_TEXT)


def told_apart(number: int, told: Apart | None) -> str:
    """What tells a fix from another one, as a sentence; empty where that is not known."""
    return plain(f"{apart_in_words(number, told)}.", MAX_TEXT) if told is not None else ""


def changed_text(folder: Folder, fix: Fix) -> str:
    """What a fix replaces by what, in one line; what it imports is not said."""
    texts = list[str]()
    for file, candidates in edits_by_file(fix.candidates).items():
        placement = folder.placement(file)
        if placement is not None:
            texts += _changed_texts(list(placement.run), {edit for one in candidates for edit in one.edits})
    alone = [text for text in texts if not text.startswith(("+ import ", "+ from "))]
    return plain(" … ".join(alone or texts), MAX_TEXT)


def _changed_texts(before: list[str], edits: Collection[Edit]) -> Iterator[str]:
    """What each changed part of a text was, and what it is then."""
    after = with_edits("\n".join(before), edits).split("\n")
    for kind, *ranges in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            first, end, new_first, new_end = ranges
            was, now = (" ".join(" ".join(part).split()) for part in (before[first:end], after[new_first:new_end]))
            yield " → ".join(difference_of(was, now)) if was and now else f"− {was}" if was else f"+ {now}"


def shows_edits_first(session: Session) -> bool:
    """Whether the client shows an edit before it applies it."""
    annotated = session.can("workspace.workspace_edit.change_annotation_support") is not None
    return annotated and bool(session.can("workspace.workspace_edit.document_changes"))


def workspace_edit(
    session: Session, folder: Folder, found: Sequence[FileEdits], label: str
) -> lsp.WorkspaceEdit | None:
    """The edit that applies a fix; None where the text is no longer the one that was run."""
    changes: dict[str, list[lsp.TextEdit]] = {}
    for file, candidates in edits_by_file(found).items():
        placement = folder.placement(file)
        if placement is None or list(placement.now) != list(placement.run):
            return None
        edits = {edit for one in candidates for edit in one.edits}
        changes[folder.uri_of(file)] = [
            lsp.TextEdit(_range(session, edit, list(placement.now)), edit.text) for edit in sorted(edits)
        ]
    if not shows_edits_first(session):
        return lsp.WorkspaceEdit(changes=changes)
    documents = []
    for uri, edits_of_file in changes.items():
        named = lsp.OptionalVersionedTextDocumentIdentifier(uri, None)
        annotated = [lsp.AnnotatedTextEdit(_ANNOTATION, one.range, one.new_text) for one in edits_of_file]
        documents.append(lsp.TextDocumentEdit(named, [*annotated]))
    about = lsp.ChangeAnnotation(label, needs_confirmation=True, description="That tests pass proves nothing")
    return lsp.WorkspaceEdit(document_changes=[*documents], change_annotations={_ANNOTATION: about})


def can_create_files(session: Session) -> bool:
    """Whether the client makes a file that an edit names, and shows it before."""
    able: object = session.can("workspace.workspace_edit.resource_operations")
    return shows_edits_first(session) and isinstance(able, Collection) and lsp.ResourceOperationKind.Create in able


def edit_with_test(folder: Folder, fix: Fix, told: Apart) -> lsp.WorkspaceEdit:
    """The edit that writes a test that a fix passes and another one does not, in a file beside the failing test."""
    test_file = PurePosixPath(fix.repaired[0].partition("::")[0])
    uri = folder.uri_of(str(test_file.with_name(f"test_{told.function}_more.py")))
    options = lsp.CreateFileOptions(ignore_if_exists=True)
    named, begin = lsp.OptionalVersionedTextDocumentIdentifier(uri, None), lsp.Position(0, 0)
    text = lsp.AnnotatedTextEdit(_ANNOTATION, lsp.Range(begin, begin), told.test)
    about = lsp.ChangeAnnotation(
        "A test that only this change passes", needs_confirmation=True, description="Keep it if what it says is right"
    )
    return lsp.WorkspaceEdit(
        document_changes=[
            lsp.CreateFile(uri=uri, options=options, annotation_id=_ANNOTATION),
            lsp.TextDocumentEdit(named, [text]),
        ],
        change_annotations={_ANNOTATION: about},
    )


def _range(session: Session, edit: Edit, lines: list[str]) -> lsp.Range:
    def position(line: int, column: int) -> lsp.Position:
        return lsp.Position(line - 1, session.units.count(lines[line - 1].encode()[:column].decode()))

    return lsp.Range(position(edit.line, edit.column), position(edit.end_line, edit.end_column))
