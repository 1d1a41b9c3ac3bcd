"""Statements as messages name them: where they stand now, and how they rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from suspectra_server.convert import plain

if TYPE_CHECKING:
    from suspectra_server.server import SuspectraServer
    from suspectra_server.workspace import Folder


def location_of(server: SuspectraServer, folder: Folder, element: int) -> lsp.Location | None:
    """Where a statement stands now; None where it was edited, or its file's text was never seen."""
    where = folder.snapshot.ranking.report.spectrum.elements.location(element)
    placement = folder.placement(where.file)
    if placement is None or (lines := placement.place(where)) is None:
        return None
    first, last = (placement.now[line] for line in lines)
    count = server.units.count
    return lsp.Location(
        folder.uri_of(where.file),
        lsp.Range(
            lsp.Position(lines[0], count(first[: len(first) - len(first.lstrip())])),
            lsp.Position(lines[1], count(last.rstrip())),
        ),
    )


def place(server: SuspectraServer, folder: Folder, element: int) -> dict[str, Any] | None:
    """A `Place` of the protocol; None where it is not known where the statement stands."""
    location = location_of(server, folder, element)
    if location is None:
        return None
    snapshot = folder.snapshot
    report = snapshot.ranking.report
    elements = report.spectrum.elements
    file, line = elements.files[elements.file[element]], location.range.start.line
    suspect = report.suspect_of(element) if report.level[element] >= 0 else None
    return {
        "uri": location.uri,
        "range": location.range,
        "file": file,
        "line": line + 1,
        "function": plain(elements.function_name(element)),
        "source": plain(folder.placement(file).now[line].strip()),
        "rankBest": suspect.rank_best if suspect else None,
        "rankWorst": suspect.rank_worst if suspect else None,
        "steps": snapshot.steps(element) if suspect else None,
    }
