"""What features may use of the server: a Protocol, so that no feature imports it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from lsprotocol import types as lsp

from suspectra_server.messages import AnswerSoFar, Status
from suspectra_server.session.client import Client
from suspectra_server.session.experiments.cause_search import CauseSearch
from suspectra_server.session.experiments.consent import Consent
from suspectra_server.session.experiments.experiment_run import ExperimentRun
from suspectra_server.session.experiments.run_comparison import RunComparison
from suspectra_server.session.experiments.shown_run import ShownRun
from suspectra_server.session.folder import Folder
from suspectra_server.session.folders import Folders
from suspectra_server.session.jobs import Jobs
from suspectra_server.session.navigation.learned_moves import LearnedMoves
from suspectra_server.session.tests.test_run import TestRun
from suspectra_server.session.trust import Trust
from suspectra_server.state.trail import Trail

Handler = TypeVar("Handler", bound=Callable[..., object])


class Session(Client, Protocol):
    """One client, its workspace folders and what runs for them."""

    folders: Folders
    files: Jobs  # where files are accessed: the loop accesses none, as they may be on a slow disk
    trail: Trail  # the statements that the reader visited
    learned: LearnedMoves  # what was learned from the reader's moves
    test_run: TestRun
    experiment_run: ExperimentRun
    cause_search: CauseSearch | None  # the last search for the cause of a failure
    shown_run: ShownRun | None  # the run of a failing test whose values are shown
    comparison: RunComparison | None  # the last comparison of a failing test with passing ones
    trust: Trust  # whether code of the workspace may be executed
    consent: Consent  # whether the user allows altered runs

    def feature(self, name: str, options: object = None) -> Callable[[Handler], Handler]:
        """Register the handler of a method."""

    def command(self, name: str) -> Callable[[Handler], Handler]:
        """Register the handler of a command."""

    def rank(self) -> None:
        """Rank every folder now."""

    def publish(self, folder: Folder) -> None:
        """Publish those diagnostics of a folder that changed."""

    def send_so_far(self, known: AnswerSoFar) -> None:
        """Send what is known of an answer."""

    def status(self) -> Status:
        """The params of `suspectra/status`, over all folders."""

    def keep_running(self, task: asyncio.Task[object]) -> None:
        """Keep a task alive, and log when it fails."""

    def window_show_document(self, params: lsp.ShowDocumentParams, /) -> object:
        """Let the client open a document at a location."""

    async def window_show_message_request_async(
        self, params: lsp.ShowMessageRequestParams, /
    ) -> lsp.MessageActionItem | None:
        """Ask the user to choose."""

    async def workspace_apply_edit_async(self, params: lsp.ApplyWorkspaceEditParams, /) -> lsp.ApplyWorkspaceEditResult:
        """Let the client apply an edit; whether it did."""

    def workspace_code_lens_refresh(self, params: None, /) -> object:
        """Let the client request code lenses again."""

    def workspace_inlay_hint_refresh(self, params: None, /) -> object:
        """Let the client request inlay hints again."""
