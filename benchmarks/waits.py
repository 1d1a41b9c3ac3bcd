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
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from editor_client import BARE, TIMEOUT_S, Client, Message
from live import Project

from suspectra_server.protocol import ANSWER_SO_FAR

AIMS = {
    "hover": 0.1,
    "Explain": 0.3,
    "window open → suspects": 2.0,
    "HTML report": 1.0,
    "save of a fault → first mark": 0.3,
    "first save in a window → first outcome": 1.5,
    "Why? → its first line": 1.0,
}
"""In seconds; the others have none."""

WHY_S = 30.0
"""How long the answer to *Why?* may take, in seconds."""

TYPING_S = 3.0
"""How long somebody types before saving, in seconds."""

BESIDE = {
    "window open → suspects": "a server that does nothing",
    "HTML report": "an interpreter that imports numpy and scipy.sparse",
    "Run Tests → first suspects": "pytest alone",
    "save of a repair → no marks": "pytest alone",
    "save of a fault → all marks": "pytest alone",
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
                self.answer(message["id"], message.get("params"))
            if wanted(message):
                return stamp, message

    def answer(self, message_id: int, params: Any) -> None:
        """Answer a question with the first of its actions, and any other request with nothing."""
        actions = params.get("actions") if isinstance(params, dict) else None
        result = actions[0] if actions else None
        body = json.dumps({"jsonrpc": "2.0", "id": message_id, "result": result}).encode()
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

    def save(self, file: Path, version: int, text: str) -> float:
        """Type for a while, and save; when that was."""
        changed = {"textDocument": {"uri": file.as_uri(), "version": version}, "contentChanges": [{"text": text}]}
        self.send("textDocument/didChange", changed)
        time.sleep(TYPING_S)  # with the first change a process begins to collect the tests
        file.write_text(text, encoding="utf-8")
        self.drain()
        began = time.perf_counter()
        self.send("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
        return began


def seconds(command: list[str | Path], folder: Path) -> float:
    """How long a command takes."""
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return time.perf_counter() - began


def faulty(folder: Path) -> tuple[Project, Path, str]:
    """A project of which some tests fail, the file with the fault, and its text without."""
    project = Project(folder, "sqlparse")
    file = project.warm / "sqlparse" / "engine" / "statement_splitter.py"
    right = file.read_text(encoding="utf-8")
    wrong = right.replace("self._is_create and self._begin_depth > 0", "self._is_create and self._begin_depth > 1")
    assert wrong != right
    file.write_text(wrong, encoding="utf-8")
    project.record(project.warm)
    project.recording = folder / "failing"
    shutil.copytree(project.warm / ".suspectra", project.recording)
    return project, file, right


def one_round(project: Project, faulty_file: Path, right: str) -> dict[str, float]:
    """Everything once."""
    project.reset()
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

    wrong = faulty_file.read_text(encoding="utf-8")
    opened = {"uri": faulty_file.as_uri(), "languageId": "python", "version": 1, "text": wrong}
    editor.send("textDocument/didOpen", {"textDocument": opened})
    began = editor.save(faulty_file, 2, right)
    found["save of a repair → first outcome"] = editor.wait(_has_outcome)[0] - began
    found["save of a repair → no marks"] = editor.state("noFailingTests") - began
    began = editor.save(faulty_file, 3, wrong)
    found["save of a fault → first mark"] = editor.wait(partial(_marks, faulty_file.as_uri()))[0] - began
    found["save of a fault → all marks"] = editor.state("ready") - began
    editor.end()
    found |= in_a_new_window(project, faulty_file, right)

    report = [sys.executable, "-m", "suspectra", "report", "--html", str(root.parent / "report.html")]
    found["HTML report"] = seconds([*report], root)
    bare = Client([sys.executable, "-c", BARE])
    found["a server that does nothing"] = bare.initialize(root)
    bare.end()
    imports = [sys.executable, "-c", "import numpy, scipy.sparse"]
    found["an interpreter that imports numpy and scipy.sparse"] = seconds([*imports], root)
    found["pytest alone"] = seconds([*command], root)
    return found


def in_a_new_window(project: Project, faulty_file: Path, right: str) -> dict[str, float]:
    """What one waits for whose window has just opened, and who asks why and then saves a repair."""
    editor = Editor()
    command = [str(project.python), "-m", "pytest", *project.options]
    editor.initialize(project.warm, {"testCommand": command, "run": "onSave", "whySeconds": WHY_S})
    editor.state("ready", "stale")
    wrong = faulty_file.read_text(encoding="utf-8")
    opened = {"uri": faulty_file.as_uri(), "languageId": "python", "version": 1, "text": wrong}
    editor.send("textDocument/didOpen", {"textDocument": opened})
    began = editor.save(faulty_file, 2, right)
    found = {"first save in a window → first outcome": editor.wait(_has_outcome)[0] - began}
    editor.state("noFailingTests")
    editor.save(faulty_file, 3, wrong)
    editor.state("ready")
    began, so_far = time.perf_counter(), {"soFar": True}
    why = {"command": "suspectra.server.why", "arguments": [None, None, None, so_far]}
    editor.send("workspace/executeCommand", why, 3)
    stamp, message = editor.wait(lambda one: one.get("method") == ANSWER_SO_FAR or _is_answer(one))
    found["Why? → its first line"] = stamp - began
    found["Why? → the whole answer"] = (stamp if _is_answer(message) else editor.wait(_is_answer)[0]) - began
    editor.end()
    return found


def _is_answer(message: Message) -> bool:
    return message.get("id") == 3 and "method" not in message


def _has_outcome(message: Message) -> bool:
    progress = (message.get("params") or {}).get("progress")
    return bool(progress and progress["done"])


def _marks(uri: str, message: Message) -> bool:
    published = message.get("params") or {}
    return (
        message.get("method") == "textDocument/publishDiagnostics"
        and published["uri"] == uri
        and bool(published["diagnostics"])
    )


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
