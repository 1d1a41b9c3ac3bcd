"""The connection: messages in both directions, over standard streams; the module `sockets` has the others.

Only `exit` and the end of the connection end the server. A message that can't be understood is answered with an error
if it is a request, and logged otherwise. The server always reads, so that requests can be cancelled and its own
questions answered; it refuses requests while too many are being handled. A thread writes standard output, since a pipe
blocks.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import queue
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from functools import cache
from typing import Any, BinaryIO

from cattrs import Converter
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    LanguageServerProtocol,
    default_converter,
    lsp_method,
)
from pygls.workspace import Workspace

from suspectra_server.transport.outbox import Outbox, subject_of

log = logging.getLogger(__name__)

MAX_MESSAGE = 256 * 2**20  # bytes
_LENGTH = re.compile(rb"content-length\s*:\s*(\d{1,18})\s*", re.IGNORECASE)
_MAX_HEADER = 8192

PARSE_ERROR, INVALID_REQUEST, NOT_INITIALIZED, REQUEST_FAILED = -32700, -32600, -32002, -32803
MAX_PENDING = 1000  # requests of the client at the same time
_READ_AHEAD = 16  # messages that are read and not handled yet


@cache
def make_converter() -> Converter:
    """The LSP converter, which leaves parameters and results of methods that are not LSP's as plain JSON.

    It compiles a function for each type at its first use, which takes longer than a short session. So all servers share
    one converter.
    """
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]  # pygls declares no types there
    converter.register_structure_hook(
        JsonRPCRequestMessage, lambda obj, cls: cls(obj["id"], obj["method"], obj["jsonrpc"], obj.get("params"))
    )
    converter.register_structure_hook(
        JsonRPCNotification, lambda obj, cls: cls(obj["method"], obj["jsonrpc"], obj.get("params"))
    )
    converter.register_structure_hook(
        JsonRPCResponseMessage, lambda obj, cls: cls(obj["id"], obj["jsonrpc"], obj.get("result"))
    )
    return converter


def _plain(message: object) -> object:
    """Convert a part of a message to types that JSON has."""
    if isinstance(message, Enum):
        return message.value
    return make_converter().unstructure(message) if hasattr(message, "__attrs_attrs__") else vars(message)


def _is_notification(method: str) -> bool:
    types = lsp.METHOD_TO_TYPES.get(method)
    return types is not None and types[1] is None


class Protocol(LanguageServerProtocol):
    """The protocol of pygls, with an answer to every request."""

    _began = False
    _ending = False
    _outbox: Outbox | None = None
    _framed = False

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.finished: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._asked: set[str | int] = set()  # ids of our own requests that the client has not answered

    def send_to(self, outbox: Outbox, *, framed: bool = True) -> None:
        """Send messages through an outbox from now on, each with a header unless the transport frames them."""
        self._outbox = outbox
        self._framed = framed

    async def flush(self) -> None:
        """Send the last answers, and close the connection."""
        if self._outbox is not None:
            await self._outbox.flush()

    def _is_full(self) -> bool:
        """Whether requests are refused. Cancellations, `shutdown`, `exit` and answers are still handled."""
        return len(self._request_futures) - len(self._asked) >= MAX_PENDING

    def receive(self, body: bytes) -> None:
        """Handle one message, valid or not."""
        try:
            raw = json.loads(body)
        except (ValueError, RecursionError) as error:
            self._refuse(None, PARSE_ERROR, f"not JSON: {error}")
            return
        if not isinstance(raw, dict) or raw.get("jsonrpc") != self.VERSION:
            self._refuse(None, INVALID_REQUEST, "not a JSON-RPC 2.0 message")
            return
        method, msg_id = raw.get("method"), raw.get("id")
        if "id" in raw and (isinstance(msg_id, bool) or not isinstance(msg_id, (str, int))):
            self._refuse(None, INVALID_REQUEST, "an id must be a string or an integer")
            return
        if "method" in raw:
            if not isinstance(method, str):
                self._refuse(msg_id, INVALID_REQUEST, "a method must be a string")
                return
            if msg_id is not None and _is_notification(method):  # pygls would leave it without an answer
                self._refuse(msg_id, INVALID_REQUEST, f"{method} is a notification, and takes no id")
                return
            if self._out_of_order(method, msg_id):
                return
        elif not ("result" in raw) ^ ("error" in raw) or msg_id not in self._asked:
            self._forget_request(msg_id)
            log.warning("ignoring an answer to a request that was not sent: %r", msg_id)
            return
        try:
            message = self.structure_message(raw)
        except JsonRpcException as error:
            if "method" in raw and msg_id is not None:
                self._refuse(msg_id, error.code, f"{method}: the parameters are not as LSP has them")
            else:
                log.warning("ignoring a malformed message: %s", method or msg_id)
            return
        if "error" in raw:
            self._forget_request(msg_id)
        if "method" not in raw:
            self._asked.discard(msg_id)
        elif msg_id is not None and method != lsp.SHUTDOWN and self._is_full():
            self._refuse(msg_id, REQUEST_FAILED, f"{MAX_PENDING} messages are being handled already")
            return
        self._ending = self._ending or method == lsp.SHUTDOWN
        self.handle_message(message)

    def _out_of_order(self, method: str, msg_id: str | int | None) -> bool:
        """Refuse messages before `initialize`, a second `initialize`, and messages after `shutdown`."""
        if method == lsp.EXIT:
            return False
        if method == lsp.INITIALIZE:
            refusal = (INVALID_REQUEST, "initialize was sent before") if self._began else None
            self._began = True
        elif not self._began:
            refusal = NOT_INITIALIZED, "the first request must be initialize"
        else:
            refusal = (INVALID_REQUEST, "the server has been shut down") if self._ending else None
        if refusal is None:
            return False
        if msg_id is None:
            log.warning("ignoring %s: %s", method, refusal[1])
        else:
            self._refuse(msg_id, *refusal)
        return True

    def _refuse(self, msg_id: str | int | None, code: int, message: str) -> None:
        log.warning("refused a message: %s", message)
        error = lsp.ResponseError(code=code, message=message)
        self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "error": error})

    def _forget_request(self, msg_id: str | int | None) -> None:
        """Forget the result type of a request of ours."""
        if msg_id is not None:
            self._result_types.pop(msg_id, None)

    def _execute_handler(
        self,
        msg_id: Any,
        handler: Callable[..., Any],
        callback: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Run a handler, and forget its future afterwards: pygls keeps those of notifications for ever."""

        def done(future: Any) -> None:
            self._request_futures.pop(msg_id, None)
            # of a handler of several parts, pygls would ask the cancelled part for its result
            with suppress(asyncio.CancelledError):
                callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)

    def _send_response(self, msg_id: Any, result: Any = None, error: lsp.ResponseError | None = None) -> None:
        if error is not None and isinstance(error.data, dict) and "traceback" in error.data:
            log.debug("%s", "".join(error.data.pop("traceback")))
            error.data = error.data or None
        super()._send_response(msg_id, result, error)

    def keep_documents(self, documents: type[Workspace], root: str | None, folders: list[lsp.WorkspaceFolder]) -> None:
        """Use our own class for open documents."""
        encoding = self.workspace.position_encoding
        self._workspace = documents(root, lsp.TextDocumentSyncKind.Incremental, folders, encoding)

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *args: object) -> None:  # type: ignore[override]  # the one of pygls runs others before it ends
        """End the server: status 0 after `shutdown`, 1 without."""
        self.hung_up()

    def cancel_pending(self) -> None:
        """Cancel all requests; at shutdown pygls would iterate over futures while they are being removed."""
        for msg_id, future in list(self._request_futures.items()):
            if msg_id != self.msg_id:
                future.cancel()

    def hung_up(self) -> None:
        """The client sent `exit`, or is gone."""
        if not self.finished.done():
            self.finished.set_result(0 if self._ending else 1)

    def _send_data(self, data: object) -> None:
        if self._outbox is None or self.finished.done():
            return
        body = json.dumps(data, default=_plain).encode(self.CHARSET)
        if self._framed:
            kind = f"{self.CONTENT_TYPE}; charset={self.CHARSET}"
            body = f"Content-Length: {len(body)}\r\nContent-Type: {kind}\r\n\r\n".encode() + body
        if hasattr(data, "method") and hasattr(data, "id"):
            self._asked.add(data.id)
        self._outbox.put(body, subject_of(data))


class _Output:
    """A stream that is written by a thread, as it blocks while its reader does not read."""

    def __init__(self, sink: BinaryIO):
        self._loop = asyncio.get_running_loop()
        self._sink = sink
        self._queue: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="suspectra-output", daemon=True).start()

    async def send(self, message: bytes) -> None:
        """Write a message; returns when it is written.

        Raises OSError, ValueError when the other end is closed.
        """
        sent = self._loop.create_future()
        self._queue.put((message, sent))
        await sent

    def end(self) -> None:
        """End the thread once its last write returns."""
        self._queue.put(None)

    def _write(self) -> None:
        while (job := self._queue.get()) is not None:
            message, sent = job
            error: Exception | None = None
            try:
                rest = memoryview(message)
                while rest:
                    if (written := self._sink.write(rest)) is None:
                        raise BlockingIOError("standard output does not block")
                    rest = rest[written:]
            except (OSError, ValueError) as caught:
                error = caught
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(_settle, sent, error)


def _settle(future: asyncio.Future[None], error: Exception | None) -> None:
    if future.done():  # cancelled
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


def guarded_streams() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for the protocol alone; from now on `print` writes to standard error."""
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return open(source, "rb"), open(sink, "wb", buffering=0)


async def serve_stdio(protocol: Protocol, source: BinaryIO, sink: BinaryIO) -> int:
    """Serve the client at the other end of two streams."""
    loop = asyncio.get_running_loop()
    output = _Output(sink)
    protocol.send_to(Outbox(output.send, output.end, protocol.hung_up))
    may_read = threading.Semaphore(_READ_AHEAD)  # else a client that sends faster than the loop handles fills memory

    def receive(body: bytes) -> None:
        may_read.release()
        protocol.receive(body)

    def post(act: Callable[..., None], *args: object) -> None:
        with suppress(RuntimeError):  # the loop has ended, and with it the server
            loop.call_soon_threadsafe(act, *args)

    def read() -> None:
        try:
            while (body := read_message(source)) is not None:
                may_read.acquire()
                post(receive, body)
        except (OSError, ValueError) as error:
            log.error("the connection is broken: %s", error)
        post(protocol.hung_up)

    threading.Thread(target=read, name="suspectra-input", daemon=True).start()
    status = await protocol.finished
    await protocol.flush()
    output.end()
    return status


def read_message(source: BinaryIO) -> bytes | None:
    """The body of the next message, None at the end of the stream.

    Raises ValueError when the message is longer than any that is accepted.
    """
    length = None
    while line := source.readline(_MAX_HEADER):
        if (announced := content_length(line)) is not None:
            length = announced
        elif not line.strip() and length is not None:
            body = source.read(length)
            return body if len(body) == length else None
    return None


def content_length(line: bytes) -> int | None:
    """The length in a header; None for another header.

    Raises ValueError when the message is longer than any that is accepted.
    """
    match = _LENGTH.fullmatch(line.rstrip(b"\r\n"))
    if match is None:
        return None
    if int(match[1]) > MAX_MESSAGE:
        raise ValueError(f"a message of {int(match[1])} bytes")
    return int(match[1])
