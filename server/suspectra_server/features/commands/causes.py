"""The commands that search for the cause of a failure, and walk along what is known of it."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra_server.features import inlay_hints
from suspectra_server.features.chain_steps import causes_of, chain_now
from suspectra_server.features.commands.arguments import parse_cursor
from suspectra_server.features.commands.experiments import ExperimentCommands
from suspectra_server.features.commands.refusals import RequestFailed
from suspectra_server.features.failing_tests import failing_tests
from suspectra_server.messages import Causes, Step
from suspectra_server.session.experiments.cause_search import CauseSearch
from suspectra_server.text import MAX_TEXT, plain


class CauseCommands(ExperimentCommands):
    """What the commands about causes do."""

    async def find_cause(self, uri: object = None, test: object = None, cursor: object = None) -> Causes | None:
        """Search for the causes of the failure of one test, and return what was found once the search has ended."""
        if test is not None and not isinstance(test, str):
            raise JsonRpcInvalidParams("findCause takes the URI of a folder and the name of a failing test")
        names = None if test is None else [test]
        folder, names = self._at_cursor(cursor) if names is None and cursor else (self._folder(uri), names)
        evidence = folder.snapshot.ranking.evidence if folder else None
        if folder is None or evidence is None or not folder.snapshot.ranking.failing:
            raise RequestFailed("No recorded test fails here, so there is no cause to search for.")
        chosen = failing_tests(folder, names)
        if not chosen:
            raise RequestFailed("This test did not fail in the last recorded run.")
        failing = await self._may_alter(folder, chosen[:1])
        if failing is None:
            return None
        evidence, (test_now,) = failing
        await self._search(CauseSearch(self._session, folder, evidence, test_now))
        return await causes_of(self._session)

    async def _search(self, search: CauseSearch) -> None:
        """Search, and return when that has ended."""
        self._session.cause_search = search
        await self._until_ended(search)
        inlay_hints.refresh(self._session)

    def next_in_chain(self, cursor: object = None) -> lsp.Location | None:
        """Go on from a cause towards the failure."""
        return self._walk(cursor, 1)

    def previous_in_chain(self, cursor: object = None) -> lsp.Location | None:
        """Go back from the failure towards its cause."""
        return self._walk(cursor, -1)

    def clear_causes(self) -> bool:
        """Forget what was found."""
        known = self._session.cause_search is not None
        self._session.cause_search = None
        inlay_hints.refresh(self._session, always=known)
        self._session.send_status()
        return known

    def _walk(self, cursor: object, direction: int) -> lsp.Location | None:
        chain = chain_now(self._session)
        if not chain:
            if not self._session.supports_status:
                self._session.answer("No cause was searched for, or the sources changed since.")
            return None
        at = parse_cursor(cursor) if cursor is not None else None
        here = [number for number, step in enumerate(chain) if at and _is_on(step, *at)]
        number = (here[0] + direction) % len(chain) if here else (0 if direction > 0 else -1)
        step = chain[number]
        location = lsp.Location(step["uri"], step["range"])
        if self._session.can("window.show_document.support"):
            start = location.range.start
            show = lsp.ShowDocumentParams(location.uri, take_focus=True, selection=lsp.Range(start, start))
            self._session.window_show_document(show)
        elif not self._session.supports_status:
            value = f" → {step['value']}" if step["value"] else ""
            self._session.answer(plain(f"{step['file']}:{step['line']}: {step['source']}{value}", MAX_TEXT))
        return location


def _is_on(step: Step, uri: str, line: int) -> bool:
    return step["uri"] == uri and step["range"].start.line <= line <= step["range"].end.line
