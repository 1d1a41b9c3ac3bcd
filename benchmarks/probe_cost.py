"""What one probe costs, as it is and watched by sys.monitoring. To be run by the Python that is asked about:

python3.13 benchmarks/probe_cost.py
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.loaded_file import LoadedFile
from suspectra_recorder.instrumentation.monitoring import Monitor, unavailable
from suspectra_recorder.instrumentation.rewriting import instrument
from suspectra_recorder.probe_choice import MICROSECONDS_PER_PROBE

FUNCTIONS, CELLS = 200, "__suspectra_probe_cost__"
BRANCHES = "".join(f"    if n > {i}:\n        g(n)\n" for i in range(8))
FUNCTION = "def f{}(n, g):\n" + BRANCHES + "    for i in range(n):\n        g(i)\n    return n\n"


def calls(code: CodeType) -> Callable[[], None]:
    """Calls every function of the module once."""
    names: dict[str, Callable[..., object]] = {}
    exec(code, names)
    functions = [names[f"f{number}"] for number in range(FUNCTIONS)]

    def run() -> None:
        for function in functions:
            function(6, names["g"])

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    if reason := unavailable():
        sys.exit(reason)
    source = "def g(n): pass\n" + "".join(FUNCTION.format(number) for number in range(FUNCTIONS))
    tree, module_map = instrument(source.encode(), "generated.py", CELLS)
    code = compile(tree, "generated.py", "exec")
    file = LoadedFile("generated.py", "", [0] * module_map.cells, b"")
    monitor = Monitor()
    plain, probed = calls(compile(source, "generated.py", "exec")), calls(with_cells(code, CELLS, file))
    watched = calls(monitor.watch(code, CELLS, file))
    file.cells[:] = [0] * module_map.cells
    probed()
    cells = sum(file.cells)

    def first() -> None:
        monitor.rearm()
        watched()

    first()
    times: dict[str, list[float]] = {name: [] for name in ("plain", "store", "first", "later")}
    for _ in range(rounds):
        for name, act in {"plain": plain, "store": probed, "first": first, "later": watched}.items():
            start = time.process_time()
            act()
            times[name].append(time.process_time() - start)
    middle = {name: statistics.median(values) for name, values in times.items()}
    cost = {name: (middle[name] - middle["plain"]) / cells * 1e9 for name in ("store", "first", "later")}
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"Python {version}, {cells} probes, nanoseconds for each")
    print(f"    a store                      {cost['store']:7.1f}")
    print(f"    sys.monitoring, first pass   {cost['first']:7.1f}, with what it takes to ask for it again")
    print(f"    sys.monitoring, later passes {cost['later']:7.1f}")
    even = (cost["first"] - cost["store"]) / (cost["store"] - cost["later"])
    print(f"the same from {even:.0f} passes of a probe in a test on;", end=" ")
    share = cost["first"] / 10 / MICROSECONDS_PER_PROBE
    print(f"at {MICROSECONDS_PER_PROBE:.0f} µs of work for each probe sys.monitoring adds {share:.1f} %")
    print(json.dumps({"benchmark": "probe_cost", "python": version, "nanoseconds": cost, "even_at": even}))


if __name__ == "__main__":
    main()
