"""The commands that run tests and record them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pygls.exceptions import JsonRpcInvalidParams

from suspectra_server.features.commands.arguments import parse_tests
from suspectra_server.features.commands.refusals import RequestFailed
from suspectra_server.features.commands.registry import Handlers
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.session.tests.test_run import RequestedRun
from suspectra_server.session.trust import NotTrusted


class RunCommands:
    """Test runs that the user asks for."""

    def __init__(self, session: Session):
        self._session = session

    def handlers(self) -> Handlers:
        """By their names."""
        return {
            "runTests": self.run_tests,
            "cancelTests": self.cancel_tests,
        }

    async def run_tests(self, uris: object = None, tests: object = None, others: object = None) -> bool:
        """Record all tests, or some, in each folder or in some."""
        if uris is not None and not (isinstance(uris, list) and all(isinstance(uri, str) for uri in uris)):
            raise JsonRpcInvalidParams("runTests takes a list of the URIs of workspace folders")
        folders = [folder for folder in self._session.folders if uris is None or folder.uri in uris]
        if not isinstance(others, (bool, type(None))):
            raise JsonRpcInvalidParams("the third argument of runTests is true or false")
        await start_tests(self._session, folders, parse_tests(tests), despite_errors=bool(others))
        return True

    def cancel_tests(self) -> bool:
        """Stop the tests that run."""
        running = self._session.test_run.running
        if running:
            self._session.test_run.cancel()
        return running


async def start_tests(
    session: Session,
    folders: list[Folder],
    tests: Mapping[str, Sequence[str]],
    *,
    affected: bool | None = None,
    despite_errors: bool = False,
) -> RequestedRun:
    """Record tests, for a user or an agent; `affected` says whether tests that no change can affect are left out.

    `despite_errors` says whether tests run although others can't be collected.
    """
    try:
        session.trust.require()
    except NotTrusted as error:
        raise RequestFailed(str(error)) from None
    if session.test_run.running and not session.test_run.on_save:
        raise RequestFailed("Tests are already running.")
    if not folders:
        opened = any(True for _ in session.folders)
        raise RequestFailed("None of these is a folder of the workspace." if opened else "No folder is open.")
    session.experiment_run.cancel()  # they would be about a run that is over
    return await session.test_run.start(folders, tests, affected=affected, despite_errors=despite_errors)
