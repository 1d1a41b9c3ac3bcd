"""The command that searches a fix, and shows what was found: one after the other, and none is applied by itself."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra_server.features.commands.arguments import are_names
from suspectra_server.features.commands.finder import Finder
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.features.commands.repeated_runs import RepeatedRuns
from suspectra_server.messages import FoundChange
from suspectra_server.session.experiments.fix_search import FixSearch
from suspectra_server.session.session import Session

_APPLY, _NEXT, _CLOSE = "Apply", "Next", "Close"
_SHOW, _TEST = "Show the Change", "Write a Test"


class FixCommands:
    """The search for fixes."""

    def __init__(self, session: Session, find: Finder, runs: RepeatedRuns):
        self._session = session
        self._find = find
        self._runs = runs

    def handlers(self) -> Handlers:
        """By their names."""
        return {"findFix": self.find_fix}

    async def find_fix(
        self, uri: object = None, tests: object = None, cursor: object = None, choosing: object = None
    ) -> int | list[FoundChange]:
        """Search fixes for failing tests; how many were found once the user has chosen, or what the client offers."""
        if tests is not None and not are_names(tests):
            raise JsonRpcInvalidParams("findFix takes the URI of a folder and the names of failing tests")
        wanted = self._find.failing(uri, tests, cursor, "nothing to fix")
        failing = await self._runs.may_alter(wanted.folder, wanted.tests)
        if failing is None:
            return [] if choosing else 0
        search = FixSearch(self._session, *failing)
        await self._runs.until_ended(search)
        if choosing:
            return self._changes(search)
        await self._show(search)
        return len(search.found)

    async def _show(self, search: FixSearch) -> None:
        """Show one change after the other, until the user applies one or closes the question."""
        from suspectra_server.features.found_fixes import shows_edits_first

        applying = _SHOW if shows_edits_first(self._session) else _APPLY
        number = 0
        while changes := self._changes(search):
            change = changes[number]
            test = change["test"]
            words = [f"{change['place']}: {change['said']}", change["apart"]]
            text = " ".join([*filter(None, words), f"Change {number + 1} of {len(changes)}: {change['title']}"])
            actions = [applying, *([_TEST] if test else []), *([_NEXT] if len(changes) > 1 else []), _CLOSE]
            question = lsp.ShowMessageRequestParams(
                lsp.MessageType.Info, text, [lsp.MessageActionItem(title) for title in actions]
            )
            answer = await self._session.window_show_message_request_async(question)
            if answer is None or answer.title == _CLOSE:
                return
            if answer.title == _TEST and test:
                await self._session.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(test, "Write a test"))
                continue
            if answer.title == applying:
                edit = lsp.ApplyWorkspaceEditParams(change["edit"], "Apply a fix")
                done = await self._session.workspace_apply_edit_async(edit)
                if done.applied or applying == _APPLY:
                    return
            number = (number + 1) % len(changes)  # the next one, which after a discarded one may be better

    def _changes(self, search: FixSearch) -> list[FoundChange]:
        """What was found, the likeliest first; nothing if the text is no longer the one that was run."""
        from suspectra_server.features.found_fixes import (
            can_create_files,
            changed_text,
            edit_with_test,
            place_of,
            said_of,
            told_apart,
            workspace_edit,
        )

        changes: list[FoundChange] = []
        for number, fix in enumerate(search.ordered, 1):
            edit = workspace_edit(self._session, search.folder, fix.candidates, f"{place_of(fix)}: {said_of(fix)}")
            if edit is None:
                self._session.answer("The sources changed since the tests ran. Run the tests again first.")
                return []
            told = search.apart.get(fix)
            writes = told is not None and told.test and can_create_files(self._session)
            test = edit_with_test(search.folder, fix, told) if told is not None and writes else None
            changes.append(
                {
                    "title": changed_text(search.folder, fix),
                    "place": place_of(fix),
                    "said": said_of(fix),
                    "apart": told_apart(number, told),
                    "edit": edit,
                    "test": test,
                }
            )
        return changes
