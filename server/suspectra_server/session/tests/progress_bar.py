"""The client's progress bar for runs of tests."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from concurrent.futures import Future

from lsprotocol import types as lsp

from suspectra_server.session.client import Client

log = logging.getLogger(__name__)


class ProgressBar:
    """The client's progress bar; does nothing if the client has none."""

    def __init__(self, client: Client, token: str | None):
        self._client = client
        self._token = token
        self._last: tuple[str | None, int | None] = (None, None)

    @classmethod
    async def begin(cls, client: Client, cancel: Callable[[], None], title: str | None) -> ProgressBar:
        """Show it under a title, with a button that calls `cancel`; none without a title."""
        if title is None or not client.can("window.work_done_progress"):
            return cls(client, None)
        token = str(uuid.uuid4())
        try:
            await client.work_done_progress.create_async(token)
        except Exception as error:  # a client may decline
            log.info("no progress bar: %s", error)
            return cls(client, None)

        def ended(future: Future[object]) -> None:
            if future.cancelled():
                cancel()

        client.work_done_progress.begin(
            token, lsp.WorkDoneProgressBegin(f"Suspectra: {title}", cancellable=True, percentage=0)
        )
        client.work_done_progress.tokens[token].add_done_callback(ended)
        return cls(client, token)

    def report(self, message: str, percentage: int | None) -> None:
        """Show the progress, if it has changed."""
        if self._token and (message, percentage) != self._last:
            self._last = (message, percentage)
            report = lsp.WorkDoneProgressReport(cancellable=True, message=message, percentage=percentage)
            self._client.work_done_progress.report(self._token, report)

    def end(self, message: str) -> None:
        """Remove it."""
        if self._token:
            self._client.work_done_progress.end(self._token, lsp.WorkDoneProgressEnd(message=message))
            self._client.work_done_progress.tokens.pop(self._token, None)
