"""How a run of the tests gets on: what the recorder says of it, and the client's progress bar."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types as lsp

from suspectra_server.session.client import Client
from suspectra_server.text import many

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Counts:
    """Tests of a run.

    Parameters
    ----------
    done, failed : int
        How many ended, and how many of them failed.
    total : int
        How many there are; 0 while that is not known.
    """

    done: int = 0
    failed: int = 0
    total: int = 0

    @property
    def percentage(self) -> int | None:
        """How much is done; None while that is not known."""
        return 100 * self.done // self.total if self.total else None

    def __str__(self) -> str:
        if not self.total:
            return f"{many(self.done, 'test')}, {self.failed} failed" if self.done else "collecting tests"
        return f"{self.done} of {many(self.total, 'test')}, {self.failed} failed"


class Events:
    """Reads what the recorder adds to the file that :mod:`suspectra_recorder.progress` writes.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path):
        self._path = path
        self._read = 0
        self._done = self._failed = self._total = 0

    def counts(self) -> Counts:
        """What is known by now; called by one thread at a time."""
        with self._path.open("rb") as stream:
            stream.seek(self._read)
            data = stream.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            self._take(line)
        return Counts(self._done, self._failed, max(self._total, self._done) if self._total else 0)

    def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
        except ValueError:
            return
        if not isinstance(event, dict):
            return
        tests, failed = event.get("tests"), event.get("failed")
        if isinstance(tests, int):
            self._total += tests  # a command may start several runs
        if isinstance(failed, bool):
            self._done += 1
            self._failed += failed


class ProgressBar:
    """The client's progress bar, or nothing where it has none."""

    def __init__(self, client: Client, token: str | None):
        self._client = client
        self._token = token
        self._last: tuple[str | None, int | None] = (None, None)

    @classmethod
    async def begin(cls, client: Client, cancel: Callable[[], None]) -> ProgressBar:
        """Show it, with a button that calls `cancel`."""
        if not client.can("window.work_done_progress"):
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
            token, lsp.WorkDoneProgressBegin("Suspectra: running tests", cancellable=True, percentage=0)
        )
        client.work_done_progress.tokens[token].add_done_callback(ended)
        return cls(client, token)

    def report(self, message: str, percentage: int | None) -> None:
        """Show how far it is, if that is news."""
        if self._token and (message, percentage) != self._last:
            self._last = (message, percentage)
            report = lsp.WorkDoneProgressReport(cancellable=True, message=message, percentage=percentage)
            self._client.work_done_progress.report(self._token, report)

    def end(self, message: str) -> None:
        """Take it away."""
        if self._token:
            self._client.work_done_progress.end(self._token, lsp.WorkDoneProgressEnd(message=message))
            self._client.work_done_progress.tokens.pop(self._token, None)
