"""Where the lines of one run are in later ones."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from suspectra_server.state.documents import Texts, moved_code
from suspectra_server.state.ranking import Ranking, RecordedLine
from suspectra_server.state.snapshot import Snapshot


class MovedLines:
    """Leads from lines of the ranking that is shown to those of the next one."""

    def __init__(self, snapshot: Snapshot, ranking: Ranking, texts: Texts):
        self._before, self._after = snapshot.ranking.files, ranking.files
        self._placements, self._texts = snapshot.placements, texts
        self._lines: dict[str, list[int] | None] = {}

    def __call__(self, line: RecordedLine) -> RecordedLine | None:
        """The same line in the next ranking, or None where it is gone."""
        file, number = line
        if file not in self._lines:
            self._lines[file] = self._lines_of(file)
        known = self._lines[file]
        if known is None:
            return line
        return (file, known[number - 1] + 1) if number <= len(known) and known[number - 1] >= 0 else None

    def _lines_of(self, file: str) -> list[int] | None:
        """For each line of a file as it was run before its index now, -1 for none; None where nothing changed."""
        before, after, placement = self._before.get(file), self._after.get(file), self._placements.get(file)
        if before is None or after is None or before.digest == after.digest:
            return None
        new = self._texts.as_run(after)
        return moved_code(placement.run, new, after.path) if placement and new else []


class LineHistory:
    """For each ranking that is still in use, the one after it, and where its lines are there."""

    def __init__(self) -> None:
        self._next: WeakKeyDictionary[Ranking, tuple[Ranking, MovedLines]] = WeakKeyDictionary()

    def add(self, ranking: Ranking, after: Ranking, moved: MovedLines) -> None:
        """Remember how lines lead from one ranking to the one after it."""
        self._next[ranking] = after, moved

    def follow(self, line: RecordedLine, ranking: Ranking, present: Ranking) -> RecordedLine | None:
        """Where a line of a ranking's run is in the present one; None where it is gone or was edited."""
        found: RecordedLine | None = line
        while ranking is not present:
            if found is None or ranking not in self._next:
                return None
            ranking, moved = self._next[ranking]
            found = moved(found)
        return found
