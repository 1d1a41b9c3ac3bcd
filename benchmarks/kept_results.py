"""What the recorder costs where results are kept: cached functions, and values that are made when they are needed.

.venv/bin/python benchmarks/kept_results.py
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from suspectra_recorder.import_hooks import Hooks
from suspectra_recorder.recorded_files import RecordedFiles

FILES, CALLS, HITS = 100, 2000, 50_000
PROGRAM = """\
from functools import lru_cache

@lru_cache(maxsize=None)
def cached(n):
    return n

_value = None

def lazy():
    global _value
    if _value is None:
        _value = 1
    return _value

def reset():
    global _value
    _value = None
"""


def program(folder: Path, name: str) -> ModuleType:
    """Import a program of many files; its last module."""
    for number in range(FILES):
        (folder / f"{name}_{number}.py").write_text("def f(n):\n    return n\n" * 10)
        importlib.import_module(f"{name}_{number}")
    (folder / f"{name}.py").write_text(PROGRAM)
    return importlib.import_module(name)


def actions(module: ModuleType) -> dict[str, Callable[[], int]]:
    """What is timed, by name; each returns how often it was done."""

    def cached_made() -> int:
        module.cached.cache_clear()
        for n in range(CALLS):
            module.cached(n)
        return CALLS

    def cached_found() -> int:
        cached = module.cached
        for _ in range(HITS):
            cached(1)
        return HITS

    def lazy_made() -> int:
        for _ in range(CALLS):
            module.reset()
            module.lazy()
        return CALLS

    def lazy_found() -> int:
        lazy = module.lazy
        for _ in range(HITS):
            lazy()
        return HITS

    return {each.__name__: each for each in (cached_made, cached_found, lazy_made, lazy_found)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        ways = {"plain": actions(program(folder, "plain"))}
        hooks = Hooks(RecordedFiles(str(folder)))
        hooks.install()
        ways["recorded"] = actions(program(folder, "recorded"))
        found: dict[str, dict[str, float]] = {}
        for action in ways["plain"]:
            times: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(rounds):
                for way, each in ways.items():
                    begin = time.process_time()
                    done = each[action]()
                    times[way].append(1e6 * (time.process_time() - begin) / done)
            found[action] = {way: round(statistics.median(each), 3) for way, each in times.items()}
            print(f"{action:14}", *(f"{way} {each:8.3f} µs" for way, each in found[action].items()), sep="   ")
        hooks.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
