"""How soon an editor sees suspects: after the server starts, and after one test's evidence changes.

A project of 50,000 executable lines with 2,000 tests is made and recorded by `suspectra record`. A client starts the
server over standard input and output, as an editor does, and waits for the first diagnostics. Then tests of the
recording change one by one, each getting another outcome and the lines of another test, written as the recorder
writes them; the clock runs from the end of the write to the last diagnostics of the new ranking.

Beside it stands what no server of this make can go below: a Python that imports the LSP library and numpy, and answers
`initialize`.

    python benchmarks/server_latency.py --rounds 7 --changes 40
"""

from __future__ import annotations

import argparse
import json
import queue
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from large_recording import LINES
from rank_speed import make_project, record

from suspectra_recorder.log.frames import Frame, FrameKind, frame, frames, split_json, with_json

START_TARGET, CHANGE_TARGET = 1.5, 0.050  # seconds
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


def bare(folder: Path) -> float:
    """Seconds until a server that does nothing answers."""
    client = Client([sys.executable, "-c", BARE])
    seconds = client.initialize(folder)
    client.end()
    return seconds


def changes(client: Client, log: Log, count: int, pause: float) -> list[float]:
    """Seconds from each change to its last diagnostics."""
    chance, found = random.Random(7), list[float]()
    while len(found) < count:
        time.sleep(pause)  # a pause between two saves, as people make
        client.drain()
        written = log.change(chance)
        published, last = client.ranked()
        if published:  # a change that changes no mark publishes nothing
            found.append(last - written)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--changes", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.5)
    parser.add_argument("--tests", type=int, default=2_000)
    parser.add_argument("--modules", type=int, default=250, help=f"of {LINES} executable lines each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "project")
        make_project(folder, options.modules, options.tests)
        print(f"recording {options.tests} tests of {options.modules} modules …", flush=True)
        record(folder)
        starts, bares = [], []
        for _ in range(options.rounds):
            client, seconds = start(folder)
            client.end()
            starts.append(seconds)
            bares.append(bare(folder))
        client, _ = start(folder)
        found = changes(client, Log(folder / ".suspectra" / "recording"), options.changes, options.pause)
        client.end()
    started, change = statistics.median(starts), statistics.median(found)
    slowest = sorted(found)[int(0.95 * len(found))]
    figures = {
        "tests": options.tests,
        "lines": options.modules * LINES,
        "start_seconds": round(started, 3),
        "bare_server_seconds": round(statistics.median(bares), 3),
        "start_ratio": round(started / statistics.median(bares), 2),
        "change_ms": round(change * 1000, 1),
        "change_p95_ms": round(slowest * 1000, 1),
        "change_best_ms": round(min(found) * 1000, 1),
        "reached": started < START_TARGET and change < CHANGE_TARGET,
    }
    print(f"{figures['lines']:,} executable lines, {figures['tests']:,} tests")
    print(f"server start to first diagnostics: {started:.2f} s (aim: below {START_TARGET} s)")
    print(f"  a server that does nothing answers after {figures['bare_server_seconds']:.2f} s")
    print(f"one test's evidence changed to its diagnostics: {change * 1000:.0f} ms (aim: below 50 ms)")
    print(f"  95th percentile {slowest * 1000:.0f} ms, best {min(found) * 1000:.0f} ms")
    print("aim " + ("reached" if figures["reached"] else "MISSED"))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
