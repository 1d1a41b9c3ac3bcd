"""The commands that say how to debug a failing test, and where to stop in it; the client starts its own debugger.

Only the server knows which test executes a line and how tests are run, and only the client has a debugger. What to
launch comes through the module that asks for trust, as launching it executes code of the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.base.errors import SuspectraError
from suspectra.base.location import Location
from suspectra_server.features.chain_steps import chain_now
from suspectra_server.features.commands.arguments import parse_location
from suspectra_server.features.commands.finder import Finder
from suspectra_server.features.commands.refusals import RequestFailed
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.features.failing_tests import tests_at
from suspectra_server.features.step_messages import StepMessages
from suspectra_server.messages import DebugLaunch
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.session.tests.processes import launch_of
from suspectra_server.session.tests.project_tests import runs_programs
from suspectra_server.session.trust import NotTrusted


class DebugCommands:
    """Launches of a debugger. The client starts it, and does all the rest that a debugger needs."""

    def __init__(self, session: Session, find: Finder):
        self._session = session
        self._find = find

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "debugHere": self.debug_here,
            "debugTest": self.debug_test,
            "debugChain": self.debug_chain,
        }

    async def debug_here(self, uri: object = None, line: object = None, test: object = None) -> DebugLaunch:
        """Say how to debug a failing test that executes a line, stopping there."""
        uri, line = parse_location(uri, line)
        found = self._session.folders.containing(uri)
        if found is None or not found[0].snapshot.ranking.failing:
            raise RequestFailed("No recorded test fails here, so there is nothing to debug.")
        folder, path = found
        suspect = folder.current().suspect_at(path, line)
        executing = suspect.failing_tests if suspect and not suspect.only_read else ()
        names = tests_at(folder, path, line) or executing
        name = test if isinstance(test, str) else next(iter(names), None)
        if name is None:
            raise RequestFailed("No failing test executes this line, so a debugger would not stop here.")
        start = lsp.Position(line, 0)
        return await self._launch(folder, name, [lsp.Location(uri, lsp.Range(start, start))])

    async def debug_test(self, uri: object = None, test: object = None, cursor: object = None) -> DebugLaunch:
        """Say how to debug a failing test, stopping on the most suspicious line that it executes."""
        if test is not None and not isinstance(test, str):
            raise JsonRpcInvalidParams("debugTest takes the URI of a folder and the name of a failing test")
        names = None if test is None else [test]
        folder, names = self._find.folder_and_tests(uri, names, cursor)
        if folder is None or not folder.snapshot.ranking.failing:
            raise RequestFailed("No recorded test fails here, so there is nothing to debug.")
        group = folder.snapshot.ranking.group
        name = next(iter(names or (group.tests if group else folder.snapshot.ranking.failing)))
        return await self._launch(folder, name, await self._first_stop(folder, name))

    async def debug_chain(self) -> DebugLaunch:
        """Say how to debug the test whose failure has a known cause, stopping along the way from there."""
        search, chain = self._session.cause_search, chain_now(self._session)
        if search is None or not chain:
            raise RequestFailed("No cause was searched for, or the sources changed since.")
        stops = {(step["uri"], step["range"].start.line): lsp.Location(step["uri"], step["range"]) for step in chain}
        return await self._launch(search.folder, search.test.name, stops.values())

    async def _first_stop(self, folder: Folder, test: str) -> list[lsp.Location]:
        """The most suspicious line that a test executes, or else where it failed; none if that was edited."""
        steps = StepMessages(self._session, folder)
        if (where := self._stop(folder, test)) is not None:
            await steps.read([where.file])
        where = self._stop(folder, test)  # in the ranking that is there by now
        range_ = steps.range_of(where) if where is not None else None
        return [lsp.Location(folder.uri_of(where.file), range_)] if where is not None and range_ is not None else []

    def _stop(self, folder: Folder, test: str) -> Location | None:
        """Where to stop, as the lines of the present ranking's run."""
        mark = next((mark for mark in folder.current().marks if test in mark.suspect.failing_tests), None)
        return self._failed_at(folder, test) if mark is None else mark.suspect.location

    def _failed_at(self, folder: Folder, test: str) -> Location | None:
        """Where a test failed, or else where it is defined."""
        ranking = folder.snapshot.ranking
        stack = ranking.evidence.stacks.get(test) if ranking.evidence else None
        innermost = stack.innermost if stack is not None else None
        if innermost is not None:
            return Location(innermost.file, innermost.line, innermost.line)
        result = ranking.failing.get(test)
        return result.location if result is not None else None

    async def _launch(self, folder: Folder, test: str, stops: Iterable[lsp.Location]) -> DebugLaunch:
        """The one way to a debugger: it executes code of the workspace."""
        settings, root, session = folder.settings, folder.root, self._session
        if test not in folder.snapshot.ranking.failing:
            raise RequestFailed("This test did not fail in the last recorded run.")
        places = list(stops)
        where = f", with a breakpoint at {_place(folder, places[0])}" if places else ""
        if runs_programs(settings, folder.rankings.recorded_by):
            raise RequestFailed(
                f"Suspectra debugs tests of Python. {plain(test)} runs a compiled program:"
                f" start that in your debugger for C and C++{where}."
            )
        try:
            launch = await session.files.run(
                lambda: launch_of(session.trust, root, folder.python_command(), test, settings)
            )
        except (NotTrusted, SuspectraError) as error:
            raise RequestFailed(plain(str(error), MAX_TEXT)) from None
        shown = launch.shown()
        session.notify(f"To debug {test}{where}: {shown}")
        return {
            "folder": folder.uri,
            "test": test,
            "root": str(root),
            "python": launch.python or None,
            "module": launch.module,
            "arguments": list(launch.arguments),
            "commandLine": shown,
            "stops": places,
        }


def _place(folder: Folder, where: lsp.Location) -> str:
    return f"{folder.path_in(where.uri) or where.uri}:{where.range.start.line + 1}"
