"""Altered runs of failing tests: how many a second on a core, beside a new process of pytest for each.

    python benchmarks/experiments.py

A generated test of a millisecond, one of examples/ledger, and one of sqlparse with a condition negated, which pip gets
as a source distribution. A machine makes switches in three ways: several in one child, a child for each (both over and
over again), and each once as `suspectra investigate` does, which confirms what repairs. New processes make a few. What
counts is processor time, of all processes, so other programs do not disturb much. A machine's start is subtracted, and
given apart: it is paid once for each module of tests.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from suspectra.experiments.alterations.switching import SwitchedDecision, switches
from suspectra.experiments.machine import FreshRuns, Machine
from suspectra.experiments.repeated_test import BATCH, RepeatedTest

ROOT = Path(__file__).parents[1]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:pytest-lsp")
SMALL = """\
def digits(number):
    found = []
    while number > 0:
        found.append(number % 10 if number % 10 else 0)
        number //= 10
    return [digit for digit in found if digit >= 0]


def total(numbers):
    result = 0
    for number in numbers:
        if number < 100 and number:
            result += sum(digits(number))
    return result
"""
TEST_SMALL = "from small import total\n\n\ndef test_total():\n    assert total(range(150)) == 0\n"
SQLPARSE = "sqlparse==0.5.3"
STEPS, SECONDS = 1_000_000, 20.0


def small(folder: Path) -> tuple[str, str]:
    """A test of a millisecond."""
    (folder / "small.py").write_text(SMALL)
    (folder / "test_small.py").write_text(TEST_SMALL)
    return "test_small.py", "test_small.py::test_total"


def ledger(folder: Path) -> tuple[str, str]:
    """The failing test of the example that makes most decisions."""
    shutil.copytree(
        ROOT / "examples" / "ledger", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".*")
    )
    file = "tests/test_importer.py"
    return file, f"{file}::test_a_month_of_service[2020-06-15-2020-07-14-117.60]"


def sqlparse(folder: Path) -> tuple[str, str]:
    """A test of sqlparse, with a fault in the condition that begins a group of tokens."""
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", SQLPARSE]
    subprocess.run([*words, "--no-build-isolation", "-d", str(folder)], check=True, stdout=subprocess.DEVNULL)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    inner = next(path for path in folder.iterdir() if path.is_dir())
    for path in inner.iterdir():
        path.rename(folder / path.name)
    code = folder / "sqlparse" / "engine" / "grouping.py"
    text = code.read_text()
    right = "if token.match(*cls.M_OPEN)"
    assert right in text, "another version of sqlparse"
    code.write_text(text.replace(right, "if not token.match(*cls.M_OPEN)", 1))
    return "tests/test_grouping.py", "tests/test_grouping.py::test_grouping_parenthesis"


PROJECTS: dict[str, Callable[[Path], tuple[str, str]]] = {"small": small, "ledger": ledger, "sqlparse": sqlparse}


def processor_s(do: Callable[[], object]) -> float:
    """Seconds of processor time, with that of processes that have ended meanwhile."""

    def now() -> float:
        used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(one.ru_utime + one.ru_stime for one in used)

    before = now()
    do()
    return now() - before


def measured(folder: Path, file: str, test: str, runs: int, fresh_runs: int) -> dict[str, float]:
    def with_machine(use: Callable[[RepeatedTest, Machine, list[SwitchedDecision]], object]) -> float:
        def run() -> None:
            with Machine(PYTEST, folder, file, [test]) as machine:
                repeated = RepeatedTest(test, machine)
                use(repeated, machine, list(islice(switches(repeated.trace), runs)))

        return processor_s(run)

    def nothing(repeated: RepeatedTest, machine: Machine, chosen: list[SwitchedDecision]) -> None:
        made.update(decisions=len(repeated.trace.decisions), runs=len(chosen))
        few.extend(chosen[:fresh_runs])

    def together(repeated: RepeatedTest, machine: Machine, chosen: list[SwitchedDecision]) -> None:
        again = list(islice(cycle(chosen), runs))
        for first in range(0, runs, BATCH):
            machine.alter(test, again[first : first + BATCH], steps=STEPS, seconds=SECONDS, control=True)

    def alone(repeated: RepeatedTest, machine: Machine, chosen: list[SwitchedDecision]) -> None:
        for switch in islice(cycle(chosen), runs):
            machine.alter(test, [switch], steps=STEPS, seconds=SECONDS)

    def investigation(repeated: RepeatedTest, machine: Machine, chosen: list[SwitchedDecision]) -> None:
        list(repeated.experiments(chosen, time.monotonic() + 600))

    made: dict[str, float] = {}
    few: list[SwitchedDecision] = []
    start = with_machine(nothing)
    made["start_s"] = start
    for name, use in (("together", together), ("alone", alone), ("investigation", investigation)):
        made[name] = (made["runs"] if use is investigation else runs) / max(with_machine(use) - start, 1e-3)
    fresh = FreshRuns(PYTEST, folder, file)
    made["fresh"] = len(few) / processor_s(lambda: fresh.alter(test, few, steps=STEPS, seconds=SECONDS))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--project", choices=list(PROJECTS), action="append", help="By default all of them (repeatable)."
    )
    parser.add_argument("--runs", type=int, default=200, help="Switches at most.")
    parser.add_argument("--fresh", type=int, default=4, help="How many of them in new processes.")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    for name in chosen.project or PROJECTS:
        with tempfile.TemporaryDirectory() as folder:
            file, test = PROJECTS[name](Path(folder))
            rounds = [measured(Path(folder), file, test, chosen.runs, chosen.fresh) for _ in range(chosen.rounds)]
        found = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        found["ratio"] = statistics.median(one["investigation"] / one["fresh"] for one in rounds)
        figures[name] = {key: round(value, 2) for key, value in found.items()}
        counts = f"{found['runs']:.0f} switches of {found['decisions']:.0f} decisions"
        print(f"{name}: {counts}, start {found['start_s']:.2f} s")
        for way in ("together", "alone", "investigation", "fresh"):
            print(f"  {way:13} {found[way]:8.2f} runs a second")
        print(f"  investigation is {found['ratio']:.0f} times as fast as new processes", flush=True)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
