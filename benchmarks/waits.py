"""What a user waits for on an ordinary day, each beside something that can't be avoided, measured in the same run.

sqlparse from PyPI gets a fault and is recorded. A client starts the server over standard input and output, as an editor
does, and asks for what an editor asks for. Each round starts a new server. Printed are medians in seconds, and the
ratio to the time that stands beside.

    python benchmarks/waits.py --rounds 5
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from live import Project, mutations
from server_latency import BARE, TIMEOUT_S, Client, Message

AIMS = {"hover": 0.1, "Explain": 0.3, "window open → suspects": 2.0, "HTML report": 1.0}
"""In seconds; the others have none."""

BESIDE = {
    "window open → suspects": "a server that does nothing",
    "HTML report": "an interpreter that imports numpy and scipy.sparse",
    "Run Tests → first suspects": "pytest alone",
    "save → first outcome": "pytest alone",
    "save → marks of all outcomes": "pytest alone",
}


class Editor(Client):
    """A client that answers what the server asks, and shows all kinds of progress."""

    def __init__(self) -> None:
        super().__init__([sys.executable, "-m", "suspectra_server"])
        self._sent = 10

    def wait(self, wanted: Callable[[Message], bool]) -> tuple[float, Message]:
        """The first such message, and when it came."""
        while True:
            stamp, message = self.inbox.get(timeout=TIMEOUT_S)
            if "method" in message and "id" in message:
                self.answer(message["id"])
            if wanted(message):
                return stamp, message

    def answer(self, message_id: int) -> None:
        """Answer a request with nothing."""
        body = json.dumps({"jsonrpc": "2.0", "id": message_id, "result": None}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def ask(self, method: str, params: object) -> tuple[float, Any]:
        """A request: seconds until its answer, and the answer."""
        self._sent += 1
        began, number = time.perf_counter(), self._sent
        self.send(method, params, number)
        stamp, message = self.wait(lambda one: one.get("id") == number and "method" not in one)
        return stamp - began, message.get("result")

    def state(self, *states: str) -> float:
        """When the server was in one of some states."""
        return self.wait(lambda one: (one.get("params") or {}).get("state") in states)[0]


def seconds(command: list[str | Path], folder: Path) -> float:
    """How long a command takes."""
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return time.perf_counter() - began


def faulty(folder: Path) -> tuple[Project, Path, str]:
    """A project of which some tests fail, the file with the fault, and its text without."""
    project = Project(folder, "sqlparse")
    chance = random.Random(2)
    every = list(mutations(project.warm, project.package))
    while True:
        mutation = chance.choice(every)
        before = project.apply(mutation)
        project.record(project.warm)
        rank = [sys.executable, "-m", "suspectra", "rank", "--format", "json", "--top", "1"]
        ranked = subprocess.run(rank, cwd=project.warm, capture_output=True, check=False)
        if ranked.returncode == 0 and 0 < json.loads(ranked.stdout)["failed"] < 20:
            return project, project.warm / mutation.path, before.decode()
        (project.warm / mutation.path).write_bytes(before)


def one_round(project: Project, faulty_file: Path, right: str) -> dict[str, float]:
    """Everything once."""
    root, found = project.warm, dict[str, float]()
    editor = Editor()
    command = [str(project.python), "-m", "pytest", *project.options]
    editor.initialize(root, {"testCommand": command, "run": "onSave"})
    found["window open → suspects"] = editor.state("ready", "stale") - editor.started
    suspects = editor.ask("suspectra/suspects", {})[1]["suspects"]
    first = suspects[0]
    document = {"uri": first["uri"]}
    place = {"textDocument": document, "position": first["range"]["start"]}
    found["hover"] = editor.ask("textDocument/hover", place)[0]
    line = first["range"]["start"]["line"]
    found["Explain"] = editor.ask("suspectra/explanation", {**document, "line": line})[0]
    next_suspect = {"command": "suspectra.server.nextSuspect", "arguments": []}
    found["Next Suspect → its place"] = editor.ask("workspace/executeCommand", next_suspect)[0]

    began = time.perf_counter()
    editor.send("workspace/executeCommand", {"command": "suspectra.server.runTests", "arguments": []}, 2)
    editor.state("runningTests")
    found["Run Tests → first suspects"] = editor.state("ready") - began

    text = faulty_file.read_text(encoding="utf-8")
    opened = {"uri": faulty_file.as_uri(), "languageId": "python", "version": 1, "text": text}
    editor.send("textDocument/didOpen", {"textDocument": opened})
    time.sleep(5)  # a process collects the tests meanwhile, as while somebody types
    changed = {"textDocument": {**opened, "version": 2}, "contentChanges": [{"text": right}]}
    editor.send("textDocument/didChange", changed)
    faulty_file.write_text(right, encoding="utf-8")
    editor.drain()
    began = time.perf_counter()
    editor.send("textDocument/didSave", {"textDocument": {"uri": faulty_file.as_uri()}})
    found["save → first outcome"] = editor.wait(_has_outcome)[0] - began
    found["save → marks of all outcomes"] = editor.state("ready", "noFailingTests") - began
    editor.end()
    faulty_file.write_text(text, encoding="utf-8")

    report = [sys.executable, "-m", "suspectra", "report", "--html", str(root.parent / "report.html")]
    found["HTML report"] = seconds([*report], root)
    bare = Client([sys.executable, "-c", BARE])
    found["a server that does nothing"] = bare.initialize(root)
    bare.end()
    imports = [sys.executable, "-c", "import numpy, scipy.sparse"]
    found["an interpreter that imports numpy and scipy.sparse"] = seconds([*imports], root)
    found["pytest alone"] = seconds([*command], root)
    return found


def _has_outcome(message: Message) -> bool:
    progress = (message.get("params") or {}).get("progress")
    return bool(progress and progress["done"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rounds = defaultdict[str, list[float]](list)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as scratch:
        project, file, right = faulty(Path(scratch))
        for _ in range(options.rounds):
            for name, value in one_round(project, file, right).items():
                rounds[name].append(value)
    figures = {name: statistics.median(values) for name, values in rounds.items()}
    for name, value in figures.items():
        aim = f"  aim {AIMS[name]:.1f}: {'reached' if value <= AIMS[name] else 'MISSED'}" if name in AIMS else ""
        beside = f"  {value / figures[BESIDE[name]]:.2f} × {BESIDE[name]}" if name in BESIDE else ""
        print(f"{name:52}{value:7.3f} s{aim}{beside}")
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
