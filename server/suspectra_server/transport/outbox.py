"""Messages to the client, in a queue until it reads them.

A client that stops reading must neither block the loop nor make the server use more and more memory. So messages wait
in this queue, those that a newer one replaces are dropped, and the connection is closed when too much is waiting. A
newer message goes to the end of the queue, so that none is sent out of order.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable

from lsprotocol import types as lsp

from suspectra_server.protocol import STATUS
from suspectra_server.timing import FLUSH_TIMEOUT_S

log = logging.getLogger(__name__)

MAX_WAITING = 64 * 2**20  # bytes that wait while a message is being sent


class Outbox:
    """Sends messages in their order. Belongs to the loop."""

    def __init__(
        self, send: Callable[[bytes], Awaitable[None]], abort: Callable[[], None], gone: Callable[[], None]
    ) -> None:
        self._send = send
        self._abort = abort
        self._gone = gone
        self._waiting: OrderedDict[Hashable, bytes] = OrderedDict()
        self._bytes = 0  # of what waits
        self._some = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._open = True
        self._task = asyncio.ensure_future(self._run())

    def put(self, message: bytes, subject: Hashable | None = None) -> None:
        """Send a message after those that wait; a waiting one with the same subject is dropped."""
        if not self._open:
            return
        self._bytes -= len(self._waiting.pop(subject, b""))
        if self._bytes > MAX_WAITING:
            log.error("closing the connection: the client does not read, and %d MB wait for it", self._bytes // 2**20)
            self._close()
            self._abort()
            self._gone()
            return
        self._waiting[object() if subject is None else subject] = message
        self._bytes += len(message)
        self._empty.clear()
        self._some.set()

    async def flush(self) -> None:
        """Wait a moment until the last messages are sent; none may follow."""
        try:
            await asyncio.wait_for(self._empty.wait(), FLUSH_TIMEOUT_S)
        except asyncio.TimeoutError:
            self._abort()
        self._close()

    def _close(self) -> None:
        self._open = False
        self._task.cancel()
        self._waiting.clear()
        self._empty.set()

    async def _run(self) -> None:
        try:
            while await self._some.wait():
                while self._waiting:
                    _, message = self._waiting.popitem(last=False)
                    self._bytes -= len(message)
                    await self._send(message)
                self._some.clear()
                self._empty.set()
        except (OSError, ValueError) as error:
            log.info("the connection is broken: %s", error)
            self._close()
            self._gone()


def subject_of(message: object) -> Hashable | None:
    """What a message is about, if a newer one about the same replaces it; None for all others."""
    method: str | None = getattr(message, "method", None)
    params: object = getattr(message, "params", None)
    if isinstance(params, lsp.PublishDiagnosticsParams):
        return method, params.uri
    if isinstance(params, lsp.ProgressParams) and isinstance(params.value, lsp.WorkDoneProgressReport):
        return method, params.token
    return STATUS if method == STATUS else None
