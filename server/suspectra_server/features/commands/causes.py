"""The commands that search for the cause of a failure, and walk along what is known of it."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra_server.features import inlay_hints
from suspectra_server.features.chain_steps import causes_of, chain_now, state_at
from suspectra_server.features.commands.arguments import parse_cursor
from suspectra_server.features.commands.finder import Finder
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.features.commands.repeated_runs import RepeatedRuns
from suspectra_server.features.locations import open_at
from suspectra_server.messages import Causes, Step
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.experiments.cause_search import CauseSearch
from suspectra_server.session.session import Session


class CauseCommands:
    """The search for a cause, and steps along the chain from it to the failure."""

    def __init__(self, session: Session, find: Finder, runs: RepeatedRuns):
        self._session = session
        self._find = find
        self._runs = runs

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "findCause": self.find_cause,
            "stateIsRight": self.state_is_right,
            "stateIsWrong": self.state_is_wrong,
            "nextInChain": self.next_in_chain,
            "previousInChain": self.previous_in_chain,
            "clearCauses": self.clear_causes,
        }

    async def find_cause(self, uri: object = None, test: object = None, cursor: object = None) -> Causes | None:
        """Search for the causes of the failure of one test, and return what was found once the search has ended."""
        if test is not None and not isinstance(test, str):
            raise JsonRpcInvalidParams("findCause takes the URI of a folder and the name of a failing test")
        wanted = self._find.failing_test(uri, test, cursor, "no cause to search for")
        failing = await self._runs.may_alter(wanted.folder, wanted.tests)
        if failing is None:
            return None
        await search_cause(self._session, self._runs, CauseSearch(self._session, *failing.first))
        return await causes_of(self._session)

    async def state_is_right(self, uri: object = None, line: object = None) -> Causes | None:
        """Search again, and leave out what only leads to a state that is right."""
        return await self._judge(uri, line, right=True)

    async def state_is_wrong(self, uri: object = None, line: object = None) -> Causes | None:
        """Search again, before a state that is wrong."""
        return await self._judge(uri, line, right=False)

    async def _judge(self, uri: object, line: object, *, right: bool) -> Causes | None:
        from suspectra.causes.judgements import Judgement

        if not isinstance(uri, str) or not isinstance(line, int):
            raise JsonRpcInvalidParams("stateIsRight and stateIsWrong take the URI of a document and a line")
        last, state = self._session.cause_search, state_at(self._session, uri, line)
        if last is None or state is None:
            self._session.answer("The last search for a cause has nothing on this line, or the sources changed since.")
            return None
        wanted = self._find.failing_test(last.folder.uri, last.test.name, None, "no cause to search for")
        failing = await self._runs.may_alter(wanted.folder, wanted.tests)
        if failing is None:
            return None
        judgements = (*last.judgements, Judgement(state.file, state.line, state.instance, right))
        search = CauseSearch(self._session, *failing.first, judgements=judgements)
        await search_cause(self._session, self._runs, search)
        return await causes_of(self._session)

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
            self._session.notify("No cause was searched for, or the sources changed since.")
            return None
        at = parse_cursor(cursor) if cursor is not None else None
        here = [number for number, step in enumerate(chain) if at and _is_on(step, *at)]
        number = (here[0] + direction) % len(chain) if here else (0 if direction > 0 else -1)
        step = chain[number]
        location = lsp.Location(step["uri"], step["range"])
        if not open_at(self._session, location):
            value = f" → {step['value']}" if step["value"] else ""
            self._session.notify(plain(f"{step['file']}:{step['line']}: {step['source']}{value}", MAX_TEXT))
        return location


def _is_on(step: Step, uri: str, line: int) -> bool:
    return step["uri"] == uri and step["range"].start.line <= line <= step["range"].end.line


async def search_cause(session: Session, runs: RepeatedRuns, search: CauseSearch) -> None:
    """Search, for a user or an agent, and return when that has ended."""
    session.cause_search = search
    await runs.until_ended(search)
    inlay_hints.refresh(session)
