"""What another Python records is ranked by this one: `tests/pythons/run 3.14` sets it up and runs this."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "ledger"
RECORDERS = ("probes", "monitoring")


@pytest.fixture(scope="module")
def python():
    path = os.environ.get("OTHER_PYTHON", "")
    if not path:
        pytest.fail("these tests need another Python: run them by tests/pythons/run 3.14")
    return path


def suspectra(folder, *arguments):
    command = [sys.executable, "-m", "suspectra", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)


def ranking(folder, *options):
    """The demo's suspects after its tests have been recorded there."""
    shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns(".*", "__pycache__", "*.html"))
    done = suspectra(folder, "record", *options)
    assert done.returncode == 1, done.stdout + done.stderr
    ranked = suspectra(folder, "rank", "--format", "json")
    assert ranked.returncode == 0, ranked.stderr
    return done.stderr, json.loads(ranked.stdout)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return ranking(tmp_path_factory.mktemp("this") / "demo", "--python", sys.executable, "--", "pytest", "-q")[1]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
@pytest.mark.parametrize("recorder", RECORDERS)
def test_the_ranking_is_that_of_this_python(tmp_path, python, expected, recorder, workers):
    said, found = ranking(tmp_path / "demo", "--python", python, "--recorder", recorder, "--", "pytest", "-q", *workers)
    assert ("by sys.monitoring" in said) is (recorder == "monitoring")
    assert found["suspects"]
    assert found["suspects"] == expected["suspects"]


def test_an_environment_with_pytest_alone_is_enough(tmp_path, python, expected):
    alone = tmp_path / "alone"
    subprocess.run([python, "-m", "venv", "--without-pip", alone], check=True)
    pip = [python, "-m", "pip", "--python", str(alone / "bin" / "python"), "install", "--quiet", "pytest"]
    subprocess.run([*pip, "--disable-pip-version-check"], check=True, capture_output=True)
    said, found = ranking(
        tmp_path / "demo", "--python", str(alone / "bin" / "python"), "--recorder", "monitoring", "--", "pytest", "-q"
    )
    assert "by sys.monitoring" in said
    assert found["suspects"] == expected["suspects"]


def test_unittest_without_a_test_to_run_is_a_success(tmp_path, python):
    (tmp_path / "test_sum.py").write_text(
        "import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test(self):\n        self.assertEqual(1 + 1, 2)\n"
    )
    assert suspectra(tmp_path, "record", "--", python, "-m", "unittest").returncode == 0
    again = suspectra(tmp_path, "record", "--failed-and-affected", "--", python, "-m", "unittest")
    assert (again.returncode, again.stderr.splitlines()[-1].partition(" tests ")[0]) == (0, "suspectra: recorded 0")
    none = suspectra(tmp_path, "record", "--", python, "-m", "unittest", "-k", "nothing")
    assert (none.returncode, none.stderr.splitlines()[-1]) == (5, "suspectra: no tests were run")


def test_syntax_that_this_python_does_not_know_is_said(tmp_path, python):
    (tmp_path / "stats.py").write_text("def first[T](xs: list[T]) -> T:\n    n = 1\n    return xs[n]\n")
    (tmp_path / "test_stats.py").write_text("from stats import first\n\ndef test():\n    assert first([1, 2]) == 1\n")
    assert suspectra(tmp_path, "record", "--python", python, "--", "pytest", "-q").returncode == 1
    said = suspectra(tmp_path, "investigate").stderr
    if sys.version_info >= (3, 12):
        assert "newer than Python" not in said
    else:
        assert "stats.py: it uses syntax that is newer than Python" in said
        assert "so it can't be mutated. Fix: install Suspectra under the Python of the tests" in said
