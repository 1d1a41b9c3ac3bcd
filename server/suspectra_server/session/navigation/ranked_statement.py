"""A statement of a ranking, which can be found again in the rankings that come after."""

from __future__ import annotations

from dataclasses import dataclass

from suspectra.report import Suspect
from suspectra_server.session.folder import Folder
from suspectra_server.state.marks import Mark
from suspectra_server.state.ranking import Ranking, RecordedLine


@dataclass(frozen=True)
class RankedStatement:
    """An element of a ranking.

    Elements are numbered anew by each ranking. A bare number that is kept while something else runs may therefore name
    another line by then. So whatever outlives one turn of the loop holds a `RankedStatement`, or a line of the run.
    """

    folder: Folder  # whose ranking it is
    ranking: Ranking  # which gives the number its meaning
    element: int

    @classmethod
    def for_mark(cls, folder: Folder, mark: Mark) -> RankedStatement:
        """The statement of a mark of the present snapshot."""
        return cls(folder, folder.snapshot.ranking, mark.suspect.element)

    @classmethod
    def for_line(cls, folder: Folder, line: RecordedLine) -> RankedStatement | None:
        """The statement that the present ranking has on a line of its run."""
        element = folder.element_of(line)
        return None if element is None else cls(folder, folder.snapshot.ranking, element)

    @property
    def recorded_line(self) -> RecordedLine:
        """Its file, and its line as it was run."""
        return self.ranking.recorded_line(self.element)

    @property
    def suspect(self) -> Suspect | None:
        """Its rank and score; None where it is not ranked."""
        report = self.ranking.report
        return report.suspect_of(self.element) if report is not None and report.level[self.element] >= 0 else None

    def now(self) -> RankedStatement | None:
        """The same statement in the present ranking of its folder; None where it is gone or was edited."""
        if self.ranking is self.folder.snapshot.ranking:
            return self
        line = self.folder.follow(self.recorded_line, self.ranking)
        return RankedStatement.for_line(self.folder, line) if line else None
