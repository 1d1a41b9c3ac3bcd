"""Traces of dependences: nodes, bytes a node, and seconds beside plain and alterable runs of the same test.

    python benchmarks/dependences.py

A failing test of examples/ledger, and two of sqlparse with a condition negated, which pip gets as a source
distribution. Each test runs several times in one process of a machine: in code whose decisions count steps (plain), in
code whose decisions and values can be altered, and traced. What counts is processor time, without a first run and the
machine's start; the median of three. A generated loop shows what two million nodes take.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))
sys.path.insert(0, str(Path(__file__).parent))

from experiments import PYTEST, ledger, processor_s, sqlparse

from suspectra.experiments.dependences import KIND, trace_dependences
from suspectra.experiments.machine import Machine
from suspectra_recorder.experiments.dependences.columns import MAX_NODES
from suspectra_recorder.experiments.exchange import Job

STEPS, SECONDS, REPEATS = 10_000_000, 120.0, 3
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


def seconds_of(folder: Path, file: str, test: str, job: Job, kinds: tuple[str, ...], rounds: int) -> float:
    """The processor time of a test in a process that has run it before."""

    def run(times: int) -> float:
        def asked() -> None:
            with Machine(PYTEST, folder, file, [test], kinds) as machine:
                machine.ask(test, [job] * times, steps=STEPS, seconds=SECONDS)

        return processor_s(asked)

    return statistics.median((run(rounds + 1) - run(1)) / rounds for _ in range(REPEATS))


def measured(folder: Path, file: str, test: str, rounds: int) -> dict[str, float]:
    columns: Job = {"kind": KIND, "columns": str(folder / "columns"), "most": MAX_NODES}
    plain = seconds_of(folder, file, test, {"kind": "plain"}, ("plain",), rounds)
    alterable = seconds_of(folder, file, test, {"kind": "plain"}, ("value",), rounds)
    idle = seconds_of(folder, file, test, {"kind": "plain"}, (KIND,), rounds)
    traced = seconds_of(folder, file, test, columns, (KIND,), rounds)
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
        "plain_ms": plain * 1e3,
        "alterable_ms": alterable * 1e3,
        "traced_ms": traced * 1e3,
        "idle_ratio": idle / alterable,
        "ratio": traced / alterable,
        "ratio_to_plain": traced / plain,
        "whole_s": whole,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--project", choices=list(PROJECTS), action="append", help="By default all (repeatable).")
    parser.add_argument("--rounds", type=int, default=40)
    chosen = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    for name in chosen.project or PROJECTS:
        with tempfile.TemporaryDirectory() as folder:
            file, test = PROJECTS[name](Path(folder))
            found = measured(Path(folder), file, test, 1 if name == "long" else chosen.rounds)
        figures[name] = {key: round(value, 2) for key, value in found.items()}
        print(f"{name}: {found['nodes']:,.0f} nodes, {found['bytes_per_node']:.0f} bytes each", end=", ")
        print(f"{found['traced_ms']:.2f} ms: {found['ratio']:.1f} times an alterable run", end=", ")
        print(f"{found['ratio_to_plain']:.1f} times a plain one", flush=True)
    figures["peak"] = {"client_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
