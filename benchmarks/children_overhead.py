"""What recording the processes that tests start costs: suites that start none, and a process.

A generated suite runs in turn with children recorded and with ``--suspectra-no-children``; CPU time of the process,
medians over the rounds. Then processes of three kinds are started from a recorded and from an unrecorded test.

    python benchmarks/children_overhead.py --tests 2000 --rounds 5
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from recording_overhead import cpu_seconds

SUITE = """\
import pytest
import work

@pytest.mark.parametrize("number", range({tests}))
def test_work(number):
    assert work.work(number) >= 0
"""
WORK = """\
def work(number):
    total = 0
    for i in range(number % 50):
        if i % 3:
            total += i
    return total

if __name__ == "__main__":
    work(20)
"""
STARTS = """\
import json, os, resource, subprocess, sys

COMMANDS = {commands}

def used():
    times = resource.getrusage(resource.RUSAGE_CHILDREN)
    return times.ru_utime + times.ru_stime

def test_starts():
    found = {{}}
    for _ in range({rounds}):
        for name, arguments in COMMANDS.items():
            before = used()
            subprocess.run([sys.executable, *arguments], check=True)
            found.setdefault(name, []).append(used() - before)
    with open("times.json", "w") as out:
        json.dump(found, out)
"""
COMMANDS = {
    "nothing of the workspace": ["-c", "import json"],
    "module": ["-c", "import work; work.work(20)"],
    "script": ["work.py"],
}


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "suspectra", *options]


def environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COVERAGE", "SUSPECTRA", "PYTHONPATH"))}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def suite(folder: Path, tests: int, rounds: int) -> dict[str, float]:
    """CPU seconds of a suite that starts no process."""
    (folder / "test_work.py").write_text(SUITE.format(tests=tests))
    times: dict[str, list[float]] = defaultdict(list)
    for number in range(rounds + 1):  # the first round fills the caches
        for name, options in (("children", []), ("no children", ["--suspectra-no-children"])):
            seconds = cpu_seconds(command(*options, "test_work.py"), folder, environment(), folder / "log")
            if number:
                times[name].append(seconds)
    return {name: statistics.median(found) for name, found in times.items()}


def starts(folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """CPU seconds of one process of each kind, recorded and not."""
    (folder / "test_starts.py").write_text(STARTS.format(commands=COMMANDS, rounds=rounds))
    found: dict[str, dict[str, float]] = {name: {} for name in COMMANDS}
    for way, options in (("recorded", []), ("plain", ["--suspectra-no-children"])):
        subprocess.run(
            command(*options, "test_starts.py"), cwd=folder, env=environment(), check=True, capture_output=True
        )
        for name, times in json.loads((folder / "times.json").read_text()).items():
            found[name][way] = statistics.median(times)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work.py").write_text(WORK)
        suites = suite(folder, options.tests, options.rounds)
        processes = starts(folder, 4 * options.rounds)
    ratio = suites["children"] / suites["no children"]
    print(
        f"{options.tests} tests that start no process: {suites['no children']:.2f} s, with children {ratio:.3f} times"
    )
    for kind, times in processes.items():
        print(f"{kind:26}{1000 * times['plain']:7.1f} ms plain{1000 * times['recorded']:8.1f} ms recorded")
    figures = {
        "benchmark": "children_overhead",
        "tests": options.tests,
        "suite_ratio": round(ratio, 4),
        "process_milliseconds": {
            kind: {way: round(1000 * seconds, 1) for way, seconds in times.items()} for kind, times in processes.items()
        },
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
