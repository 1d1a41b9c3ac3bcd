"""Running failing tests again, as several groups of commands do: when that is possible, and with whose consent."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable, Sequence

from lsprotocol import types as lsp

from suspectra.base.errors import UsageError
from suspectra.experiments.repeated_tests import FailingTest
from suspectra.recording.pytest_command import asked_about
from suspectra_server.features.commands.finder import Failing
from suspectra_server.features.commands.refusals import RequestFailed
from suspectra_server.features.failing_tests import can_be_compared, can_be_investigated, failing_tests
from suspectra_server.messages import FolderState
from suspectra_server.safe_text import plain
from suspectra_server.session.experiments.experiment_run import Work
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.session.trust import NotTrusted

_WARNING = (
    "Suspectra will run failing tests of {folder} again, by `{command}`, with something altered in each run. So your"
    " code executes with wrong values and with checks skipped: it could delete, send or pay something that it otherwise"
    " would not. Go on only if these tests can do no harm. You are asked once for each workspace."
)
_RUN, _CANCEL = "Run Altered Tests", "Cancel"


class RepeatedRuns:
    """The one way from a command to a failing test that runs again."""

    def __init__(self, session: Session):
        self._session = session

    async def until_ended(self, work: Work) -> None:
        """Begin a work, and return when it has ended."""
        try:
            await asyncio.shield(self._session.experiment_run.start(work))
        except asyncio.CancelledError:
            self._session.experiment_run.cancel()  # the client has cancelled its request
            raise

    async def may_alter(
        self, folder: Folder, tests: Iterable[FailingTest], *, compiled: bool = False
    ) -> Failing | None:
        """The failing tests as they are once the user agrees to alter these; None without consent.

        While the user is asked, tests may run, sources may change, and the folder may be removed.
        """
        self.refuse_unless_possible(folder, compiled=compiled)
        if not await self._is_allowed(folder):
            return None
        self.refuse_unless_possible(folder, compiled=compiled)
        evidence, failing = folder.snapshot.ranking.evidence, failing_tests(folder, [test.name for test in tests])
        if evidence is None or not failing:
            raise RequestFailed("Tests ran meanwhile, and what was to be found out about no longer fails.")
        return Failing(folder, evidence, failing)

    def refuse_unless_possible(self, folder: Folder, *, compiled: bool = False) -> None:
        """Raise RequestFailed where no test of a folder can be run again now; `compiled` programs only if they may."""
        try:
            self._session.trust.require()
        except NotTrusted as error:
            raise RequestFailed(str(error)) from None
        if folder.removed:
            raise RequestFailed("This is no longer a folder of the workspace.")
        if self._session.experiment_run.in_the_way:
            raise RequestFailed("Altered tests are already running.")
        if self._session.test_run.running:
            raise RequestFailed("Tests are running. Wait for them, or cancel them.")
        if folder.snapshot.ranking.failing and not (can_be_compared if compiled else can_be_investigated)(folder):
            raise RequestFailed(_only(folder, compiled))
        if folder.current().state is FolderState.STALE:
            raise RequestFailed("The sources changed since the tests ran. Run the tests again first.")

    async def _is_allowed(self, folder: Folder) -> bool:
        """Whether the user allows altered runs in this workspace; asks if that is not known."""
        session = self._session
        if await session.files.run(lambda: session.consent.is_given(folder.root)):
            return True
        words, foreign = await self._command(folder)
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

    async def _command(self, folder: Folder) -> tuple[Sequence[str], bool]:
        """What runs the tests, and whether its program is one outside the folder that only the recording names."""
        if build := folder.rankings.build:
            return ("ctest", "--test-dir", build), False
        python, run = folder.settings.test_interpreter or None, self._session.files.run
        try:
            command = await run(folder.pytest_command)
        except UsageError as error:
            raise RequestFailed(str(error)) from None
        return await run(lambda: asked_about(command, str(folder.root), python=python))


def _only(folder: Folder, compiled: bool) -> str:
    """Why tests of a folder can't be run again, and what works instead."""
    if compiled:
        return "Only tests of pytest and of CTest can be run again; there is no build folder of CMake here."
    instead = (
        " For these tests of CTest, ask why they fail, what would make them pass, or compare them with passing runs."
    )
    return "Only tests that pytest runs can be run again with something altered." + instead * can_be_compared(folder)
