"""A long session with one server: changes of evidence and requests, its memory, and its slowest answer.

A project is made and recorded. Then tests change in the recording, as re-runs change them, and after each change a
request of an editor is sent and its answer awaited. Memory is what the kernel counts for the server's process, in the
second tenth of the session, when all has been used once, and in the last.

    python benchmarks/soak.py --changes 100000 --requests 100000
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rank_speed import make_project
from server_latency import Client, Log

from suspectra.evidence.recording import RecordingSource
from suspectra.recording.compaction import compact

GROWTH_TARGET = 0.05


def memory(pid: int) -> int:
    """Kilobytes in use."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def requests(folder: Path, chance: random.Random):
    """Endless requests of the kinds that editors send, at random places; (method, params)."""
    files = [path.as_uri() for path in sorted(folder.glob("*/*.py"))]
    while True:
        uri, line = chance.choice(files), chance.randrange(200)
        here = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 4}}
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 300, "character": 0}}
        yield chance.choice(
            [
                ("textDocument/hover", here),
                ("textDocument/codeLens", {"textDocument": {"uri": uri}}),
                ("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": span}),
                (
                    "textDocument/codeAction",
                    {"textDocument": {"uri": uri}, "range": span, "context": {"diagnostics": []}},
                ),
                ("workspace/symbol", {"query": ""}),
                ("suspectra/suspects", {"limit": 50}),
                ("workspace/executeCommand", {"command": "suspectra.nextSuspect", "arguments": []}),
            ]
        )


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


def soak(folder: Path, changes: int, asked: int) -> dict:
    client = Client([sys.executable, "-m", "suspectra_server"])
    client.initialize(folder)
    client.ranked()
    chance, logs = random.Random(11), folder / ".suspectra" / "recording"
    log, wanted = Log(logs), requests(folder, chance)
    steps = max(changes, asked)
    seconds, samples, started = [], [], time.perf_counter()
    for step in range(steps):
        if step * changes // steps != (step + 1) * changes // steps:
            log.change(chance)
        if step * asked // steps != (step + 1) * asked // steps:
            method, params = next(wanted)
            sent = time.perf_counter()
            client.send(method, params, step + 10)
            answered = client.until(
                lambda message, wanted=step + 10: message.get("id") == wanted and "method" not in message
            )
            seconds.append(answered[0] - sent)
        if step % 100 == 99:
            edits(client, folder, step)
            samples.append(memory(client.process.pid))
        if step % 500 == 499:  # a run has ended: it tidies up what it has replaced
            compact(str(logs))
            log = Log(logs)
        if step % 10_000 == 9_999:
            print(
                f"  {step + 1:,} steps, {samples[-1] / 1024:.0f} MB, {time.perf_counter() - started:.0f} s", flush=True
            )
    same = settled(client, folder)
    client.end()
    tenth = max(1, len(samples) // 10)
    early, late = statistics.median(samples[tenth : 2 * tenth] or samples), statistics.median(samples[-tenth:])
    return {
        "changes": changes,
        "requests": len(seconds),
        "minutes": round((time.perf_counter() - started) / 60, 1),
        "early_mb": round(early / 1024, 1),
        "late_mb": round(late / 1024, 1),
        "growth": round(late / early - 1, 4),
        "median_ms": round(1000 * statistics.median(seconds), 1),
        "slowest_ms": round(1000 * max(seconds), 1),
        "same_as_fresh": same,
    }


def settled(client: Client, folder: Path) -> bool:
    """Whether the server ends up with what a fresh reading of the recording gives."""
    expected = sum(test.verdict.value == "failed" for test in RecordingSource(folder).read().tests)
    for number in itertools.count(10**9):
        client.send("suspectra/suspects", {"limit": 1}, number)
        found: dict = {}

        def answer(message: dict, number: int = number, found: dict = found) -> bool:
            found.update(message)
            return message.get("id") == number

        client.until(answer)
        if found["result"].get("failed") == expected:
            return True
        if number > 10**9 + 100:
            return False
        time.sleep(0.2)
    raise AssertionError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--changes", type=int, default=2_000)
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--modules", type=int, default=10, help="of 226 executable lines each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "project"
        make_project(folder, options.modules, options.tests)
        command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
        subprocess.run(command, cwd=folder, capture_output=True, check=False)
        figures = soak(folder, options.changes, options.requests)
    reached = figures["growth"] < GROWTH_TARGET and figures["same_as_fresh"]
    print(f"{figures['changes']:,} changes and {figures['requests']:,} requests in {figures['minutes']} minutes")
    print(f"memory {figures['early_mb']} MB → {figures['late_mb']} MB: {figures['growth']:+.1%} (aim: below 5 %)")
    print(f"slowest answer {figures['slowest_ms']} ms, median {figures['median_ms']} ms")
    print(
        "the last ranking is "
        + ("that of a fresh reading" if figures["same_as_fresh"] else "NOT that of a fresh reading")
    )
    print("aim " + ("reached" if reached else "MISSED"))
    print(json.dumps({"benchmark": "soak", **figures, "reached": reached}))


if __name__ == "__main__":
    main()
