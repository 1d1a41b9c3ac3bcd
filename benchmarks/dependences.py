"""Traces of dependences: nodes, bytes a node, and seconds beside plain and alterable runs of the same test.

    python benchmarks/dependences.py

A failing test of examples/ledger, and two of sqlparse with a condition negated, which pip gets as a source
distribution. Each test runs in code whose decisions count steps (plain), in code whose decisions and values can be
altered, and traced. One round does each for a tenth of a second in a new process, one after the other, so that other
programs disturb all of them alike. What counts is processor time within that process, with all that begins and ends a
run, and without its first run. The fastest of all runs of a way counts: other programs empty the caches, which makes a
run of a millisecond up to twice as long and a longer one hardly so, and the fastest runs are those that nothing
disturbed. A generated loop shows what two million nodes take.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
sys.path.insert(0, str(Path(__file__).parent))

import run_clock
from experiments import PYTEST, ledger, sqlparse

from suspectra.experiments.dependences import KIND, trace_dependences
from suspectra.experiments.machine import Machine
from suspectra_recorder.experiments.messages import RunRequest
from suspectra_recorder.experiments.traces.trace_columns import MAX_NODES

STEPS, SECONDS = 10_000_000, 120.0
WORTH_S, MAX_RUNS = 0.1, 100
"""How long the runs of one round take together, about, and how many they are at most."""
LONG = """\
def count(rounds):
    number = 0
    for round in range(rounds):
        number += round
    return number
"""
TEST_LONG = "from long import count\n\n\ndef test_count():\n    assert count({rounds}) == 1\n"


def sqlparse_again(folder: Path) -> tuple[str, str]:
    """Another test of sqlparse that this fault breaks."""
    sqlparse(folder)
    return "tests/test_grouping.py", "tests/test_grouping.py::test_grouping_where"


def long(folder: Path) -> tuple[str, str]:
    """A test with nearly as many nodes as a trace can have."""
    (folder / "long.py").write_text(LONG)
    (folder / "test_long.py").write_text(TEST_LONG.format(rounds=(MAX_NODES - 100) // 2))
    return "test_long.py", "test_long.py::test_count"


PROJECTS: dict[str, Callable[[Path], tuple[str, str]]] = {
    "ledger": ledger,
    "sqlparse": sqlparse,
    "sqlparse-2": sqlparse_again,
    "long": long,
}


class Runs:
    """One way to run a test: a machine, which runs it again and again in one process when it is asked.

    Parameters
    ----------
    folder, file, test
        Where the test is.
    job : Job
        What each run does.
    kinds : tuple of str
        How the machine prepares the code.
    """

    def __init__(self, folder: Path, file: str, test: str, job: RunRequest, kinds: tuple[str, ...]):
        self._test, self._job = test, job
        self._clock = folder / f"clock of {kinds[0]} {job['kind']}"
        os.environ[run_clock.VARIABLE] = str(self._clock)
        self._machine = Machine((*PYTEST, "-p", run_clock.NAME), folder, file, [test], kinds)

    def seconds(self, times: int) -> list[float]:
        """The processor time of some runs in one new process.

        The first one doesn't count: it copies the pages of memory that it writes to.
        """
        os.truncate(self._clock, 0)
        self._machine.ask(self._test, [self._job] * (times + 2), steps=STEPS, seconds=SECONDS)
        noted = run_clock.times_in(self._clock)[1:]
        return [after - before for before, after in pairwise(noted)]

    def close(self) -> None:
        self._machine.close()


def measured(folder: Path, file: str, test: str, rounds: int) -> dict[str, float]:
    columns: RunRequest = {"kind": KIND, "columns": str(folder / "columns"), "most": MAX_NODES}
    plain: RunRequest = {"kind": "plain"}
    ways = {"plain": (plain, "plain"), "alterable": (plain, "value"), "idle": (plain, KIND), "traced": (columns, KIND)}
    with ExitStack() as stack:
        runs = {
            name: stack.enter_context(closing(Runs(folder, file, test, job, (kind,))))
            for name, (job, kind) in ways.items()
        }
        times = {name: min(max(1, round(WORTH_S / one.seconds(1)[0])), MAX_RUNS) for name, one in runs.items()}
        found: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, one in runs.items():
                found[name] += one.seconds(times[name])
    ms = {name: min(some) * 1e3 for name, some in found.items()}
    size = (folder / "columns").stat().st_size
    with Machine(PYTEST, folder, file, [test], (KIND,)) as machine:
        began = time.perf_counter()
        trace = trace_dependences(machine, test, seconds=SECONDS)
        whole = time.perf_counter() - began
    graph = trace.graph
    arrays = (
        graph.site,
        graph.instance,
        graph.start,
        graph.source,
        graph.kind,
        trace.call,
        trace.outcome,
        trace.is_test,
    )
    held = sum(array.nbytes for array in arrays) + 4 * len(graph)  # the last are the numbers of the texts
    return {
        "nodes": len(graph),
        "dependences": len(graph.source),
        "written_bytes_per_node": size / len(graph),
        "bytes_per_node": held / len(graph),
        "megabytes": held / 1e6,
        **{f"{name}_ms": value for name, value in ms.items()},
        "idle_ratio": ms["idle"] / ms["alterable"],
        "ratio": ms["traced"] / ms["alterable"],
        "ratio_to_plain": ms["traced"] / ms["plain"],
        "whole_s": whole,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--project", choices=list(PROJECTS), action="append", help="By default all (repeatable).")
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    figures: dict[str, dict[str, float]] = {}
    for name in chosen.project or PROJECTS:
        with tempfile.TemporaryDirectory() as folder:
            file, test = PROJECTS[name](Path(folder))
            found = measured(Path(folder), file, test, 3 if name == "long" else chosen.rounds)
        figures[name] = {key: round(value, 2) for key, value in found.items()}
        print(f"{name}: {found['nodes']:,.0f} nodes, {found['bytes_per_node']:.0f} bytes each", end=", ")
        print(f"{found['traced_ms']:.2f} ms: {found['ratio']:.1f} times an alterable run", end=", ")
        print(f"{found['ratio_to_plain']:.1f} times a plain one", flush=True)
    figures["peak"] = {"client_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
