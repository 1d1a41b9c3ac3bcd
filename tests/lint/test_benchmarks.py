"""Each benchmark is on a page that has its figures, or is used by one that is; and pages name no other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPTS = {path.stem: path.read_text("utf-8") for path in (ROOT / "benchmarks").glob("*.py")}
PAGES = [
    path.read_text("utf-8")
    for pattern in ("README.md", "docs/**/*.md", "benchmarks/**/*.md")
    for path in ROOT.glob(pattern)
]
NAMED = {name for page in PAGES for name in re.findall(r"\bbenchmarks/(\w+)\.py", page)}


def used(name: str) -> set[str]:
    """The scripts that one imports, directly or not, with itself."""
    found, waiting = set(), [name]
    while waiting:
        name = waiting.pop()
        if name in SCRIPTS and name not in found:
            found.add(name)
            waiting += re.findall(r"^ *(?:from|import) (\w+)", SCRIPTS[name], re.MULTILINE)
    return found


def test_each_benchmark_is_on_a_page_or_used_by_one_that_is():
    assert len(NAMED) > 30
    assert SCRIPTS.keys() - {other for name in NAMED for other in used(name)} == set()


def test_each_benchmark_on_a_page_is_there():
    assert NAMED - SCRIPTS.keys() == set()
