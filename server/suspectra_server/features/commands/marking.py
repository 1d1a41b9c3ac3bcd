"""The commands with which a reader marks suspects as examined or innocent."""

from __future__ import annotations

from suspectra_server.features.commands.arguments import parse_location, parse_scope
from suspectra_server.features.commands.finder import Finder
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.session.session import Session


class MarkCommands:
    """Marks of statements, or of whole functions."""

    def __init__(self, session: Session, find: Finder):
        self._session = session
        self._find = find

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "markExamined": self.mark_examined,
            "markInnocent": self.mark_innocent,
            "clearExamined": self.clear_examined,
        }

    def mark_examined(self, uri: object = None, line: object = None, scope: object = "line") -> bool:
        """Mark the suspect on a line, or its function, as examined."""
        whole = parse_scope(scope) == "function"
        found = self._find.marked(*parse_location(uri, line))
        if found is None:
            return False
        folder, element = found[0], found[1].suspect.element
        folder.exclude(folder.snapshot.ranking.with_function(element) if whole else [element], "examined")
        return True

    def mark_innocent(self, uri: object = None, line: object = None, scope: object = "line") -> bool:
        """Declare a statement, or its function, innocent."""
        whole = parse_scope(scope) == "function"
        found = self._find.statement_at(*parse_location(uri, line))
        if found is None or found.suspect is None:
            return False
        found.folder.exclude(found.ranking.with_function(found.element) if whole else [found.element], "innocent")
        return True

    def clear_examined(self) -> bool:
        """Show all examined and innocent suspects again; True if there were any."""
        folders = list(self._session.folders)
        there = any(folder.snapshot.examined or folder.snapshot.innocent for folder in folders)
        for folder in folders:
            folder.clear_exclusions()
        return there
