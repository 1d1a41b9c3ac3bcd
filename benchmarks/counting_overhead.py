"""What counting costs beyond recording.

The tests of two projects run in turn plainly, with ``suspectra record``, and with ``suspectra record --counts``. CPU
time of the whole process tree is compared, medians over the rounds.

    python benchmarks/counting_overhead.py --rounds 3
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from recording_overhead import PROJECTS, Project, cpu_seconds, prepare

from suspectra.evidence.recording import RecordingSource

LAUNCHER = "import sys; from suspectra.recording.launch import run; sys.exit(run(sys.argv[1:], '.', counts={}))"


def commands(project: Project, python: Path) -> dict[str, list[str]]:
    plain = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", project.tests]
    ways = {"recorded": LAUNCHER.format(False), "counted": LAUNCHER.format(True)}
    return {"plain": plain} | {name: [sys.executable, "-c", code, *plain] for name, code in ways.items()}


def measure(project: Project, cache: Path, rounds: int) -> dict[str, object]:
    folder, python = prepare(project, cache)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COVERAGE"))}
    recording = folder / ".suspectra" / "recording"
    times: dict[str, list[float]] = defaultdict(list)
    sizes: dict[str, int] = {}
    for number in range(rounds + 1):  # the first round fills the caches of byte code
        for name, command in commands(project, python).items():
            shutil.rmtree(recording, ignore_errors=True)
            seconds = cpu_seconds(command, folder, environment, folder.parent / f"{name}.log")
            if number:
                times[name].append(seconds)
            sizes[name] = sum(file.stat().st_size for file in recording.glob("*.log"))
    evidence = RecordingSource(folder, edges=True).read()
    assert evidence.edges is not None
    assert evidence.edges.counts is not None
    median = {name: statistics.median(seconds) for name, seconds in times.items()}
    return {
        "tests": len(evidence.tests),
        "branches_taken": int(sum(counts.sum() for counts in evidence.edges.counts)),
        "plain_seconds": round(median["plain"], 3),
        "recorded_to_plain": round(median["recorded"] / median["plain"], 3),
        "counted_to_plain": round(median["counted"] / median["plain"], 3),
        "counted_to_recorded": round(median["counted"] / median["recorded"], 3),
        "bytes_recorded": sizes["recorded"],
        "bytes_counted": sizes["counted"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--project", action="append", choices=[p.name for p in PROJECTS])
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "benchmarks")
    options = parser.parse_args()
    chosen = options.project or ["itsdangerous", "click"]
    results = {}
    columns = f"{'plain s':>9}{'recorded':>10}{'counted':>9}{'counted to recorded':>21}"
    print(f"{'project':14}{'tests':>7}{columns}")
    for project in PROJECTS:
        if project.name in chosen:
            result = results[project.name] = measure(project, options.cache, options.rounds)
            print(
                f"{project.name:14}{result['tests']:7}{result['plain_seconds']:9.2f}"
                f"{result['recorded_to_plain']:10.2f}{result['counted_to_plain']:9.2f}"
                f"{result['counted_to_recorded']:21.2f}"
            )
    print(json.dumps({"benchmark": "counting_overhead", "projects": results}))


if __name__ == "__main__":
    main()
