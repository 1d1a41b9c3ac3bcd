"""The editor at the other end, as far as the session speaks with it."""

from __future__ import annotations

from typing import Any, Protocol

from lsprotocol import types as lsp
from pygls.progress import Progress

from suspectra_server.state.documents import Units


class Client(Protocol):
    """What a part of the session may ask of the client. The server is one; nothing else is known of it here."""

    @property
    def units(self) -> Units:
        """The units of columns the client wants."""

    @property
    def takes_status(self) -> bool:
        """Whether the client shows `suspectra/status`, and so has a place of its own for what is going on."""

    @property
    def work_done_progress(self) -> Progress:
        """The client's progress bars."""

    def can(self, capability: str) -> Any:
        """A client capability by its path, None where the client does not have it."""

    def answer(self, text: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        """Say something to a user who asked for it."""

    def send_status(self) -> None:
        """Send `suspectra/status` where the client takes it."""

    def window_log_message(self, params: lsp.LogMessageParams, /) -> None:
        """Send a line for the client's log."""

    def window_show_message(self, params: lsp.ShowMessageParams, /) -> None:
        """Show a message to the user."""

    def text_document_publish_diagnostics(self, params: lsp.PublishDiagnosticsParams, /) -> None:
        """Replace the diagnostics of a document."""
