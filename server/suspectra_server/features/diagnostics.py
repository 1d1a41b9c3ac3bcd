"""Diagnostics on suspicious lines, pushed; a file is published again only when its marks changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types as lsp

from suspectra_server.features.collection_errors import collection_diagnostics
from suspectra_server.features.failures import failure_diagnostics
from suspectra_server.features.suspect_texts import behaviour, figures, one_line
from suspectra_server.messages import DiagnosticData, SuspicionLevel
from suspectra_server.positions import first_line_of, range_of, whole_line
from suspectra_server.safe_text import plain
from suspectra_server.session.client import Client
from suspectra_server.session.folder import Folder
from suspectra_server.state.marks import Mark
from suspectra_server.state.snapshot import Region

SOURCE = "suspectra"
CHANGED = "changed-since-run"
MAX_RELATED = 5
# where all have one: only the first few lines ask for attention; the others are there for those who look
SEVERITY: dict[SuspicionLevel, lsp.DiagnosticSeverity] = {
    "high": lsp.DiagnosticSeverity.Warning,
    "medium": lsp.DiagnosticSeverity.Information,
    "low": lsp.DiagnosticSeverity.Hint,
}
PAGES = Path(__file__).parent.parent / "docs" / "techniques"


class _Sent(NamedTuple):
    """What the client has of a file; and its marks, where publishing is all that tells a client that they changed."""

    uri: str
    diagnostics: list[lsp.Diagnostic]
    marks: Sequence[Mark]


_NOTHING = _Sent("", [], ())


class Published:
    """The diagnostics that the client has, by file."""

    def __init__(self, client: Client, more: Callable[[Folder], dict[str, list[lsp.Diagnostic]]]):
        self._client, self._more = client, more
        self._files: dict[str, dict[str, _Sent]] = {}

    def publish(self, folder: Folder) -> None:
        """Publish the files of a folder whose diagnostics differ from what the client has."""
        if folder.removed:
            return
        known = self._files.setdefault(folder.uri, {})
        wanted = self._diagnostics(folder) if folder.settings.diagnostics != "off" else {}
        marks = {} if self._client.supports_status else folder.snapshot.by_file
        for path in dict.fromkeys([*wanted, *marks, *known]):
            before = known.get(path, _NOTHING)
            now = _Sent(folder.uri_of(path), wanted.get(path, []), marks.get(path, ()))
            if before.uri and before.uri != now.uri:  # the client has opened the file under another name, as by a link
                self._send(before.uri, [])
                before = _NOTHING
            if (now.diagnostics, now.marks) != (before.diagnostics, before.marks):
                document = folder.texts.document(path)
                self._send(now.uri, now.diagnostics, document.version if document else None)
            if now.diagnostics or now.marks:
                known[path] = now
            else:
                known.pop(path, None)

    def withdraw(self, folder: Folder) -> None:
        """Remove all diagnostics of a folder."""
        for sent in self._files.pop(folder.uri, {}).values():
            self._send(sent.uri, [])

    def _send(self, uri: str, diagnostics: list[lsp.Diagnostic], version: int | None = None) -> None:
        self._client.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, version))

    def _diagnostics(self, folder: Folder) -> dict[str, list[lsp.Diagnostic]]:
        snapshot = folder.snapshot
        wanted = self._all(folder) if folder.settings.diagnostics == "all" else self._first(folder)
        for path, count in snapshot.unplaceable.items():
            if folder.texts.on_disk(path):
                wanted[path] = [_unplaceable(count)]
        for errors in (collection_diagnostics(folder, self._client.units), failure_diagnostics(folder, self._client)):
            for path, diagnostics in errors.items():
                wanted[path] = [*diagnostics, *wanted.get(path, ())]
        for path, diagnostics in self._more(folder).items():
            wanted[path] = [*wanted.get(path, ()), *diagnostics]
        return wanted

    def _first(self, folder: Folder) -> dict[str, list[lsp.Diagnostic]]:
        """Where to begin: a suspicion is no error, and no warning about what is everywhere."""
        wanted: dict[str, list[lsp.Diagnostic]] = {}
        for mark in folder.snapshot.first:
            region = next((one for one in folder.snapshot.regions if mark in one.marks), None)
            diagnostic = self._region(folder, region) if region else self._diagnostic(folder, mark)
            diagnostic.severity = lsp.DiagnosticSeverity.Information
            diagnostic.range = first_line_of(mark, folder.snapshot.placements[mark.file].now, self._client.units)
            wanted.setdefault(mark.file, []).append(diagnostic)
        return wanted

    def _all(self, folder: Folder) -> dict[str, list[lsp.Diagnostic]]:
        snapshot = folder.snapshot
        wanted: dict[str, list[lsp.Diagnostic]] = {path: [] for path in snapshot.by_file}
        for region in snapshot.regions:
            wanted.setdefault(region.marks[0].file, []).append(self._region(folder, region))
        within = {mark.suspect.element for region in snapshot.regions for mark in region.marks}
        for path, marks in snapshot.by_file.items():
            alone = [mark for mark in marks if not mark.examined and mark.suspect.element not in within]
            wanted[path] += [self._diagnostic(folder, mark) for mark in alone]
        return wanted

    def _diagnostic(self, folder: Folder, mark: Mark) -> lsp.Diagnostic:
        suspect, technique = mark.suspect, folder.snapshot.ranking.technique
        lines = folder.snapshot.placements[mark.file].now
        return lsp.Diagnostic(
            range=first_line_of(mark, lines, self._client.units),
            severity=SEVERITY[mark.suspicion],
            code=technique.name,
            code_description=lsp.CodeDescription(_page_of(technique.name.partition("+")[0])),
            source=SOURCE,
            message=plain(one_line(folder.snapshot.ranking, suspect)),
            data=self._data(folder, mark),
        )

    @staticmethod
    def _data(folder: Folder, mark: Mark) -> DiagnosticData:
        technique = folder.snapshot.ranking.technique
        return {"technique": technique.name, "cloneFailed": technique.clone_failed, **figures(mark)}

    def _region(self, folder: Folder, region: Region) -> lsp.Diagnostic:
        """The diagnostic of one part of a suspicious behaviour, over all its lines."""
        first, last = region.marks[0], region.marks[-1]
        diagnostic, data = self._diagnostic(folder, region.best), self._data(folder, region.best)
        diagnostic.range = self._range(folder, region)
        diagnostic.message = plain(behaviour(folder.snapshot.ranking, region))
        diagnostic.data = data | {
            "line": first.first + 1,
            "endLine": last.last + 1,
            "subgraph": region.number,
            "part": region.part,
            "parts": region.parts,
        }
        if self._client.can("text_document.publish_diagnostics.related_information"):
            others = [one for one in folder.snapshot.regions if one.number == region.number and one is not region]
            parts = [
                lsp.DiagnosticRelatedInformation(
                    lsp.Location(folder.uri_of(one.marks[0].file), self._range(folder, one)),
                    f"part {one.part} of suspicious behaviour {one.number}",
                )
                for one in others[:MAX_RELATED]
            ]
            diagnostic.related_information = parts or None
        return diagnostic

    def _range(self, folder: Folder, region: Region) -> lsp.Range:
        lines = folder.snapshot.placements[region.marks[0].file].now
        first, last = (range_of(mark, lines, self._client.units) for mark in (region.marks[0], region.marks[-1]))
        return lsp.Range(first.start, last.end)


@cache
def _page_of(technique: str) -> str:
    return (PAGES / f"{technique}.md").as_uri()


def _unplaceable(count: int) -> lsp.Diagnostic:
    """A diagnostic on the first line of a file whose text as run is not known, instead of marks on wrong lines."""
    what = "a suspect" if count == 1 else f"{count} suspects"
    return lsp.Diagnostic(
        whole_line(0),
        f"This file has {what}, but it changed since the tests ran. Run them again to see where.",
        severity=lsp.DiagnosticSeverity.Information,
        code=CHANGED,
        source=SOURCE,
    )
