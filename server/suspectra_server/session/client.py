"""The client, as far as the session needs it."""

from __future__ import annotations

from typing import Protocol

from lsprotocol import types as lsp
from pygls.progress import Progress

from suspectra_server.state.documents import Units


class Client(Protocol):
    """What the session may send to the client and know of it. The server implements this."""

    @property
    def units(self) -> Units:
        """The units in which the client counts columns."""

    @property
    def supports_status(self) -> bool:
        """Whether the client shows `suspectra/status`, so that it needs no messages about the state."""

    @property
    def follows_commands(self) -> bool:
        """Whether the client follows `command:` links in hovers."""

    @property
    def work_done_progress(self) -> Progress:
        """The client's progress bars."""

    def can(self, capability: str) -> object:
        """A client capability by its path; None if the client does not have it."""

    def answer(self, text: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        """Show a message to a user who gave a command."""

    def notify(self, text: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        """The same, unless the client shows by itself what a command did."""

    def send_status(self) -> None:
        """Send `suspectra/status`, if the client supports it."""

    def window_log_message(self, params: lsp.LogMessageParams, /) -> None:
        """Send a line for the client's log."""

    async def window_show_message_request_async(
        self, params: lsp.ShowMessageRequestParams, /
    ) -> lsp.MessageActionItem | None:
        """Ask the user; None if the question was closed."""

    def window_show_message(self, params: lsp.ShowMessageParams, /) -> None:
        """Show a message to the user."""

    def text_document_publish_diagnostics(self, params: lsp.PublishDiagnosticsParams, /) -> None:
        """Replace the diagnostics of a document."""
