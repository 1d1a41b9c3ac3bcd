"""Where the lines of one run are in the next."""

from __future__ import annotations

from suspectra_server.state.documents import Texts, moved_code
from suspectra_server.state.ranking import Ranking, RecordedLine
from suspectra_server.state.snapshot import Snapshot


class MovedLines:
    """Leads from lines of the ranking that is shown to those of the next one.

    Parameters
    ----------
    snapshot : Snapshot
        The present one. Its ranking is not kept: it goes when nobody else knows it.
    ranking : Ranking
        The next one.
    texts : Texts
        Those of the folder.
    """

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
