"""Serving one client over a socket.

A connection is pending until it has given the token. Pending connections are limited in number, time and bytes. When
one of them is closed, the server goes on; it ends only when the admitted client disconnects.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import socket
import stat
from asyncio.trsock import TransportSocket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TypeAlias

from suspectra.base.errors import Problem, UsageError
from suspectra.base.operating_system import UNIX_SOCKETS, require
from suspectra_server.timing import CLOSE_TIMEOUT_S, TOKEN_TIMEOUT_S
from suspectra_server.transport.access import (
    admits,
    remove_own,
    require_private,
    token_of_request,
    warning_of,
    why_foreign,
)
from suspectra_server.transport.outbox import Outbox
from suspectra_server.transport.wire import INVALID_REQUEST, MAX_MESSAGE, Protocol, content_length

log = logging.getLogger(__name__)

MAX_PENDING = 16  # connections without the token; one more closes the oldest of them
MAX_FIRST_MESSAGE = 2**20  # bytes
_MAX_HEADERS = 10
_MAX_LINE = 2**16  # bytes
_HEADER = re.compile(rb"content-(length|type)\s*:[^\r\n]*\r?\n", re.IGNORECASE)
_HTTP = re.compile(rb"[A-Z]+ \S* HTTP/\d")

PrintStatus = Callable[[str], None]
Address: TypeAlias = tuple[str, int] | tuple[str, int, int, int]


class ConnectionRefusal(Exception):
    """A connection that is not admitted; its text says why."""


class _Authenticator:
    """Admits one client, and limits the connections that have not given the token."""

    way = "initializationOptions.token"
    """Where a client gives the token."""

    def __init__(self, protocol: Protocol, token: str | None):
        self.protocol = protocol
        self.token = token
        self._admitted = False
        self._pending: dict[asyncio.BaseTransport, None] = {}
        self._logged: set[str] = set()

    def add_pending(self, transport: asyncio.BaseTransport) -> None:
        """A connection was made."""
        self._pending[transport] = None
        if len(self._pending) > MAX_PENDING:
            first = next(iter(self._pending))
            self._abort(first)

    def abort_pending(self) -> None:
        """Close all pending connections, as the server ends."""
        for transport in list(self._pending):
            self._abort(transport)

    def _abort(self, transport: asyncio.BaseTransport) -> None:
        self.remove_pending(transport)
        transport.abort()  # type: ignore[attr-defined]

    def remove_pending(self, transport: asyncio.BaseTransport | None) -> None:
        """A connection was closed, or admitted."""
        self._pending.pop(transport, None)  # type: ignore[arg-type]

    def check_token(self, given: object) -> None:
        """Compare what a client gave with the token; Unix sockets need none."""
        if self.token is not None and not admits(self.token, given):
            raise ConnectionRefusal(f"the token that the server gave at its start is missing or wrong ({self.way})")

    def admit(self) -> None:
        """Serve a client that has given the token."""
        if self._admitted:
            raise ConnectionRefusal("another client is being served")
        self._admitted = True

    def refuse(self, reason: object) -> None:
        """Log each reason once: otherwise anybody could fill the disk."""
        if str(reason) not in self._logged and len(self._logged) < 100:
            self._logged.add(str(reason))
            log.warning("refused a connection: %s", reason)


async def serve_tcp(protocol: Protocol, host: str, port: int, token: str, print_status: PrintStatus) -> int:
    """Serve the first client on a TCP port that gives the token in its `initialize`, and end with it."""
    authenticator = _Authenticator(protocol, token)
    listener = await asyncio.start_server(_streams(authenticator), host, port, limit=_MAX_LINE)
    _warn(listener.sockets, print_status)
    return await _serve(protocol, listener, print_status, ", ".join(map(_spell, _addresses(listener.sockets))))


async def serve_unix(protocol: Protocol, path: Path, print_status: PrintStatus) -> int:
    """Serve the first client on a Unix socket that only its owner can connect to, and end with it.

    Raises UsageError when the socket can't be made there.
    """
    with _unix_socket(path) as own:
        authenticator = _Authenticator(protocol, None)
        listener = await asyncio.start_unix_server(_streams(authenticator), sock=own, limit=_MAX_LINE)
        return await _serve(protocol, listener, print_status, str(path))


async def _serve(protocol: Protocol, listener: asyncio.AbstractServer, print_status: PrintStatus, where: str) -> int:
    print_status(f"listening on {where}")
    try:
        return await protocol.finished
    finally:
        listener.close()
        await protocol.flush()


def _streams(authenticator: _Authenticator) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """The handler of connections whose messages have LSP's headers."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        authenticator.add_pending(writer.transport)
        try:
            body = await asyncio.wait_for(_first_message(reader), TOKEN_TIMEOUT_S)
            _authenticate(authenticator, body, writer)
        except (ConnectionRefusal, OSError, ValueError, EOFError, asyncio.TimeoutError) as error:
            authenticator.refuse(
                error if isinstance(error, ConnectionRefusal) else f"no message ({type(error).__name__})"
            )
            writer.close()
            return
        finally:
            authenticator.remove_pending(writer.transport)
        protocol = authenticator.protocol

        writer.transport.set_write_buffer_limits(0)  # so that `drain` waits until everything is sent

        async def send(message: bytes) -> None:
            writer.write(message)
            await writer.drain()

        protocol.send_to(Outbox(send, writer.transport.abort, protocol.hung_up))
        protocol.receive(body)
        try:
            length = None
            while line := await reader.readline():
                if (announced := content_length(line)) is not None:
                    length = announced
                elif not line.strip() and length is not None:
                    protocol.receive(await reader.readexactly(length))
                    length = None
        except (OSError, ValueError, EOFError) as error:
            log.error("the connection is broken: %s", error)
        protocol.hung_up()

    return serve


async def _first_message(reader: asyncio.StreamReader) -> bytes:
    """The body of a connection's first message; only LSP's own headers may come before it."""
    length = None
    for _ in range(_MAX_HEADERS):
        line = await reader.readline()
        if not line:
            raise ConnectionRefusal("it closed without a message")
        if not line.strip() and length is not None:
            return await reader.readexactly(length)
        if _HTTP.match(line):
            raise ConnectionRefusal("it speaks HTTP")
        if not _HEADER.fullmatch(line):
            raise ConnectionRefusal("it does not speak LSP")
        if (announced := content_length(line)) is not None:
            length = announced
            if length > MAX_FIRST_MESSAGE:
                raise ConnectionRefusal(f"its first message has more than {MAX_FIRST_MESSAGE} bytes")
    raise ConnectionRefusal("it does not speak LSP")


def _authenticate(authenticator: _Authenticator, body: bytes, writer: asyncio.StreamWriter) -> None:
    """Admit a client whose first message is `initialize` with the token; any other gets an error with the reason."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise ConnectionRefusal("its first message is not JSON") from None
    if not isinstance(message, dict) or message.get("method") != "initialize":
        raise ConnectionRefusal("its first message is not initialize")
    try:
        authenticator.check_token(_option(message, "token"))
        authenticator.admit()
    except ConnectionRefusal as refusal:
        error = {"code": INVALID_REQUEST, "message": str(refusal)}
        answer = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": error}).encode()
        writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer))
        raise


def _option(message: Mapping[str, object], name: str) -> object:
    params = message.get("params")
    options = params.get("initializationOptions") if isinstance(params, dict) else None
    return options.get(name) if isinstance(options, dict) else None


@contextmanager
def _unix_socket(path: Path) -> Iterator[socket.socket]:
    """A socket that only its owner can connect to; one without a listener is replaced."""
    require(UNIX_SOCKETS, "--unix", "use --tcp or --ws")
    require_private(path.absolute().parent)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as own:
        if os.path.lexists(path):
            _remove_stale(path)
        mask = os.umask(0o177)
        try:
            own.bind(str(path))
        finally:
            os.umask(mask)
        made = os.lstat(path)
        try:
            yield own
        finally:
            remove_own(path, made)


def _remove_stale(path: Path) -> None:
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise UsageError(Problem(str(path), "", "something that is not a socket is there", "name another path"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        try:
            other.connect(str(path))
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise UsageError(Problem(str(path), "", "another server listens there", "end it, or name another path"))


async def serve_websocket(
    protocol: Protocol, host: str, port: int, token: str, print_status: PrintStatus, *, secret: bool
) -> int:
    """Serve the first client on a WebSocket whose request has the token, and end with it."""
    from websockets.asyncio.server import ServerConnection, serve
    from websockets.exceptions import ConnectionClosed
    from websockets.http11 import Request, Response

    authenticator = _Authenticator(protocol, token)
    authenticator.way = "?token= in the address, or the header Authorization: Bearer"

    class Connection(ServerConnection):
        """A connection that is pending until its handshake is over."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            authenticator.add_pending(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            authenticator.remove_pending(self.transport)
            super().connection_lost(exc)

    def check(connection: ServerConnection, request: Request) -> Response | None:
        headers = request.headers
        own = (host, *(address[0] for address in [connection.local_address] if address))
        try:
            if foreign := why_foreign(headers.get_all("Origin"), headers.get_all("Host"), own):
                raise ConnectionRefusal(foreign)
            authenticator.check_token(token_of_request(request.path, headers.get_all("Authorization")))
        except ConnectionRefusal as refusal:
            authenticator.refuse(refusal)
            return connection.respond(HTTPStatus.FORBIDDEN, f"Refused: {refusal}\n")
        return None

    async def talk(connection: ServerConnection) -> None:
        authenticator.remove_pending(connection.transport)
        try:
            authenticator.admit()
        except ConnectionRefusal as refusal:
            await connection.close(1013, str(refusal))
            return

        async def send(message: bytes) -> None:
            try:
                await connection.send(message.decode(), text=True)
            except ConnectionClosed as error:
                raise ConnectionError(str(error)) from None

        protocol.send_to(Outbox(send, connection.transport.abort, protocol.hung_up), framed=False)
        try:
            async for data in connection:
                protocol.receive(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
        except ConnectionClosed as error:
            log.info("the connection is broken: %s", error)
        protocol.hung_up()

    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # it logs tracebacks for whatever anybody sends
    async with serve(
        talk,
        host,
        port,
        process_request=check,
        create_connection=Connection,
        open_timeout=TOKEN_TIMEOUT_S,
        close_timeout=CLOSE_TIMEOUT_S,
        max_size=MAX_MESSAGE,
        write_limit=0,  # so that `send` waits until everything is sent
    ) as listener:
        _warn(listener.sockets, print_status)
        query = "" if secret else f"/?token={token}"
        print_status(
            "listening on " + ", ".join(f"ws://{_spell(address)}{query}" for address in _addresses(listener.sockets))
        )
        status = await protocol.finished
        await protocol.flush()
        authenticator.abort_pending()
        return status


def _addresses(sockets: Iterable[socket.socket | TransportSocket]) -> list[Address]:
    return [own.getsockname() for own in sockets]


def _warn(sockets: Iterable[socket.socket | TransportSocket], print_status: PrintStatus) -> None:
    if warning := warning_of([address[0] for address in _addresses(sockets)]):
        print_status(warning)


def _spell(address: Address) -> str:
    """An address as in a URL."""
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
