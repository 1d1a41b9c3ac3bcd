"""The commands that say why a line has its rank, and what would tell it from others."""

from __future__ import annotations

from dataclasses import replace

from lsprotocol import types as lsp

from suspectra_server.features.commands.arguments import parse_location
from suspectra_server.features.commands.finder import Finder
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.features.distinctions import DistinctionText, tell_apart, why_not
from suspectra_server.features.locations import current_location
from suspectra_server.features.suspect_texts import as_markdown, as_text
from suspectra_server.messages import Answer, Explained
from suspectra_server.session.navigation.ranked_statement import RankedStatement
from suspectra_server.session.session import Session


class ExplainCommands:
    """Answers as Markdown, and as a message in a client that has no view for them."""

    def __init__(self, session: Session, find: Finder):
        self._session = session
        self._find = find

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "explain": self.explain,
            "whyNot": self.why_not,
            "tellApart": self.tell_apart,
        }

    def explain(self, uri: object = None, line: object = None) -> Explained | None:
        """Say why a line has its rank."""
        found = self._find.current() if uri is None else self._find.suspect_at(*parse_location(uri, line))
        if found is None:
            self._session.notify("There is no suspect here." if uri else "There are no suspects.")
            return None
        folder, suspect, where = found
        if not self._session.supports_status:  # on several lines
            text = lsp.ShowMessageParams(lsp.MessageType.Info, as_text(folder.snapshot, suspect))
            self._session.window_show_message(text)
        return {"markdown": as_markdown(folder.snapshot, suspect), "location": where}

    async def why_not(self, uri: object = None, line: object = None) -> Answer | None:
        """Compare a line with the first suspect."""
        found = self._find.statement_at(*parse_location(uri, line))
        if found is None:
            self._session.notify("Nothing is measured on this line.")
            return None
        element = found.element
        return self._answer(found, await found.folder.ask(lambda ranking: why_not(ranking, element)))

    async def tell_apart(self, uri: object = None, line: object = None) -> Answer | None:
        """Say what would tell the lines of a tie apart."""
        found = self._find.first() if uri is None else self._find.statement_at(*parse_location(uri, line))
        if found is None or not found.ranking.ranked.spectrum.counts.ef[found.element] or found.suspect is None:
            self._session.notify("There is no suspect here." if uri else "There are no suspects.")
            return None
        element = None if uri is None else found.element
        return self._answer(found, await found.folder.ask(lambda ranking: tell_apart(ranking, element)))

    def _answer(self, statement: RankedStatement, answer: DistinctionText | None) -> Answer | None:
        if answer is None:
            return None
        self._session.notify(answer.text)
        now = replace(statement, element=answer.element).now()
        return answer.to_protocol(current_location(self._session, now) if now else None)
