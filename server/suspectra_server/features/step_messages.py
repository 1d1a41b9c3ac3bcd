"""Values and decisions of a run in messages: where they are now, with their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from suspectra.base.location import Location
from suspectra_server.messages import Step
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.state.documents import Placement

if TYPE_CHECKING:
    from suspectra.causes.report import CauseState


class StepMessages:
    """Makes the steps of a folder's runs."""

    def __init__(self, session: Session, folder: Folder):
        self._session, self._folder = session, folder
        self._read: dict[str, Placement] = {}  # files that are not measured, such as those of tests

    async def read(self, paths: Iterable[str]) -> None:
        """Read the texts of files that were not read yet."""
        missing = [path for path in dict.fromkeys(paths) if self._placement(path) is None]
        if not missing:
            return
        sources = self._folder.sources
        reading = await self._session.files.run(lambda: sources.read_in_worker(missing))
        sources.take(reading)
        measured = self._folder.snapshot.ranking.files
        for path, source in reading.found.items():
            if source is not None and path not in measured:
                self._read[path] = Placement(source.lines, source.lines, path)

    def _placement(self, file: str) -> Placement | None:
        found = self._folder.placement(file) or self._read.get(file)
        if found is None and (document := self._folder.texts.document(file)) is not None:
            found = Placement(document.lines, document.lines, file)
        return found

    def source(self, file: str, line: int) -> str:
        """A line of a file as it was run; empty if it is not known."""
        placement = self._placement(file)
        return placement.run[line - 1] if placement is not None and 1 <= line <= len(placement.run) else ""

    def range_of(self, where: Location) -> lsp.Range | None:
        """The first of some lines, where it is now; None if one was edited. A text that is not known is unchanged."""
        placement = self._placement(where.file)
        if placement is None:
            return lsp.Range(lsp.Position(where.line - 1, 0), lsp.Position(where.line - 1, 0))
        if (lines := placement.current_lines(where)) is None:
            return None
        text, count = placement.now[lines[0]], self._session.units.count
        return lsp.Range(
            lsp.Position(lines[0], count(text[: len(text) - len(text.lstrip())])),
            lsp.Position(lines[0], count(text.rstrip())),
        )

    def placed(self, file: str, places: Iterable[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], lsp.Range]]:
        """Lines of a file, by file and line, with where they are now; without those that were edited."""
        for path, line in places:
            if path == file and (where := self.range_of(Location(path, line, line))) is not None:
                yield (path, line), where

    def step(
        self,
        where: Location,
        value: str,
        instance: int,
        why: str = "",
        steps: Sequence[Step] = (),
        more: int = 0,
        text: str = "",
        rounds: int = 1,
    ) -> Step | None:
        """One step; None if its lines were edited. Without a text of its own it shows its first line."""
        if (range_ := self.range_of(where)) is None:
            return None
        return {
            "uri": self._folder.uri_of(where.file),
            "range": range_,
            "file": where.file,
            "line": range_.start.line + 1,
            "source": plain(text or self.source(where.file, where.line).strip()),
            "value": plain(value, MAX_TEXT),
            "instance": instance,
            "rounds": rounds,
            "why": why,
            "steps": list(steps),
            "more": more,
        }

    def from_states(self, states: Iterable[CauseState]) -> Iterator[Step]:
        """The states of a report as steps."""
        for state in states:
            where = Location(state.file, state.line, state.end_line)
            if step := self.step(where, state.value, state.instance, text=state.operand):
                yield step
