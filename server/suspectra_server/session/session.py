"""What the features may use of a session with one client: a Protocol, so that no feature knows the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from lsprotocol import types as lsp

from suspectra_server.session.client import Client
from suspectra_server.session.folders import Folders
from suspectra_server.session.jobs import Jobs
from suspectra_server.session.learned_moves import Learned
from suspectra_server.session.test_run import TestRun
from suspectra_server.session.trust import Trust
from suspectra_server.state.trail import Trail


class Session(Client, Protocol):
    """One client, its workspace folders and what runs for them.

    Attributes
    ----------
    folders : Folders
    files : Jobs
        Where files are looked at: the loop itself touches none, as one may be on a slow disk.
    trail : Trail
        Where the reader was.
    learned : Learned
        What is known of the reader's moves.
    test_run : TestRun
    trust : Trust
        Whether code of the workspace may be executed.
    """

    folders: Folders
    files: Jobs
    trail: Trail
    learned: Learned
    test_run: TestRun
    trust: Trust

    def feature(self, name: str, options: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register what answers a method."""

    def command(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register what does a command."""

    def rank(self) -> None:
        """Rank every folder now."""

    def status(self) -> dict[str, Any]:
        """What is going on, over all folders."""

    def keep_running(self, task: asyncio.Task[None]) -> None:
        """Keep a task alive, and log when it fails."""

    def window_show_document(self, params: lsp.ShowDocumentParams, /) -> object:
        """Have the client show a place."""

    async def window_show_message_request_async(
        self, params: lsp.ShowMessageRequestParams, /
    ) -> lsp.MessageActionItem | None:
        """Ask the user to choose."""

    def workspace_code_lens_refresh(self, params: None, /) -> object:
        """Have the client ask for code lenses again."""

    def workspace_inlay_hint_refresh(self, params: None, /) -> object:
        """Have the client ask for inlay hints again."""
