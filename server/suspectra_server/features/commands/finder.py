"""Finding what a command is about: suspects, statements, folders and failing tests, by name or where the reader is."""

from __future__ import annotations

from typing import NamedTuple

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.evidence.evidence import Evidence
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.report import Suspect
from suspectra_server.features.commands.arguments import parse_cursor
from suspectra_server.features.commands.refusals import RequestFailed
from suspectra_server.features.failing_tests import failing_tests, tests_at
from suspectra_server.positions import range_of, whole_line
from suspectra_server.session.folder import Folder
from suspectra_server.session.navigation.ranked_statement import RankedStatement
from suspectra_server.session.session import Session
from suspectra_server.state.marks import Mark
from suspectra_server.state.trail import Stop

Found = tuple[Folder, Mark]  # of the present ranking, so not to be kept across an `await`


class Failing(NamedTuple):
    """Failing tests, as they are in the present ranking."""

    folder: Folder
    evidence: Evidence
    tests: tuple[FailingTest, ...]  # at least one

    @property
    def first(self) -> tuple[Folder, Evidence, FailingTest]:
        """For what is done with one test."""
        return self.folder, self.evidence, self.tests[0]


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

    def folder(self, uri: object) -> Folder | None:
        """The folder of a URI; without one the first with several groups, else the first with failing tests."""
        if uri is not None and not isinstance(uri, str):
            raise JsonRpcInvalidParams("the first argument is the URI of a workspace folder")
        if uri is not None:
            return self._session.folders.get(uri)
        folders = list(self._session.folders)
        grouped = (folder for folder in folders if folder.snapshot.ranking.groups)
        return next(grouped, None) or next((folder for folder in folders if folder.snapshot.ranking.failing), None)

    def folder_and_tests(
        self, uri: object, tests: list[str] | None, cursor: object
    ) -> tuple[Folder | None, list[str] | None]:
        """The folder and the failing tests that are named, or else those at the cursor; None for the usual ones."""
        if tests is not None or not cursor:
            return self.folder(uri), tests
        document, line = parse_cursor(cursor)
        found = self._session.folders.containing(document)
        return (found[0], tests_at(*found, line) or None) if found else (self.folder(None), None)

    def failing(self, uri: object, tests: list[str] | None, cursor: object, so: str) -> Failing:
        """The failing tests that a command is about, which is refused where there are none: so there is …"""
        return self._failing(uri, tests, cursor, so, "None of these tests failed in the last recorded run.")

    def failing_test(self, uri: object, test: str | None, cursor: object, so: str) -> Failing:
        """The same for a command that is about one of them."""
        tests = None if test is None else [test]
        found = self._failing(uri, tests, cursor, so, "This test did not fail in the last recorded run.")
        return found._replace(tests=found.tests[:1])

    def _failing(self, uri: object, tests: list[str] | None, cursor: object, so: str, none_failed: str) -> Failing:
        folder, tests = self.folder_and_tests(uri, tests, cursor)
        evidence = folder.snapshot.ranking.evidence if folder else None
        if folder is None or evidence is None or not folder.snapshot.ranking.failing:
            raise RequestFailed(f"No recorded test fails here, so there is {so}.")
        chosen = failing_tests(folder, tests)
        if not chosen:
            raise RequestFailed(none_failed)
        return Failing(folder, evidence, chosen)

    def location(self, folder: Folder, mark: Mark) -> lsp.Location:
        """Where a mark is now."""
        lines = folder.snapshot.placements[mark.file].now
        return lsp.Location(folder.uri_of(mark.file), range_of(mark, lines, self._session.units))


def stop_at(found: Found) -> Stop:
    """A suspect as a stop of the reader's walk."""
    return Stop(found[0].uri, found[1].recorded_line)
