"""Functions, classes and constants have the usual names: `from_sources`, `MAX_EVENTS`, `notify`."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = [
    path
    for top in ("analysis", "server", "benchmarks")
    for path in sorted((ROOT / top).rglob("*.py"))
    if path.parts[len(ROOT.parts) + 1] not in ("faulty_programs", "classic_programs")
]
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
ODD = {
    r"_?of(_|$)": "from_… or for_…",
    r"_?(say|speak|tell|told|untold)$": "notify, send or report",
    r"_?(MOST|LONGEST|LARGEST)(_(?!URGENT)|$)": "MAX_…",
    r"_?(QUIET|REST|NOTICED|PATIENCE)(_|$)": "…_DEBOUNCE_S or …_TIMEOUT_S",
    r"_?(Place|Guide|Guides|guide|guidance|Settling|Deciding)$": "what it is",
    r"_?(acquit|adoption|foundations|doubts)(_|$)": "exclude, merge, dependencies or caveats",
}


@cache
def definitions() -> list[str]:
    """Functions, classes, and what modules assign, each with its module and line."""
    found = []
    for path in MODULES:
        tree = ast.parse(path.read_bytes())
        named = [(node.lineno, node.name) for node in ast.walk(tree) if isinstance(node, DEFINITIONS)]
        for statement in tree.body:
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            names = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
            named += [(name.lineno, name.id) for name in names]
        found += [f"{path.relative_to(ROOT)}:{line}: {name}" for line, name in named]
    return found


@pytest.mark.parametrize(("odd", "usual"), ODD.items(), ids=ODD.values())
def test_definitions_have_the_usual_names(odd, usual):
    assert len(definitions()) > 5_000
    assert not [one for one in definitions() if re.match(odd, one.rpartition(" ")[2])], f"call it {usual}"
