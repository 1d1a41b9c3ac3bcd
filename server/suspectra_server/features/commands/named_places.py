"""Finding suspects and statements: by line, by rank, or where the reader is."""

from __future__ import annotations

from lsprotocol import types as lsp

from suspectra.report import Suspect
from suspectra_server.convert import range_of, whole_line
from suspectra_server.features.commands.arguments import parse_cursor
from suspectra_server.session.folder import Folder
from suspectra_server.session.navigation.statement import RankedStatement
from suspectra_server.session.session import Session
from suspectra_server.state.marks import Mark
from suspectra_server.state.trail import Stop

Found = tuple[Folder, Mark]  # of the present ranking, so not to be kept across an `await`


class Finder:
    """Finds what a command is about, in all folders."""

    def __init__(self, session: Session):
        self._session = session

    def all(self) -> list[Found]:
        """All marks, in the order of the ranking or of expected steps."""
        found = [(folder, mark) for folder in self._session.folders for mark in folder.current().marks]
        return sorted(found, key=lambda pair: pair[0].snapshot.sort_key(pair[1]))

    def unexamined(self) -> list[Found]:
        """Those that are not marked as examined or innocent."""
        return [found for found in self.all() if not found[1].examined]

    def marked(self, uri: str, line: int) -> Found | None:
        """The best mark on a line."""
        found = self._session.folders.containing(uri)
        if found is None:
            return None
        folder, path = found
        mark = next(iter(folder.current().marks_at(path, line)), None)
        return (folder, mark) if mark else None

    def suspect_at(self, uri: str, line: int) -> tuple[Folder, Suspect, lsp.Location] | None:
        """The suspect on a line, marked or further down in the ranking."""
        if marked := self.marked(uri, line):
            return marked[0], marked[1].suspect, self.location(*marked)
        found = self._session.folders.containing(uri)
        if found is None or (suspect := found[0].current().suspect_at(found[1], line)) is None:
            return None
        return found[0], suspect, lsp.Location(uri, whole_line(line))

    def visited(self) -> Found | None:
        """The suspect visited last, if the reader is still on one."""
        return next((found for found in self.all() if stop_at(found) == self._session.trail.current), None)

    def current(self) -> tuple[Folder, Suspect, lsp.Location] | None:
        """The suspect visited last, or else the first."""
        found = self.visited() or next(iter(self.unexamined()), None)
        return (found[0], found[1].suspect, self.location(*found)) if found else None

    def statement_at(self, uri: str, line: int) -> RankedStatement | None:
        """The measured statement on a line."""
        found = self._session.folders.containing(uri)
        if found is None:
            return None
        folder, path = found
        snapshot = folder.current()
        element = snapshot.element_at(path, line)
        if element is not None:
            return RankedStatement(folder, snapshot.ranking, element)
        origin = placement.origin(line) if (placement := folder.placement(path)) else None
        return RankedStatement.for_line(folder, (path, origin)) if origin else None

    def at_reader(self, cursor: object) -> RankedStatement | None:
        """Where the reader is: the statement at the cursor, or else the one visited last."""
        if cursor is not None and (found := self.statement_at(*parse_cursor(cursor))):
            return found
        stop = self._session.trail.current
        folder = self._session.folders.get(stop.folder) if stop else None
        return RankedStatement.for_line(folder, stop.line) if stop and folder else None

    def first(self) -> RankedStatement | None:
        """The first suspect that is not examined."""
        found = next(iter(self.unexamined()), None)
        return RankedStatement.for_mark(*found) if found else None

    def in_ranking(self, cursor: object, direction: int) -> Found | None:
        """The next suspect that is not examined, or with direction -1 the previous one."""
        everything = self.all()
        current = (self.marked(*parse_cursor(cursor)) if cursor is not None else None) or self.visited()
        if current is None:
            order = everything if direction > 0 else everything[::-1]
        else:
            stops = [stop_at(found) for found in everything]
            at = stops.index(stop_at(current))
            after, before = everything[at + 1 :], everything[: at + 1]
            order = after + before if direction > 0 else before[-2::-1] + everything[at:][::-1]
        return next((found for found in order if not found[1].examined), None)

    def location(self, folder: Folder, mark: Mark) -> lsp.Location:
        """Where a mark is now."""
        lines = folder.snapshot.placements[mark.file].now
        return lsp.Location(folder.uri_of(mark.file), range_of(mark, lines, self._session.units))


def stop_at(found: Found) -> Stop:
    """A suspect as a stop of the reader's walk."""
    return Stop(found[0].uri, found[1].recorded_line)
