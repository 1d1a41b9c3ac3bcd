"""How soon a change is marked by two versions of the server, which take turns on the same machine.

The machine differs from hour to hour by more than most changes of the code, so figures of two runs can't be compared.
Here both versions serve a copy of the same large recording, and after a rest one test of each fails by the fault of the
others, or passes again. The clock runs from the end of the write to the last diagnostics.

    git worktree add ../before REVISION
    python benchmarks/two_versions.py ../before --rounds 30
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from editor_client import Client
from large_recording import LINES, Project

PAUSE_S = 1.25  # before each write: each server rests twice as long
HERE = Path(__file__).resolve().parent.parent


class Version:
    """One version of the server, with a recording of its own."""

    def __init__(self, tree: Path, folder: Path, tests: int, lines: int):
        self.project = Project(folder, tests, max(2, lines // LINES), seed=1)
        self.project.make()
        self.project.end_run()
        self.project.clock = time.time_ns()
        path = os.pathsep.join(str(tree / part) for part in ("analysis", "server"))
        self.client = Client(["/usr/bin/env", f"PYTHONPATH={path}", sys.executable, "-m", "suspectra_server"])
        self.client.initialize(folder, {"technique": "ochiai"})
        self.client.ranked()
        self.found: list[float | None] = []  # milliseconds; None where no mark changed

    def change(self, number: int) -> None:
        """Run one test again, with the other outcome."""
        time.sleep(PAUSE_S)
        self.client.drain()
        self.project.by_the_fault(50 + number // 2, "failed" if number % 2 == 0 else "passed")
        written = time.perf_counter()
        published, last = self.client.ranked()
        self.found.append(1000 * (last - written) if published else None)


def main() -> None:
    """Print how long both versions took, and the ratio of each pair of rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="a checkout of the other version")
    parser.add_argument("--tests", type=int, default=10_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        trees = (given.before.resolve(), Path(one)), (HERE, Path(other))
        before, now = versions = [Version(tree, folder, given.tests, given.lines) for tree, folder in trees]
        for number in range(given.rounds + 1):  # the first one is not counted
            for version in versions if number % 2 else reversed(versions):
                version.change(number)
        for version in versions:
            version.client.end()
    pairs = [(b, n) for b, n in zip(before.found[1:], now.found[1:], strict=True) if b is not None and n is not None]
    figures: dict[str, float] = {"pairs": len(pairs)}
    for name, times in zip(("before", "now"), zip(*pairs, strict=True), strict=True):
        figures |= {f"{name}_ms": statistics.median(times), f"{name}_best_ms": min(times)}
        print(f"{name:8} median {statistics.median(times):5.1f} ms   best {min(times):5.1f} ms")
    figures["ratio"] = statistics.median(n / b for b, n in pairs)
    print(f"{len(pairs)} pairs of rounds, median ratio {figures['ratio']:.2f}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
