"""Where a reader goes next from a suspect, in words: what the end of its line says."""

from __future__ import annotations

from suspectra.output.pictures.chain import chance
from suspectra_server.safe_text import plain
from suspectra_server.session.folder import Folder
from suspectra_server.state.marks import Mark
from suspectra_server.state.snapshot import Snapshot


def next_place(folder: Folder, snapshot: Snapshot, mark: Mark) -> str:
    """The likeliest next place by the debugging model; empty if it is not known, was edited or is examined."""
    move = snapshot.navigation.next.get(mark.suspect.element) if snapshot.navigation else None
    if move is None:
        return ""
    where = snapshot.ranking.elements.location(move.element)
    placement = folder.placement(where.file)
    lines = placement.current_lines(where) if placement else None
    if lines is None or (where.file, where.line) in snapshot.examined | snapshot.innocent:
        return ""
    place = f"line {lines[0] + 1}" if where.file == mark.file else f"{where.file}:{lines[0] + 1}"
    return plain(f"then {place} · {chance(move.probability)} · {move.reasons[0]}")
