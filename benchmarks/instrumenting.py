"""What putting probes into a source costs, beside compiling it, and how that grows with the size of a function.

One function of each shape is instrumented at several sizes. The exponent is the slope of a line through the logarithms:
1 where twice the statements take twice the time. Python compiles the source once while it is instrumented, so where
Python's own exponent is above 1, as for very many functions in one, ours is too.

    python benchmarks/instrumenting.py --sizes 5000 10000 20000 --rounds 3
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

from suspectra_recorder.instrumentation.rewriting import instrument

MAX_EXPONENT = 1.15

SHAPES = {
    "assignments": ("    x = g(x, {n})\n", 1),
    "branches": ("    if x > {n}:\n        x = g(x)\n", 2),
    "returns": ("    if x > {n}:\n        return x\n", 2),
    "loops": ("    for y in x:\n        if y:\n            continue\n        x = y and x\n", 4),
    "handlers": ("    try:\n        g(x)\n    except KeyError:\n        x = {n}\n    finally:\n        g({n})\n", 5),
    "functions": ("    def g{n}(x, y={n}):\n        return x\n", 2),
    "cases": ("        case {n}:\n            x = g(x)\n", 2),
    "one line": ("x == {n} or ", 1),
}


def source(shape: str, size: int) -> bytes:
    """A function with about that many statements; one expression with as many operands for the last shape."""
    part, statements = SHAPES[shape]
    body = "".join(part.format(n=n) for n in range(size // statements))
    if shape == "one line":
        return f"def f(x):\n    return 'é' and ({body}x)\n".encode()
    return ("def f(x):\n" + ("    match x:\n" if shape == "cases" else "") + body + "    return x\n").encode()


def seconds(work: Callable[[], object], rounds: int) -> float:
    """Median processor time."""
    times = []
    for _ in range(rounds):
        gc.collect()
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.median(times)


def exponent(sizes: list[int], times: list[float]) -> float:
    return statistics.linear_regression([math.log(n) for n in sizes], [math.log(t) for t in times]).slope


def compiled(data: bytes) -> object:
    """What Python makes of a source."""
    return compile(ast.parse(data), "f.py", "exec")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 10_000, 20_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    results: dict[str, dict[str, object]] = {}
    missed: list[str] = []
    print(f"seconds for {', '.join(f'{n:,}' for n in options.sizes)} statements in one function; × of compiling it")
    for shape in SHAPES:
        times, plain = [], []
        for size in options.sizes:
            data = source(shape, size)
            times.append(seconds(partial(instrument, data, "f.py", "cells", counting=True), options.rounds))
            plain.append(seconds(partial(compiled, data), options.rounds))
        slope, python_slope = exponent(options.sizes, times), exponent(options.sizes, plain)
        ratio = statistics.median(t / p for t, p in zip(times, plain, strict=True))
        results[shape] = {
            "seconds": [round(t, 3) for t in times],
            "ratio": round(ratio, 2),
            "exponent": round(slope, 2),
            "python_exponent": round(python_slope, 2),
        }
        if round(slope, 2) > max(MAX_EXPONENT, round(python_slope, 2)):
            missed.append(shape)
        figures = "  ".join(f"{t:6.2f}" for t in times)
        print(
            f"    {shape:12} {figures}   × {ratio:5.1f}   exponent {slope:.2f} (Python {python_slope:.2f})", flush=True
        )
    print(f"above {MAX_EXPONENT} and above Python's own: {', '.join(missed) or 'none'}")
    python = f"py{sys.version_info[0]}{sys.version_info[1]}"
    print(
        json.dumps(
            {"benchmark": "instrumenting", "python": python, "most": MAX_EXPONENT, "missed": missed, "shapes": results}
        )
    )


if __name__ == "__main__":
    main()
