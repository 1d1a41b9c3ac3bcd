"""What the server works while tests run in the editor, beside what the tests take.

A project is made whose tests take a few milliseconds each, some of them failing. A client starts the server over
standard input and output, as an editor does, and asks it to run the tests. From the request to the ranking of the
whole run the processor time of the server's own process is counted, and that of the processes it starts. Beside it
stands the processor time of the same command without a server.

    python benchmarks/run_in_editor.py --tests 2000 --rounds 3
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from editor_client import Client
from generated_project import SUSPECTRA, make_project

AIM = 0.10  # of the processor time of the tests
TICKS = os.sysconf("SC_CLK_TCK")
COMMAND = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def worked(client: Client) -> tuple[float, float]:
    """Seconds of processor time of the server, and of the processes it started that have ended."""
    fields = Path(f"/proc/{client.process.pid}/stat").read_text().rpartition(")")[2].split()
    own, system, children, children_system = (int(field) / TICKS for field in fields[11:15])
    return own + system, children + children_system


def in_editor(folder: Path) -> dict[str, float]:
    """One run through the server."""
    shutil.rmtree(folder / ".suspectra", ignore_errors=True)
    client = Client([sys.executable, "-m", "suspectra_server"])
    command = [sys.executable, *COMMAND[1:]]
    client.initialize(folder, {"testCommand": command})
    client.until(lambda message: (message.get("params") or {}).get("state") == "noEvidence")
    time.sleep(2)  # what a start is followed by
    client.drain()
    before, began = worked(client), time.perf_counter()
    client.send("workspace/executeCommand", {"command": "suspectra.server.runTests", "arguments": []}, 10)
    rankings, running = 0, True
    while running or rankings == 0:
        _, message = client.inbox.get(timeout=300)
        state = (message.get("params") or {}).get("state")
        rankings += message.get("method") == "textDocument/publishDiagnostics"
        running = state in ("runningTests", "ranking") or (running and state is None)
    ended, then = time.perf_counter(), worked(client)
    time.sleep(3)  # what the end of a run is followed by
    after = worked(client)
    client.end()
    return {
        "server": then[0] - before[0],
        "server_afterwards": after[0] - then[0],
        "tests": after[1] - before[1],
        "seconds": ended - began,
        "files_published": rankings,
    }


def without(folder: Path) -> float:
    """Processor time of the same command without a server."""
    shutil.rmtree(folder / ".suspectra", ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [*SUSPECTRA, "record", "--", sys.executable, *COMMAND[1:]]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", type=int, default=2_000)
    parser.add_argument("--modules", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "project")
        make_project(folder, options.modules, options.tests)
        alone = statistics.median(without(folder) for _ in range(options.rounds))
        found = [in_editor(folder) for _ in range(options.rounds)]
    figures = {name: round(statistics.median(one[name] for one in found), 2) for name in found[0]}
    figures |= {"alone": round(alone, 2), "share": round(figures["server"] / figures["tests"], 3)}
    figures["reached"] = figures["share"] <= AIM
    print(f"{options.tests:,} tests in {figures['seconds']:.1f} s, medians of {options.rounds} runs, processor time:")
    print(f"  the tests {figures['tests']:.2f} s; without a server {figures['alone']:.2f} s")
    print(f"  the server {figures['server']:.2f} s, {figures['share']:.0%} of the tests' (aim: at most {AIM:.0%})")
    print(f"  afterwards, for the debugging model and later edits: {figures['server_afterwards']:.2f} s")
    print("aim " + ("reached" if figures["reached"] else "MISSED"))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
