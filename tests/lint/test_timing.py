"""Times that something waits are named constants: in seconds, each with its reason, and no name has two values."""

import ast
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVER_TIMES = "server/suspectra_server/timing.py"
IS_TIME = re.compile(r"TIMEOUT|DEBOUNCE|GRACE|PATIENCE|DELAY|_S$|_MS$")
HAS_UNIT = re.compile(r"_M?S$")


def times(source):
    """The names of numbers that are times, with their values, and whether a docstring follows."""
    nodes = ast.parse(source).body
    for node, following in pairwise([*nodes, ast.Pass()]):
        match node:
            case ast.Assign([ast.Name(name)], ast.Constant(int() | float() as value)) if IS_TIME.search(name):
                yield name, value, isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)


@pytest.fixture(scope="module")
def found():
    paths = [path for room in ("analysis", "server") for path in sorted((ROOT / room).rglob("*.py"))]
    return [(path.relative_to(ROOT).as_posix(), *one) for path in paths for one in times(path.read_text("utf-8"))]


def test_a_time_has_its_unit_and_its_reason(found):
    assert len(found) > 30
    assert [f"{path}: {name}" for path, name, _, explained in found if not (explained and HAS_UNIT.search(name))] == []


def test_all_times_of_the_server_are_in_one_module(found):
    elsewhere = {path for path, *_ in found if path.startswith("server/")} - {SERVER_TIMES}
    assert not elsewhere


def test_no_name_of_a_time_has_two_values(found):
    values = defaultdict(set)
    for _, name, value, _ in found:
        values[name.lstrip("_")].add(value)
    assert {name: value for name, value in values.items() if len(value) > 1} == {}
