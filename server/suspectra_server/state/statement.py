"""A statement of one ranking.

Elements are numbered anew by each ranking. A bare number that is kept while something else runs may therefore name
another line by then. Whatever outlives one turn of the loop carries a `Statement`, or a place, instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from suspectra_server.state.marks import Mark
from suspectra_server.state.ranking import Place, Ranking

if TYPE_CHECKING:
    from suspectra.report import Suspect
    from suspectra_server.session.folder import Folder


@dataclass(frozen=True)
class Statement:
    """An element of a ranking.

    Parameters
    ----------
    folder : Folder
        Whose ranking it is.
    ranking : Ranking
        Which gives the number its meaning.
    element : int
    """

    folder: Folder
    ranking: Ranking
    element: int

    @classmethod
    def of(cls, folder: Folder, mark: Mark) -> Statement:
        """The statement of a mark that the folder has now."""
        return cls(folder, folder.snapshot.ranking, mark.suspect.element)

    @property
    def place(self) -> Place:
        """Where it stands, in the lines of the run."""
        return self.ranking.place_of(self.element)

    @property
    def suspect(self) -> Suspect | None:
        """What is said of it as a suspect; None where it is not ranked."""
        report = self.ranking.report
        return report.suspect_of(self.element) if report is not None and report.level[self.element] >= 0 else None

    def now(self) -> Statement | None:
        """The same statement in the present ranking of its folder; None where it is gone or was edited."""
        return self.folder.follow(self)
