"""Rebuilding a bug: from histories of the two lists and of a project to what is kept, with a project of three lines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from suspectra.evaluation.corpus import SubjectFile, read_subject

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "bugsinpy"))

import bugs
import rebuild
from archive import NotThere

BEFORE = "def total(prices):\n    found = 0\n    for price in prices:\n        found = price\n    return found\n"
TEST = "from cart.sums import total\n\ndef test_one():\n    assert total([2]) == 2\n"
MORE = TEST + "\ndef test_two():\n    assert total([2, 3]) == 5\n\ndef test_elsewhere():\n    assert open('gone')\n"
SUBJECT = "#,PYTHON_V,BENCHMARK_NAME,BUG_NUMBER,TARGET_DIR,TEST_SUITE,EXCLUDE,TARGET_FAILING_TESTS\n"
TRUTH = {
    "FILE_NAME": "cart/sums.py", "MODULE_SIZE": 5, "LINES": [4], "EXTENDED_LINES": [],
    "FUNCTIONS": ["total::1::5"], "EXTENDED_FUNCTIONS": [],
}  # fmt: skip


def history(folder: Path, *states: dict[str, str]) -> list[str]:
    """A repository with one commit for each state of its files."""
    folder.mkdir()
    commits = []

    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        run = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
        return run.stdout.strip()

    git("init", "-q")
    for files in states:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", "Sum up")
        commits.append(git("rev-parse", "HEAD"))
    return commits


@pytest.fixture
def cart(tmp_path, monkeypatch):
    """The one bug of a list, in a cache that has all it needs."""
    clones = tmp_path / "clones"
    clones.mkdir()
    project = {"cart/__init__.py": "", "cart/sums.py": BEFORE, "tests/test_sums.py": TEST}
    fixed = {"cart/sums.py": BEFORE.replace("found = price", "found += price"), "tests/test_sums.py": MORE}
    faulty_commit, fixed_commit = history(clones / "cart", project, fixed)
    info = f'buggy_commit_id="{faulty_commit}"\nfixed_commit_id ="{fixed_commit}"\ntest_file="tests/test_sums.py"\n'
    described = {
        "projects/cart/project.info": 'github_url="https://example.org/cart/"\n',
        "projects/cart/bugs/1/bug.info": info,
        "projects/cart/bugs/1/requirements.txt": "Flask==1.1.2\n",
    }
    experiment = "9,3.8,cart,1,cart,tests/test_sums.py,-,tests/test_sums.py::test_two\n"
    experiments = {
        "bash_script_generator/info/subject_info.csv": SUBJECT + experiment,
        "metric_computation/ground_truth_info.json": json.dumps({"cart:1": [TRUTH]}),
        "metric_computation/size_counts.json": json.dumps({"cart:1": {"LINE_COUNT": 5, "FUNCTION_COUNT": 1}}),
    }
    for name, files in (("BUGSINPY", described), ("EXPERIMENTS", experiments)):
        (commit,) = history(clones / name, files)
        monkeypatch.setattr(bugs, name, (f"https://example.org/{name}", commit))
    python = rebuild.Environment(Path(sys.executable), (), {}, {})
    monkeypatch.setattr(rebuild.Environment, "make", classmethod(lambda *_: python))
    monkeypatch.setattr(rebuild, "FOLDER", tmp_path / "subjects")
    (bug,) = bugs.read_bugs(clones)
    return bug, tmp_path


@pytest.mark.slow
def test_a_bug_is_rebuilt_and_kept(cart):
    bug, cache = cart
    assert (bug.name, bug.required, bug.faults[0].lines) == ("cart_1", {"flask": "1.1.2"}, (4,))
    row = rebuild.rebuild(bug, cache, sys.executable)
    assert (row["tests"], row["failing"]) == (2, 1)  # the test that fails elsewhere is left out
    spectrum = read_subject(SubjectFile("", "cart_1", cache / "subjects" / row["path"])).spectrum
    assert spectrum.tests == ("tests/test_sums.py::test_one", "tests/test_sums.py::test_two")
    assert spectrum.failed.tolist() == [False, True]
    assert set(spectrum.elements.files) <= {"cart/__init__.py", "cart/sums.py"}
    found = rebuild.investigate(bug, cache, sys.executable, 5.0)
    assert found["investigation_statement"] == found["investigation_function"] == 1.0


@pytest.mark.slow
def test_a_bug_is_not_kept_whose_test_fails_where_it_is_fixed(cart, monkeypatch):
    bug, cache = cart
    other = rebuild.replace(bug, failing=frozenset({"tests/test_sums.py::test_elsewhere"}))
    with pytest.raises(NotThere, match="test_elsewhere does not pass where it is fixed"):
        rebuild.rebuild(other, cache, sys.executable)
    gone = rebuild.replace(bug, failing=frozenset({"tests/test_sums.py::test_gone"}))
    with pytest.raises(NotThere, match="were not found"):
        rebuild.rebuild(gone, cache, sys.executable)


def test_tests_of_a_bug_have_no_parameters(cart):
    bug, _ = cart
    assert bug.shows("tests/test_sums.py::test_two[3-5]")
    assert not bug.shows("tests/test_sums.py::test_two_more")
    assert bug.ranks("cart/sums.py")
    assert not bug.ranks("carts/sums.py")
