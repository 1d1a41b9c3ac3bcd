"""A long session with one server: changes of evidence and requests, its memory, and its slowest answer.

A project is made and recorded. Then tests change in the recording, as re-runs change them, and after each change a
request of an editor is sent and its answer awaited; now and then a file is edited, a run ends and tidies up, and the
reader takes another technique. Memory is what the kernel counts for the server's process. A part of the server is
loaded when it is first asked for (the solvers of the debugging model are most of it), so each kind of request is
answered many times before the first figure is taken; the figures after each tenth tell growth from warm-up.

    python benchmarks/soak.py --changes 100000 --requests 100000
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from editor_client import Client, Log, Message
from generated_project import make_project, record
from large_recording import LINES

from suspectra.evidence.recording import RecordingSource
from suspectra_recorder.log.compaction import compact

GROWTH_TARGET = 0.05
WARM_UP = 2_000  # steps before the first figure
A_RUN = 500  # changes after which a run ends
SELDOM = 50  # one request in so many waits for a new debugging model
TECHNIQUES = ["ochiai", "dstar", "tarantula", "op2"]


def memory(pid: int) -> int:
    """Kilobytes in use."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def kinds(uri: str, line: int) -> list[tuple[str, Message]]:
    """A request of every kind that editors send often, at a place."""
    document = {"uri": uri}
    here = {"textDocument": document, "position": {"line": line, "character": 4}}
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 300, "character": 0}}
    commands: list[tuple[str, list[object]]] = [
        ("nextSuspect", []),
        ("previousSuspect", [{"uri": uri, "position": here["position"]}]),
        ("explain", [uri, line]),
        ("markExamined", [uri, line]),
        ("clearExamined", []),
        ("back", []),
    ]
    return [
        ("textDocument/hover", here),
        ("textDocument/codeLens", {"textDocument": document}),
        ("textDocument/inlayHint", {"textDocument": document, "range": span}),
        ("textDocument/codeAction", {"textDocument": document, "range": span, "context": {"diagnostics": []}}),
        ("workspace/symbol", {"query": ""}),
        ("suspectra/suspects", {"limit": 50}),
        ("suspectra/techniques", {}),
        ("suspectra/explanation", {"uri": uri, "line": line}),
        ("suspectra/testResults", {}),
        ("suspectra/coverage", {"uri": uri}),
        ("no/such/method", {}),
        *(
            ("workspace/executeCommand", {"command": f"suspectra.server.{name}", "arguments": arguments})
            for name, arguments in commands
        ),
    ]


def slow_kinds(uri: str, line: int, chance: random.Random) -> list[tuple[str, Message]]:
    """Requests that wait for the debugging model, or for another ranking."""
    jump = [{"uri": uri, "position": {"line": line, "character": 0}}, {"ask": False}]
    commands = [("jump", jump), ("selectTechnique", [chance.choice(TECHNIQUES)])]
    return [
        *(("workspace/executeCommand", {"command": f"suspectra.server.{n}", "arguments": a}) for n, a in commands),
    ]


def requests(folder: Path, chance: random.Random) -> Iterator[tuple[str, Message]]:
    """Endless requests at random places; (method, params)."""
    files = [path.as_uri() for path in sorted(folder.glob("*/*.py"))]
    for number in itertools.count():
        place = chance.choice(files), chance.randrange(200)
        yield chance.choice(kinds(*place) if number % SELDOM else slow_kinds(*place, chance))


def edits(client: Client, folder: Path, number: int) -> None:
    """Open a file, type into it, close it: now and then, as people do."""
    path = sorted(folder.glob("*/*.py"))[number % 3]
    name = {"uri": path.as_uri()}
    item = name | {"languageId": "python", "version": 1, "text": path.read_text()}
    client.send("textDocument/didOpen", {"textDocument": item})
    at = {"line": 0, "character": 0}
    change = {"range": {"start": at, "end": at}, "text": "# \n"}
    client.send("textDocument/didChange", {"textDocument": name | {"version": 2}, "contentChanges": [change]})
    client.send("textDocument/didClose", {"textDocument": name})


class Session:
    """One server, driven step by step."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.logs = folder / ".suspectra" / "recording"
        self.client = Client([sys.executable, "-m", "suspectra_server"])
        self.client.initialize(folder)
        self.client.ranked()
        self.chance = random.Random(11)
        self.log = Log(self.logs)
        self.wanted = requests(folder, self.chance)
        self.changes = 0
        self.rankings = 0
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self._number = 10

    def change(self) -> None:
        """One test's evidence changes; after enough of them a run has ended, which tidies up what it replaced."""
        self.log.change(self.chance)
        self.changes += 1
        if self.changes % A_RUN == 0:
            compact(str(self.logs), min_waste=0)
            self.log = Log(self.logs)

    def ask(self) -> None:
        """One request, and its answer."""
        method, params = next(self.wanted)
        self._number += 1
        sent = time.perf_counter()
        self.client.send(method, params, self._number)
        answered = self.client.until(self._is_answer)
        self.seconds[params.get("command", method)].append(answered[0] - sent)

    def _is_answer(self, message: Message) -> bool:
        self.rankings += (message.get("params") or {}).get("state") in ("ready", "noFailingTests")
        return message.get("id") == self._number and "method" not in message

    def part(self, changes: int, asked: int) -> float:
        """So many of both, evenly mixed; the median of the memory meanwhile, in kilobytes."""
        samples = []
        for step in range(steps := max(changes, asked)):
            if step * changes // steps != (step + 1) * changes // steps:
                self.change()
            if step * asked // steps != (step + 1) * asked // steps:
                self.ask()
            if step % 100 == 99:
                edits(self.client, self.folder, step)
                samples.append(memory(self.client.process.pid))
        return statistics.median(samples or [memory(self.client.process.pid)])


def soak(folder: Path, changes: int, asked: int) -> dict[str, Any]:
    session, started = Session(folder), time.perf_counter()
    fresh = memory(session.client.process.pid)
    session.part(WARM_UP, WARM_UP)
    time.sleep(3)  # a debugging model is made when evidence rests
    sizes = [session.part(WARM_UP // 4, WARM_UP // 4)]
    print(f"  started {fresh / 1024:.1f} MB, warm {sizes[0] / 1024:.1f} MB", flush=True)
    session.seconds.clear()
    session.changes = session.rankings = 0
    for tenth in range(1, 11):
        sizes.append(session.part(changes // 10, asked // 10))
        print(f"  {tenth * 10:3} %  {sizes[-1] / 1024:6.1f} MB  {time.perf_counter() - started:5.0f} s", flush=True)
    same = settled(session.client, folder)
    session.client.end()
    seconds = list(itertools.chain(*session.seconds.values())) or [0.0]
    slowest = max(session.seconds, key=lambda kind: max(session.seconds[kind]), default="")
    return {
        "changes": session.changes,
        "requests": sum(map(len, session.seconds.values())),
        "rankings": session.rankings,
        "minutes": round((time.perf_counter() - started) / 60, 1),
        "mb": [round(size / 1024, 1) for size in sizes],
        "growth": round(sizes[-1] / sizes[0] - 1, 4),
        "median_ms": round(1000 * statistics.median(seconds), 1),
        "slowest_ms": round(1000 * max(seconds), 1),
        "slowest": slowest,
        "same_as_fresh": same,
    }


def settled(client: Client, folder: Path) -> bool:
    """Whether the server ends up with what a fresh reading of the recording gives."""
    expected = sum(test.verdict.value == "failed" for test in RecordingSource(folder).read().tests)
    for number in range(10**9, 10**9 + 100):
        client.send("suspectra/suspects", {"limit": 1}, number)
        found: Message = {}

        def answer(message: Message, number: int = number, found: Message = found) -> bool:
            found.update(message)
            return message.get("id") == number

        client.until(answer)
        if found["result"].get("failed") == expected:
            return True
        time.sleep(0.2)
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--changes", type=int, default=2_000)
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--modules", type=int, default=10, help=f"of {LINES} executable lines each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "project"
        make_project(folder, options.modules, options.tests)
        record(folder)
        figures = soak(folder, options.changes, options.requests)
    reached = figures["growth"] < GROWTH_TARGET and figures["same_as_fresh"]
    print(
        f"{figures['changes']:,} changes and {figures['requests']:,} requests in {figures['minutes']} minutes,"
        f" {figures['rankings']:,} rankings"
    )
    print(f"memory {figures['mb'][0]} MB → {figures['mb'][-1]} MB: {figures['growth']:+.1%} (aim: below 5 %)")
    print(f"slowest answer {figures['slowest_ms']} ms ({figures['slowest']}), median {figures['median_ms']} ms")
    print(
        "the last ranking is "
        + ("that of a fresh reading" if figures["same_as_fresh"] else "NOT that of a fresh reading")
    )
    print("aim " + ("reached" if reached else "MISSED"))
    print(json.dumps({"benchmark": "soak", **figures, "reached": reached}))


if __name__ == "__main__":
    main()
