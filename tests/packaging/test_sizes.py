"""No module is long without a reason: above 500 lines its docstring, or first comment, says why."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_LINES = 500
REASON = "longer than 500 lines because"
SOURCES = sorted(
    path
    for pattern in (
        "analysis/**/*.py",
        "server/**/*.py",
        "benchmarks/*.py",
        "docs/*.py",
        "tests/*.py",
        "tests/[!f]*/*.py",
        "tests/fuzz/*.py",
        "vscode-extension/src/**/*.ts",
        "vscode-extension/test/**/*.ts",
        "editors/**/*.lua",
        "editors/**/*.el",
    )
    for path in ROOT.glob(pattern)
)


def introduction(path: Path) -> str:
    """What a module says of itself: its docstring, or the comment that it begins with."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        return " ".join((ast.get_docstring(ast.parse(text)) or "").split())
    return " ".join(text[:2000].replace("*", " ").replace("//", " ").replace(";;", " ").split())


def is_too_long(path: Path) -> bool:
    return path.read_text("utf-8").count("\n") > MAX_LINES and REASON not in introduction(path)


def test_a_long_module_gives_its_reason():
    assert len(SOURCES) > 400
    assert [str(path.relative_to(ROOT)) for path in SOURCES if is_too_long(path)] == []


@pytest.mark.parametrize(
    ("name", "start", "lines", "too_long"),
    [
        ("short.py", '"""Short."""', 499, False),
        ("long.py", '"""Long."""', 501, True),
        ("table.py", '"""A table.\n\nIt is longer than 500\nlines because it is one."""', 600, False),
        ("long.ts", "// Long.", 501, True),
        ("table.ts", "// It is longer than 500 lines\n// because it is a table.", 600, False),
    ],
)
def test_a_reason_is_asked_for_and_found(tmp_path, name, start, lines, too_long):
    path = tmp_path / name
    path.write_text(start + "\n" * lines, "utf-8")
    assert is_too_long(path) is too_long
