"""Faults from a history: which commits are fixes, which lines they say are faulty, and that the fix is undone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
BEFORE = "def total(prices):\n    found = 0\n    for price in prices:\n        found = price\n    return found\n"
CHANGED = BEFORE.replace("found = price", "found += price")
ADDED = BEFORE.replace("    for", "    prices = list(prices)\n    for")
TEST = "from cart import total\n\ndef test_one():\n    assert total([2]) == 2\n"
MORE = TEST + "\ndef test_two():\n    assert total([2, 3]) == 5\n"


@pytest.fixture
def fixed_faults(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import fixed_faults

    return fixed_faults


@pytest.fixture
def commit(tmp_path):
    folder = tmp_path / "cart"
    folder.mkdir()

    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        run = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
        return run.stdout.strip()

    def made(**files):
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", "Sum up")
        return folder, git("rev-parse", "HEAD")

    git("init", "-q")
    made(cart=BEFORE, test_cart=TEST)
    return made


@pytest.mark.parametrize(
    ("fixed", "expected"),
    [(CHANGED, "cart.py:4  # changed: "), (ADDED, "cart.py:2 cart.py:3  # missing: ")],
    ids=["changed", "added"],
)
def test_the_lines_of_a_fix_are_faulty_and_the_fix_is_undone(fixed_faults, commit, tmp_path, fixed, expected):
    clone, name = commit(cart=fixed, test_cart=MORE)
    made = tmp_path / "made"
    assert fixed_faults.Fix(clone, name).make(made)
    assert (made / "faults.txt").read_text() == f"{expected}{name[:8]} Sum up\n"
    assert (made / "cart.py").read_text() == BEFORE
    assert (made / "test_cart.py").read_text() == MORE


@pytest.mark.slow
def test_fixes_are_found_by_their_tests(fixed_faults, commit, capsys):
    clone, fix = commit(cart=CHANGED, test_cart=MORE)
    commit(cart=CHANGED + "\n\ndef count(prices):\n    return len(prices)\n", test_cart=MORE + "\n# counted\n")
    commit(cart=CHANGED.replace("found", "so_far"))
    commit(test_cart=MORE.replace("two", "sum"))
    assert list(fixed_faults.found(clone, Path(sys.executable), 10)) == [fix]
    assert "no new failure" in capsys.readouterr().err


def test_every_listed_fix_names_a_project_and_a_commit(fixed_faults):
    lines = [line for path in fixed_faults.LISTS.values() for line in path.read_text().splitlines()]
    assert len(lines) == len(set(lines)) >= 75
    for line in lines:
        url, commit = line.split()
        assert url.startswith("https://github.com/")
        assert len(bytes.fromhex(commit)) == 20
