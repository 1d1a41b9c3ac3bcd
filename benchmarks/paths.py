"""What recording a path costs, and reading one of ten million events.

    python benchmarks/paths.py --events 10000000

A loop with decisions and calls runs plainly, with decisions that can be switched, and with its path recorded, in one
process; processor time, the median of several runs. Then the events are read, as after a run of a test: what each
depends on, and which events of two runs correspond.
"""

from __future__ import annotations

import argparse
import ast
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from suspectra.paths.searches.recorded_paths import Paths
from suspectra_recorder.experiments.decisions.paths import NotingPath
from suspectra_recorder.experiments.decisions.switchboard import Switchboard
from suspectra_recorder.experiments.loading import Instrument
from suspectra_recorder.experiments.messages import MachineRunAnswer
from suspectra_recorder.instrumentation.cell_constants import with_cells

SOURCE = """\
def work(rounds):
    total = 0
    for number in range(rounds):
        if number % 3 == 0:
            total += 1
        elif number % 3 == 1:
            total += part(number)
    return total


def part(number):
    return number if number % 2 else -number
"""
EVENTS_A_ROUND = 1 + 1 + 2 / 3 + 2 / 3  # rounds of the loop, both conditions, and every third time a call that decides
Work = Callable[[int], int]


def function(code: CodeType) -> Work:
    names: dict[str, Work] = {}
    exec(code, names)
    return names["work"]


def instrumented(**instruments: Instrument) -> Work:
    """The source with instruments in it."""
    tree = ast.parse(SOURCE)
    added = [one.insert(tree, "work.py", f"<{name}>", asserts=True) for name, one in instruments.items()]
    code = compile(tree, "work.py", "exec")
    for add in added:
        add()
    for name, one in instruments.items():
        code = with_cells(code, f"<{name}>", one)
    return function(code)


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    board = Switchboard()
    kind = NotingPath(board, dict)
    assert kind.instrument is not None
    plain = function(compile(SOURCE, "work.py", "exec"))
    switched_board = Switchboard()
    switchable = instrumented(board=switched_board)
    recorded = instrumented(marks=kind.instrument, board=board)
    few = 200_000
    found: dict[str, list[float]] = {"plain": [], "switchable": [], "recorded": []}
    for _ in range(given.rounds):
        found["plain"].append(seconds(lambda: plain(few)))
        switched_board.limit(1 << 60)
        found["switchable"].append(seconds(lambda: switchable(few)))
        board.limit(1 << 60)
        kind.apply({"kind": "path"})
        found["recorded"].append(seconds(lambda: recorded(few)))
        kind.take_back()
    median = {name: statistics.median(values) for name, values in found.items()}
    each = 1e9 * (median["recorded"] - median["plain"]) / (few * EVENTS_A_ROUND)
    print(f"a loop of {few:,} rounds, {few * EVENTS_A_ROUND:,.0f} events")
    for name, value in median.items():
        print(f"{name:12} {1000 * value:8.1f} ms  {value / median['plain']:6.2f} times plain")
    print(f"recording costs {each:.0f} ns an event")

    board.limit(1 << 60)
    kind.apply({"kind": "path"})
    recorded(int(given.events / EVENTS_A_ROUND))
    noted = kind.take_back()
    answer: MachineRunAnswer = {
        "outcome": "passed",
        "exception": "",
        "seconds": 0.0,
        "threads": noted["threads"],
        "sites": noted["sites"],
        "functions": noted["functions"],
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "work.py").write_text(SOURCE)
        paths = Paths(Path(folder))
        began = time.process_time()
        path = paths.from_answer(answer).path
        read = time.process_time() - began
        began = time.process_time()
        assert (path.aligned(path) >= 0).all()
        aligned = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{len(path):,} events: read in {read:.1f} s, aligned in {aligned:.1f} s; {peak:.2f} GB at most")
    reading = {"events": len(path), "read": read, "aligned": aligned, "peak_gb": peak}
    print(json.dumps({**median, "ns_an_event": each, **reading}))


if __name__ == "__main__":
    main()
