"""The commands that run failing tests again: with something altered, or with their values observed."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.base.errors import UsageError
from suspectra.base.location import Location
from suspectra.evidence.evidence import Evidence
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.recording.pytest_command import asked_about
from suspectra_server.features.commands.arguments import are_names, parse_cursor, parse_location
from suspectra_server.features.commands.groups import GroupCommands
from suspectra_server.features.commands.refusals import RequestFailed
from suspectra_server.features.failing_tests import can_be_investigated, failing_tests, tests_at
from suspectra_server.protocol import FolderState
from suspectra_server.session.experiments.experiment_run import Work
from suspectra_server.session.experiments.investigating import Investigating
from suspectra_server.session.experiments.value_comparison import ValueComparison
from suspectra_server.session.folder import Folder
from suspectra_server.session.navigation.statement import RankedStatement
from suspectra_server.session.trust import NotTrusted
from suspectra_server.text import plain

_WARNING = (
    "Suspectra will run failing tests of {folder} again, by `{command}`, with something altered in each run. So your"
    " code executes with wrong values and with checks skipped: it could delete, send or pay something that it otherwise"
    " would not. Go on only if these tests can do no harm. You are asked once for each workspace."
)
_RUN, _CANCEL = "Run Altered Tests", "Cancel"


class ExperimentCommands(GroupCommands):
    """What the commands about experiments do."""

    async def investigate(self, uri: object = None, tests: object = None, cursor: object = None) -> bool:
        """Find out what would make failing tests pass."""
        folder, _, chosen = self._failing("investigate", uri, tests, cursor)
        failing = await self._may_alter(folder, chosen)
        return failing is not None and self._investigate(folder, *failing)

    def compare_values(self, uri: object = None, tests: object = None, cursor: object = None) -> bool:
        """Find out where values compare in failing tests as in no passing one. Nobody is asked: nothing is altered."""
        folder, evidence, chosen = self._failing("compareValues", uri, tests, cursor)
        self._refuse_unless_possible(folder)
        run = self._session.experiment_run
        run.start(ValueComparison(self._session, run, folder, evidence, chosen))
        return True

    def _failing(
        self, command: str, uri: object, tests: object, cursor: object
    ) -> tuple[Folder, Evidence, tuple[FailingTest, ...]]:
        """The failing tests that a command is about."""
        if tests is not None and not are_names(tests):
            raise JsonRpcInvalidParams(f"{command} takes the URI of a folder and the names of failing tests")
        folder, tests = self._at_cursor(cursor) if tests is None and cursor else (self._folder(uri), tests)
        evidence = folder.snapshot.ranking.evidence if folder else None
        if folder is None or evidence is None or not folder.snapshot.ranking.failing:
            raise RequestFailed("No recorded test fails here, so there is nothing to find out.")
        chosen = failing_tests(folder, tests)
        if not chosen:
            raise RequestFailed("None of these tests failed in the last recorded run.")
        return folder, evidence, chosen

    async def test_suspect(self, uri: object = None, line: object = None) -> bool:
        """Find out whether altering one statement makes failing tests pass."""
        uri, line = parse_location(uri, line)
        found = self._session.folders.containing(uri)
        suspect = found[0].current().suspect_at(found[1], line) if found else None
        if found is None or suspect is None or suspect.only_read:
            raise RequestFailed("No failing test executes this line.")
        folder, _ = found
        statement = RankedStatement(folder, folder.snapshot.ranking, suspect.element)
        failing = await self._may_alter(folder, failing_tests(folder, suspect.failing_tests))
        if failing is None:
            return False
        if (now := statement.now()) is None or (suspect := now.suspect) is None:
            raise RequestFailed("This line was edited meanwhile.")
        return self._investigate(folder, *failing, suspect.location)

    def cancel_investigation(self) -> bool:
        """Stop the experiments."""
        running = self._session.experiment_run.running
        if running:
            self._session.experiment_run.cancel()
        return running

    def _at_cursor(self, cursor: object) -> tuple[Folder | None, list[str] | None]:
        """The folder of a document, and the failing tests that the cursor is in; None for the usual ones."""
        uri, line = parse_cursor(cursor)
        found = self._session.folders.containing(uri)
        return (found[0], tests_at(*found, line) or None) if found else (self._folder(None), None)

    def _investigate(
        self, folder: Folder, evidence: Evidence, tests: tuple[FailingTest, ...], at: Location | None = None
    ) -> bool:
        run = self._session.experiment_run
        run.start(Investigating(self._session, run, folder, evidence, tests, at))
        return True

    async def _until_ended(self, work: Work) -> None:
        """Begin a work, and return when it has ended."""
        try:
            await asyncio.shield(self._session.experiment_run.start(work))
        except asyncio.CancelledError:
            self._session.experiment_run.cancel()  # the client has cancelled its request
            raise

    async def _may_alter(
        self, folder: Folder, tests: Iterable[FailingTest]
    ) -> tuple[Evidence, tuple[FailingTest, ...]] | None:
        """The evidence and the failing tests, as they are once the user agrees to alter these; None without consent.

        While the user is asked, tests may run, sources may change, and the folder may be removed.
        """
        self._refuse_unless_possible(folder)
        if not await self._is_allowed(folder):
            return None
        self._refuse_unless_possible(folder)
        evidence, failing = folder.snapshot.ranking.evidence, failing_tests(folder, [test.name for test in tests])
        if evidence is None or not failing:
            raise RequestFailed("Tests ran meanwhile, and what was to be found out about no longer fails.")
        return evidence, failing

    def _refuse_unless_possible(self, folder: Folder) -> None:
        try:
            self._session.trust.require()
        except NotTrusted as error:
            raise RequestFailed(str(error)) from None
        if folder.removed:
            raise RequestFailed("This is no longer a folder of the workspace.")
        if self._session.experiment_run.running:
            raise RequestFailed("Altered tests are already running.")
        if self._session.test_run.running:
            raise RequestFailed("Tests are running. Wait for them, or cancel them.")
        if folder.snapshot.ranking.failing and not can_be_investigated(folder):
            raise RequestFailed("Only tests that pytest runs can be run again with something altered.")
        if folder.current().state is FolderState.STALE:
            raise RequestFailed("The sources changed since the tests ran. Run the tests again first.")

    async def _is_allowed(self, folder: Folder) -> bool:
        """Whether the user allows altered runs in this workspace; asks if that is not known."""
        session = self._session
        if await session.files.run(lambda: session.consent.is_given(folder.root)):
            return True
        python = folder.settings.test_interpreter or None
        try:
            command = folder.pytest_command()
        except UsageError:  # the run itself says so
            return True
        words, foreign = await session.files.run(lambda: asked_about(command, str(folder.root), python=python))
        text = _WARNING.format(folder=plain(folder.root.name), command=plain(shlex.join(words)))
        if foreign:
            text += f" Only the recording names this Python, which is not in the folder: {plain(words[0])}."
        question = lsp.ShowMessageRequestParams(
            lsp.MessageType.Warning,
            text,
            [lsp.MessageActionItem(_RUN), lsp.MessageActionItem(_CANCEL)],
        )
        answer = await session.window_show_message_request_async(question)
        if answer is None or answer.title != _RUN:
            return False
        await session.files.run(lambda: session.consent.give(folder.root))
        return True
