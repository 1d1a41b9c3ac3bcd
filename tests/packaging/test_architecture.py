"""The invariants of docs/architecture.md that can be read off the imports."""

import ast
import graphlib
import re
import subprocess
import sys
from functools import cache
from itertools import product
from pathlib import Path

import pytest

import suspectra

ROOT = Path(__file__).parents[2]
ANALYSIS = ROOT / "analysis" / "suspectra"
SERVER = ROOT / "server" / "suspectra_server"

ROW = re.compile(r"^\| \d+ \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
ENDINGS = re.compile(r'"\.(pyw|pyi|pyx|cc|cpp|h)"')
TOPS = (ROOT / "analysis", ROOT / "server")
PACKAGES = ("suspectra_recorder", "suspectra", "suspectra_server", "suspectra_mcp")


@cache
def nodes_of(path):
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def nodes(path, kind):
    return (node for node in nodes_of(path) if isinstance(node, kind))


@cache
def imports(path, *, for_types=True):
    """Every name a file imports, modules and what is taken from them; imports for type checkers are arrows too."""
    return frozenset(_imports(path, for_types))


def roots(path, *, for_types=True):
    """The packages that a file imports something of."""
    return {name.partition(".")[0] for name in imports(path, for_types=for_types)}


def _imports(path, for_types):
    checked = {
        inner
        for node in nodes(path, ast.If)
        if not for_types and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in nodes(path, ast.Import | ast.ImportFrom):
        if node in checked:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(folder):
    return sorted(folder.rglob("*.py"))


@pytest.mark.slow
def test_the_library_knows_nothing_of_the_protocol():
    assert not [path for path in sources(ANALYSIS) if roots(path) & {"pygls", "lsprotocol"}]
    knowing = [path for path in sources(ANALYSIS) if roots(path) & {"suspectra_server", "suspectra_mcp"}]
    assert knowing == [ANALYSIS / "cli" / "main.py"]


def rooms_in_order():
    """The rooms of the map in docs/architecture.md, lowest first."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    return [room for row in ROW.findall(text) for room in re.findall("`([^`]+)`", row)]


def modules():
    """Each module of ours, and its file. What starts the recorder from outside of the package is none."""
    found = {}
    for top, package in product(TOPS, PACKAGES):
        for path in sources(top / package):
            parts = path.relative_to(top).with_suffix("").parts
            if "bootstrap" not in parts:
                found[".".join(parts).removesuffix(".__init__")] = path
    return found


def arrows(files):
    """Of each module those of ours that it imports."""
    found = {}
    for module, path in files.items():
        found[module] = set()
        for name in imports(path):
            while name and name not in files:
                name = name.rpartition(".")[0]
            if name not in {*PACKAGES, module, ""}:
                found[module].add(name)
    return found


@cache
def arrows_of():
    return arrows(modules())


def relative(path):
    return next(path.relative_to(top).as_posix() for top in TOPS if path.is_relative_to(top))


def room_of(path, rooms):
    """The room whose path fits best."""
    return max((room for room in rooms if path == room or path.startswith(f"{room}/")), key=len, default=None)


def arrows_up(files, graph, rooms):
    """Each import of what stands higher in the map."""
    home = {module: rooms.index(room_of(relative(path), rooms)) for module, path in files.items()}
    return [
        f"{module} ({rooms[home[module]]}) imports {other} ({rooms[home[other]]})"
        for module, others in graph.items()
        for other in others
        if home[other] > home[module]
    ]


def test_the_map_has_every_room_once():
    files, rooms = modules(), rooms_in_order()
    assert len(rooms) == len(set(rooms))
    assert {room_of(relative(path), rooms) for path in files.values()} == set(rooms)


def test_no_room_uses_one_that_is_higher_in_the_map():
    assert not arrows_up(modules(), arrows_of(), rooms_in_order())


def test_no_module_is_part_of_a_circle():
    try:
        graphlib.TopologicalSorter(arrows_of()).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_an_arrow_up_is_found():
    """What these tests find when somebody puts one in."""
    files, graph, rooms = modules(), {name: set(used) for name, used in arrows_of().items()}, rooms_in_order()
    graph["suspectra.report"].add("suspectra.techniques.control_flow.cp")
    graph["suspectra_server.session.folder"].add("suspectra_server.features.hover")
    found = arrows_up(files, graph, rooms)
    assert len(found) == 2, found
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(graph).prepare()


RECORDER = sources(ROOT / "analysis" / "suspectra_recorder")


def test_the_recorder_needs_only_the_standard_library():
    allowed = sys.stdlib_module_names | {"suspectra_recorder", "suspectra_loading", "pytest", "_pytest"}
    assert not [path for path in RECORDER if not roots(path, for_types=False) <= allowed]


def test_reading_evidence_executes_nothing():
    forbidden = {"marshal", "pickle", "subprocess", "runpy", "shelve", "xml"}
    readers = sources(ANALYSIS / "evidence")
    assert readers
    assert not [path for path in readers if roots(path, for_types=False) & forbidden]
    executing = {"eval", "exec", "compile", "__import__"}
    called = {
        path: {node.func.id for node in nodes(path, ast.Call) if isinstance(node.func, ast.Name)} for path in readers
    }
    assert not [path for path in readers if called[path] & executing]


def takes_a_log_apart(path):
    if "suspectra_recorder.log.frames.frames" in imports(path):
        return True
    return any(
        "FrameKind" in ast.unparse(part) for node in nodes(path, ast.Compare) for part in [node.left, *node.comparators]
    )


def test_logs_are_taken_apart_in_one_place():
    taking = {path.stem for path in [*RECORDER, *sources(ANALYSIS), *sources(SERVER)] if takes_a_log_apart(path)}
    # children leave logs of another kind, and the choice of a recorder samples them without reading
    assert taking <= {"frames", "reader", "processes", "probe_choice"}
    assert "reader" in taking


STARTS = {"create_subprocess_exec", "create_subprocess_shell", "Popen", "system", "popen", "posix_spawn", "startfile"}
# the last two run nothing but git, and nothing but Suspectra
STARTERS = ("processes/runner.py", "processes/watchdog.py", "selection/revision.py", "program/flow_readers.py")


def starts_programs(path):
    ran = {ast.unparse(node.func) for node in nodes(path, ast.Call)}
    return any(node.attr in STARTS for node in nodes(path, ast.Attribute)) or any(
        re.match(r"subprocess\.(run|call|check_)|os\.(exec|spawn)", name) for name in ran
    )


def test_programs_are_started_in_one_place():
    starting = [path.as_posix() for path in [*sources(ANALYSIS), *sources(SERVER)] if starts_programs(path)]
    assert starting
    assert not [path for path in starting if not path.endswith(STARTERS)]


def test_the_server_has_programs_run_in_one_place():
    runs = {"suspectra.processes.runner.run", "suspectra.recording.launch", "suspectra.c.recording"}
    runs |= {"suspectra.experiments.inquiry.RerunSetup", "suspectra.experiments.machine"}
    assert {path.name for path in sources(SERVER) if runs & imports(path)} == {"processes.py"}


def test_the_names_of_source_files_are_in_one_place():
    """Which endings are Python's, and which C's, must not depend on who asks."""
    lists = {
        path for folder in (ANALYSIS, SERVER) for path in sources(folder) if ENDINGS.search(path.read_text("utf-8"))
    }
    assert lists == {ANALYSIS / "program" / "languages.py"}


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


@pytest.mark.slow
def test_the_program_and_its_server_need_no_pytest():
    """The tests of a workspace have it; an environment that was made for the server does not."""
    code = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys(("pytest", "_pytest", "coverage"), None))
for package in map(importlib.import_module, ("suspectra", "suspectra_server")):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
