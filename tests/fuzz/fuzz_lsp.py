"""The language server as a function of the messages it gets, one on each line.

Nothing a client sends may raise out of the protocol, end the server, or be answered with anything but JSON-RPC; a
request with a usable id gets exactly one answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import suppress

from suspectra_server.server import make_server

NAME = "lsp"
TIMEOUT_S = 10  # seconds; some answers wait for settings that nobody sends
INITIALIZE = {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": {"trusted": False}}
STATUS = {"experimental": {"suspectra": {"status": True}}}


def hello(root: str | None) -> list[dict]:
    """What a client begins with."""
    params = INITIALIZE | ({"rootUri": root, "capabilities": STATUS} if root else {})
    return [
        {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
    ]


class _Writer:
    def __init__(self) -> None:
        self.messages: list[dict] = []

    def put(self, data: bytes, subject: object = None) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}".encode() in head
        self.messages.append(json.loads(body))

    def close(self) -> None:
        pass


def run(data: bytes, *, greeted: bool = True, root: str | None = None) -> list[dict]:
    """Give a server of its own the messages, with a root once its suspects are there; what it sent."""
    logging.disable()
    try:
        return asyncio.run(_talk(data.split(b"\n"), greeted, root))
    finally:
        logging.disable(logging.NOTSET)


async def _talk(bodies: list[bytes], greeted: bool, root: str | None) -> list[dict]:
    broken: list[dict] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: broken.append(context))
    server, writer = make_server(), _Writer()
    server.protocol.send_to(writer)
    try:
        for message in hello(root) if greeted else ():
            server.protocol.receive(json.dumps(message).encode())
        if root:
            await _until(lambda: any(m.get("params", {}).get("state") in ("ready", "stale") for m in writer.messages))
        for body in bodies:
            server.protocol.receive(body)
        await _answered(writer, _wanted(bodies))
    finally:
        server.stop()
        if not server.protocol.finished.done():
            server.protocol.finished.set_result(0)
    assert not broken, broken
    for message in writer.messages:
        assert message["jsonrpc"] == "2.0"
        assert "Traceback" not in json.dumps(message.get("error", ""))
    if not any(b"exit" in body for body in bodies):
        sent = [message["id"] for message in writer.messages if "method" not in message and "id" in message]
        for msg_id in _wanted(bodies):
            assert msg_id in sent, f"no answer to {msg_id!r}"
    return writer.messages


def _wanted(bodies: list[bytes]) -> list:
    """The ids of requests that can be answered; what is wrong beyond that is answered without an id."""
    found = []
    for body in bodies:
        with suppress(ValueError, RecursionError):
            raw = json.loads(body)
            if (
                isinstance(raw, dict)
                and raw.get("jsonrpc") == "2.0"
                and isinstance(raw.get("method"), str)
                and isinstance(raw.get("id"), str | int)
                and not isinstance(raw["id"], bool)
            ):
                found.append(raw["id"])
    return found


async def _answered(writer: _Writer, wanted: list) -> None:
    """Let the handlers run until all have answered, or nothing more can be expected."""

    def answered() -> bool:
        sent = [message.get("id") for message in writer.messages if "method" not in message]
        return all(msg_id in sent for msg_id in wanted)

    await _until(answered)


async def _until(condition: Callable[[], bool]) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + TIMEOUT_S
    while loop.time() < end and not condition():
        await asyncio.sleep(0.001)
