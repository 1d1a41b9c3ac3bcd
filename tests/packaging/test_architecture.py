"""The invariants of docs/architecture.md that can be read off the imports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import suspectra

ROOT = Path(__file__).parents[2]
ANALYSIS = ROOT / "analysis" / "suspectra"
SERVER = ROOT / "server" / "suspectra_server"

# what a room may use, besides the standard library and third parties (lowest first)
HOUSE = [
    {"errors", "location", "cancellation", "complete_file", "arrays", "technique_info"},
    {"spectrum"},
    {"measured_file"},
    {"cluster"},
    {"program", "report", "evidence", "instrumentation", "recording"},
    {"techniques", "markov"},
    {"localizer"},
    {"output"},
    {"console"},
    {"evaluation", "markov_command"},
    {"cli", "__main__"},
]
# noun modules that a technique's report and the evidence share; they stand on the same floor
NEIGHBOURS = {("program", "evidence"), ("evidence", "program")}


def imports(path):
    """Every module a file imports, with whether the import is for type checkers only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def sources(folder):
    return sorted(folder.rglob("*.py"))


@pytest.mark.parametrize("path", sources(ANALYSIS), ids=lambda p: p.relative_to(ANALYSIS).as_posix())
def test_the_library_knows_nothing_of_the_protocol(path):
    roots = {name.partition(".")[0] for name in imports(path)}
    assert not roots & {"pygls", "lsprotocol"}
    if path.relative_to(ANALYSIS).parts[0] != "cli.py":
        assert "suspectra_server" not in roots


def floor(room):
    return next((level for level, rooms in enumerate(HOUSE) if room in rooms), None)


@pytest.mark.parametrize("path", sources(ANALYSIS), ids=lambda p: p.relative_to(ANALYSIS).as_posix())
def test_a_room_uses_only_rooms_below_it(path):
    room = path.relative_to(ANALYSIS).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    level = floor(room)
    assert level is not None, f"{room} has no place in the house"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "suspectra" or len(parts) < 2 or parts[1] == room:
            continue
        assert floor(parts[1]) <= level or (room, parts[1]) in NEIGHBOURS, f"{room} imports {name}"


RECORDER = [
    ANALYSIS / "__init__.py",
    ANALYSIS / "errors.py",
    ANALYSIS / "complete_file.py",
    *sources(ANALYSIS / "instrumentation"),
    *sources(ANALYSIS / "recording"),
]


@pytest.mark.parametrize("path", RECORDER, ids=lambda p: p.relative_to(ANALYSIS).as_posix())
def test_the_recorder_needs_only_the_standard_library(path):
    allowed = sys.stdlib_module_names | {"suspectra", "pytest", "_pytest"}
    assert {name.partition(".")[0] for name in imports(path)} <= allowed


@pytest.mark.parametrize("path", sources(ANALYSIS / "evidence"), ids=lambda p: p.name)
def test_reading_evidence_executes_nothing(path):
    forbidden = {"marshal", "pickle", "subprocess", "runpy", "shelve", "xml"}
    assert not {name.partition(".")[0] for name in imports(path)} & forbidden
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"eval", "exec", "compile", "__import__"}


def test_type_checkers_see_the_public_names():
    tree = ast.parse((ANALYSIS / "__init__.py").read_text(encoding="utf-8"))
    found = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("suspectra.")
        for alias in node.names
    }
    assert found == suspectra._PUBLIC


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, suspectra; print(*sorted(m for m in ('numpy', 'scipy', 'pygls') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
