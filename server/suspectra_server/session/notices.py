"""Notifications without a request: each once, and as many as the settings allow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lsprotocol import types as lsp

from suspectra.base.english import many
from suspectra_server.messages import FolderState
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.client import Client
from suspectra_server.session.folder import Folder
from suspectra_server.session.tests.test_run import TestRun
from suspectra_server.settings import Settings
from suspectra_server.state.ranking import Ranking
from suspectra_server.timing import RECORDING_POLL_S

MAX_PROBLEMS = 5  # of one ranking that get a notification each
MAX_REPORTED = 1000  # texts that are remembered, so that they are not repeated
_LEVELS = {"off": 0, "onError": 1, "onWarning": 2, "always": 4}


class Notices:
    """Notices to one client."""

    def __init__(self, client: Client, test_run: TestRun, keep_running: Callable[[asyncio.Task[None]], None]):
        self._client = client
        self._test_run = test_run
        self._keep_running = keep_running
        self._reported: dict[str, None] = {}
        self._pending: dict[Folder, asyncio.Task[None]] = {}  # while its evidence is not complete

    def notify(self, text: str, kind: lsp.MessageType, settings: Settings, *, quiet: bool = False) -> None:
        """Notify once: by a message if the settings allow it, otherwise in the log."""
        if text in self._reported:
            return
        self._reported[text] = None
        if len(self._reported) > MAX_REPORTED:
            self._reported.pop(next(iter(self._reported)))
        shown = plain(text, MAX_TEXT)
        if kind.value <= _LEVELS[settings.show_notifications] and not quiet:
            self._client.window_show_message(lsp.ShowMessageParams(kind, shown))
        else:
            self._client.window_log_message(lsp.LogMessageParams(kind, shown))

    def report_fixed(self, folder: Folder) -> None:
        """Say once which failure groups are gone, as all their tests pass. The status does not change for it."""
        for title in folder.snapshot.ranking.fixed:
            self.notify(f"Fixed: {title}", lsp.MessageType.Info, folder.settings)

    def report_problems(self, folder: Folder) -> None:
        """Notify of the problems of the evidence, each once.

        While tests run, many problems are about tests that have not run yet. They go away by themselves, so only those
        that remain at the end are reported.
        """
        self.forget(folder)
        ranking = folder.snapshot.ranking
        if not ranking.problems or ranking.state is FolderState.NO_EVIDENCE or folder.removed:
            return
        if ranking.state is FolderState.ERROR and not self._test_run.runs(folder):
            self._report(folder, ranking)
        else:
            self._pending[folder] = asyncio.ensure_future(self._report_when_complete(folder))
            self._keep_running(self._pending[folder])

    def forget(self, folder: Folder) -> None:
        """Drop pending notifications about a folder."""
        if pending := self._pending.pop(folder, None):
            pending.cancel()

    async def _report_when_complete(self, folder: Folder) -> None:
        while self._test_run.runs(folder) or await folder.rankings.is_incomplete():
            await asyncio.sleep(RECORDING_POLL_S)
        self._pending.pop(folder, None)
        if not folder.removed:
            self._report(folder, folder.snapshot.ranking)

    def _report(self, folder: Folder, ranking: Ranking) -> None:
        kind = lsp.MessageType.Error if ranking.state is FolderState.ERROR else lsp.MessageType.Warning
        news = [text for text in map(str, ranking.problems) if text not in self._reported]
        for number, text in enumerate(news):
            self.notify(text, kind, folder.settings, quiet=number >= MAX_PROBLEMS)
        if len(news) > MAX_PROBLEMS:
            more = f"{many(len(news) - MAX_PROBLEMS, 'more problem')}: `suspectra rank` and the server's log list them"
            self.notify(more, kind, folder.settings)
