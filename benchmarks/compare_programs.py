"""Whether a changed program of QuixBugs does what the correction does, on the inputs of its tests and on 1,000 others.

    python benchmarks/compare_programs.py QUIXBUGS NAME CHANGED CORRECT

Inputs are those of the tests with numbers moved, lists cut, doubled and shuffled, and characters exchanged; one for
which the correction raises an exception, or takes longer than 0.2 s of processor time, is left out. The changed program
may take five times as long. Programs whose tests are code are run with these tests. `benchmarks/fixes.py` starts it in
a process of its own.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import GeneratorType
from typing import Any

INPUTS, LIMIT_S, CHANGED_LIMIT_S = 1_000, 0.2, 1.0


def loaded(path: Path, name: str) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location(f"{name}_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(module, name)
    return function


def outcome(function: Callable[..., Any], given: list[Any], limit_s: float) -> tuple[str, object]:
    def late(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
    try:
        value = function(*copy.deepcopy(given))
        value = list(value) if isinstance(value, (GeneratorType, zip, map)) else value
        return "gives", repr(value) if not isinstance(value, float) else round(value, 6)
    except BaseException as error:
        return "raises", type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def varied(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return max(value + chance.choice((-3, -2, -1, 0, 0, 0, 1, 2, 3)), min(value, 0))
    if isinstance(value, float):
        return value * chance.choice((0.5, 1, 1, 2))
    if isinstance(value, str):
        letters = list(value)
        for _ in range(chance.randint(0, 2)):
            if letters:
                at = chance.randrange(len(letters))
                letters[at : at + 1] = chance.choice(([], [chance.choice(letters)], [letters[at]] * 2))
        return "".join(letters)
    if isinstance(value, list):
        items = [varied(one, chance) if chance.random() < 0.5 else one for one in value]
        action = chance.randrange(5)
        if action == 0 and items:
            del items[chance.randrange(len(items))]
        elif action == 1 and items:
            items.insert(chance.randrange(len(items)), copy.deepcopy(chance.choice(items)))
        elif action == 2:
            chance.shuffle(items)
        return items
    return value


def same(source: Path, name: str, changed: Path, correct: Path) -> bool:
    cases = source / "json_testcases" / f"{name}.json"
    if not cases.exists():
        return tests_pass(source, name, changed)
    one, other = loaded(changed, name), loaded(correct, name)
    inputs = [case[0] if isinstance(case[0], list) else [case[0]] for case in map(json.loads, cases.open())]
    chance = random.Random(0)
    made = [[varied(argument, chance) for argument in chance.choice(inputs)] for _ in range(INPUTS)]
    for number, given in enumerate([*inputs, *made]):
        wanted = outcome(other, given, LIMIT_S)
        if wanted[0] == "raises" and number >= len(inputs):
            continue
        if outcome(one, given, CHANGED_LIMIT_S) != wanted:
            return False
    return True


def tests_pass(source: Path, name: str, changed: Path) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        for part in ("python_programs", "python_testcases", "conftest.py"):
            target = Path(folder) / part
            words = ["cp", "-r", str(source / part), str(target)]
            subprocess.run(words, check=True)
        (Path(folder) / "python_programs" / f"{name}.py").write_bytes(changed.read_bytes())
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            f"python_testcases/test_{name}.py",
        ]
        return subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=60).returncode == 0


if __name__ == "__main__":
    quixbugs, program, *paths = sys.argv[1:]
    sys.exit(0 if same(Path(quixbugs), program, Path(paths[0]), Path(paths[1])) else 1)
