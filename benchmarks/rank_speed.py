"""How long `suspectra rank` takes on a large recording that did not change, start-up included, and its memory.

A project of 50,000 executable lines with 2,000 tests is made, recorded by `suspectra record`, and ranked in fresh
processes. Beside it stands the plain way over coverage.py's own interface, on a smaller project of the same make
because of the time it takes, and `suspectra rank` on that project's same `.coverage`.

    python benchmarks/rank_speed.py --rounds 7
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from large_recording import FUNCTIONS, LINES, source

TARGET_SECONDS, TARGET_MB = 1.0, 300
SUSPECTRA = [sys.executable, "-m", "suspectra"]

TESTS = """\
import importlib
import random

import pytest

modules = [importlib.import_module(f"shop.part_{{number}}") for number in range({modules})]


@pytest.mark.parametrize("case", range({tests}))
def test_case(case):
    # neighbours are used together, as in any program; everybody uses the first modules
    chance = random.Random(case)
    used = modules[:3] + chance.choices(modules, k={used})
    for module in used:
        for number in range({functions}):
            if chance.random() < 0.7:
                module.FUNCTIONS[number](case + number)
    assert case % 50 != 7
"""

NAIVE = """\
import math, sys, xml.etree.ElementTree as tree
from collections import Counter
from coverage import CoverageData
data = CoverageData(basename=sys.argv[1])
data.read()
failed = {t.get("name") for t in tree.parse(sys.argv[2]).iter("testcase") if t.find("failure") is not None}
ef, ep, names = Counter(), Counter(), set()
for context in data.measured_contexts():
    if not context:
        continue
    name = context.split("::")[-1].rpartition("|")[0]
    data.set_query_context(context)
    if context.endswith("|run"):
        names.add(name)
        for file in data.measured_files():
            for line in data.lines(file) or ():
                (ef if name in failed else ep)[file, line] += 1
bad = len(names & failed)
rank = sorted(((n / math.sqrt(bad * (n + ep[k])), k) for k, n in ef.items()), reverse=True)
for score, (file, line) in rank[:20]:
    print(score, file, line)
"""


def make_project(folder: Path, modules: int, tests: int) -> None:
    """Write the project."""
    package = folder / "shop"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for number in range(modules):
        (package / f"part_{number}.py").write_bytes(source(number))
    used = max(3, modules // 20)
    text = TESTS.format(modules=modules, tests=tests, functions=FUNCTIONS, used=used)
    (folder / "test_shop.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")


def record(folder: Path) -> None:
    """Record a project's tests, some of which may fail."""
    command = [*SUSPECTRA, "record", "--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)


class Run(NamedTuple):
    """A fresh process: seconds by the clock and of the processor, peak memory in MB, exit status."""

    wall: float
    cpu: float
    peak: float
    status: int


def run(command: list[str], folder: Path) -> Run:
    with open(os.devnull, "wb") as nowhere:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=nowhere, stderr=nowhere)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    peak = used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return Run(seconds, used.ru_utime + used.ru_stime, peak, process.returncode)


def median_run(command: list[str], folder: Path, rounds: int) -> Run:
    """Medians of times, the largest peak."""
    runs = [run(command, folder) for _ in range(rounds)]
    assert not any(one.status for one in runs), f"{command} failed in {folder}"
    wall, cpu = (statistics.median(one[i] for one in runs) for i in range(2))
    return Run(wall, cpu, max(one.peak for one in runs), 0)


def rank(folder: Path) -> dict[str, Any]:
    """The whole ranking."""
    done = subprocess.run([*SUSPECTRA, "rank", "--format", "json"], cwd=folder, capture_output=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def hits(ranking: dict[str, Any]) -> int:
    """How many times a test executed a line."""
    return sum(suspect["ef"] + suspect["ep"] for suspect in ranking["suspects"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tests", type=int, default=2_000)
    parser.add_argument("--modules", type=int, default=250, help=f"of {LINES} executable lines each")
    options = parser.parse_args()
    figures: dict[str, float | int | bool] = {"tests": options.tests}
    with tempfile.TemporaryDirectory() as scratch:
        large, small = Path(scratch, "large"), Path(scratch, "small")
        make_project(large, options.modules, options.tests)
        print(f"recording {options.tests} tests of {options.modules} modules …", flush=True)
        record(large)
        ranking = rank(large)
        figures |= {"lines": ranking["elements"], "failed": ranking["failed"], "hits": hits(ranking)}
        assert ranking["passed"] + ranking["failed"] == options.tests
        logs = list((large / ".suspectra" / "recording").iterdir())
        figures["recording_mb"] = round(sum(log.stat().st_size for log in logs) / 2**20, 2)
        ranked = median_run([*SUSPECTRA, "rank"], large, options.rounds)
        bare = median_run([sys.executable, "-c", "import numpy, click"], large, options.rounds)
        everything = median_run([*SUSPECTRA, "rank", "--format", "json"], large, options.rounds)
        figures |= {
            "rank_seconds": round(ranked.wall, 3),
            "rank_cpu_seconds": round(ranked.cpu, 3),
            "rank_mb": round(ranked.peak),
            "start_up_seconds": round(bare.wall, 3),
            "rank_all_as_json_seconds": round(everything.wall, 3),
        }

        make_project(small, options.modules // 10, options.tests // 10)
        measured = ["--cov=shop", "--cov-context=test", "--junit-xml=results.xml", "-p", "no:cacheprovider"]
        run([sys.executable, "-m", "pytest", "-q", *measured], small)
        ranking = rank(small)
        figures |= {"small_lines": ranking["elements"], "small_tests": ranking["passed"] + ranking["failed"]}
        naive = median_run([sys.executable, "-c", NAIVE, ".coverage", "results.xml"], small, options.rounds)
        own = median_run([*SUSPECTRA, "rank", "--coverage", ".coverage"], small, options.rounds)
        figures |= {
            "small_naive_cpu_seconds": round(naive.cpu, 3),
            "small_rank_cpu_seconds": round(own.cpu, 3),
            "small_ratio": round(naive.cpu / own.cpu, 2),
        }
    figures["reached"] = ranked.wall < TARGET_SECONDS and ranked.peak < TARGET_MB
    print(
        f"{figures['lines']:,} executable lines, {figures['tests']:,} tests, {figures['hits']:,} executions of a line"
    )
    print(
        f"unchanged recording of {figures['recording_mb']} MB: ranked in {ranked.wall:.2f} s"
        f" ({ranked.cpu:.2f} s of the processor) with {ranked.peak:.0f} MB"
    )
    print(f"  importing numpy and click alone takes {bare.wall:.2f} s; all statements as JSON {everything.wall:.2f} s")
    print(
        f"a tenth of the lines and of the tests, from .coverage: {own.cpu:.2f} s of the processor,"
        f" through coverage.py's interface {naive.cpu:.2f} s"
    )
    print(f"aim: below {TARGET_SECONDS} s and {TARGET_MB} MB: {'reached' if figures['reached'] else 'MISSED'}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
