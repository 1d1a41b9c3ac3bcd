"""The editor's end of a server, and a recording that changes as a later run of a test changes it."""

from __future__ import annotations

import json
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from suspectra_recorder.log.frames import Frame, FrameKind, frame, frames, split_json, with_json

TIMEOUT_S = 120
CAPABILITIES = {
    "textDocument": {"publishDiagnostics": {"relatedInformation": True}},
    "experimental": {"suspectra": {"status": True}},
}
BARE = """\
import numpy, scipy.sparse
from pygls.lsp.server import LanguageServer
LanguageServer("bare", "1").start_io()
"""

Message = dict[str, Any]
"""A message of the protocol, decoded."""


class Client:
    """The editor's end: it stamps what comes with the time it came."""

    def __init__(self, command: list[str]):
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.inbox: queue.Queue[tuple[float, Message]] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, method: str, params: object, msg_id: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": msg_id} if msg_id else {})
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def initialize(self, root: Path, settings: Mapping[str, object] | None = None) -> float:
        """Say hello; seconds from the start of the process to the answer."""
        params: dict[str, object] = {"processId": None, "rootUri": root.as_uri(), "capabilities": CAPABILITIES}
        params["initializationOptions"] = settings
        self.send("initialize", params, 1)
        answered = self.until(lambda message: message.get("id") == 1)[0]
        self.send("initialized", {})
        return answered - self.started

    def until(self, wanted: Callable[[Message], bool]) -> tuple[float, int, float]:
        """When a message came, how many diagnostics before it, and when the last of them."""
        published, last = 0, 0.0
        while True:
            stamp, message = self.inbox.get(timeout=TIMEOUT_S)
            if message.get("method") == "textDocument/publishDiagnostics":
                published, last = published + 1, stamp
            if wanted(message):
                return stamp, published, last

    def ranked(self) -> tuple[int, float]:
        """Wait for a ranking: how many files were published, and when the last was."""
        _, published, last = self.until(lambda message: (message.get("params") or {}).get("state") == "ready")
        return published, last

    def drain(self) -> None:
        """Forget what has come so far."""
        while not self.inbox.empty():
            self.inbox.get()

    def end(self) -> None:
        self.send("shutdown", None, 2)
        self.until(lambda message: message.get("id") == 2)
        self.send("exit", None)
        self.process.wait(TIMEOUT_S)

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            elif not line.strip():
                message = json.loads(stream.read(length))
                self.inbox.put((time.perf_counter(), message))


class Log:
    """The recording, to be added to as a later run of a test does."""

    def __init__(self, folder: Path):
        (self.path,) = sorted(folder.iterdir())
        self.tests: list[Frame] = [f for f in frames(self.path.read_bytes()) if f.kind == FrameKind.TEST]

    def change(self, chance: random.Random) -> float:
        """Record another outcome and other lines for one test; when that was written."""
        head, _ = split_json(chance.choice(self.tests).payload)
        _, rows = split_json(chance.choice(self.tests).payload)
        head |= {"verdict": chance.choice(["passed", "failed"]), "time": time.time_ns()}
        written = frame(FrameKind.TEST, with_json(head, bytes(rows)))
        with open(self.path, "ab", buffering=0) as file:
            file.write(written)
        return time.perf_counter()


def start(folder: Path, settings: Mapping[str, object] | None = None) -> tuple[Client, float]:
    """A server and the seconds to its first diagnostics."""
    client = Client([sys.executable, "-m", "suspectra_server"])
    client.initialize(folder, settings)
    published, last = client.ranked()
    assert published, "no diagnostics"
    return client, last - client.started
