"""A project of generated modules and tests, some of which fail, and how it is recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from large_recording import FUNCTIONS, source

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
