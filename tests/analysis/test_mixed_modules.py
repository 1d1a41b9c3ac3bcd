"""Tests in modules of the program are test code, and the rest of the file is program."""

import os
import subprocess
import sys

import pytest

from suspectra.evidence.recording import RecordingSource
from suspectra_recorder.recorded_files import RecordedFiles

MIXED = """\
import unittest
import pytest

def rate(kind):
    if kind == "food":
        return 7
    return 18

class Tax:
    def test_drive(self):
        return rate("car")

@pytest.fixture
def kind():
    return "food" if rate else None

def test_food(kind):
    if kind:
        assert rate(kind) == 7

class TestTax:
    kinds = ["book"]

    def value(self):
        return rate("book") or 3

    def test_other(self):
        def inner():
            return self.value()
        assert inner() == 19

class More(unittest.TestCase):
    def test_drive(self):
        self.assertEqual(Tax().test_drive(), 18)
"""


def record(folder, *arguments):
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "suspectra", "record", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(), ("--counts",)], ids=["", "counts"])
@pytest.mark.parametrize("ini", ["[pytest]\npython_files = *.py\n", ""], ids=["pattern", "named"])
def test_only_the_rest_is_measured(tmp_path, ini, counts):
    (tmp_path / "pytest.ini").write_text(ini or "[pytest]\n")
    (tmp_path / "tax.py").write_text(MIXED)
    done = record(tmp_path, *counts, "--", "pytest", *([] if ini else ["tax.py"]))
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    evidence = RecordingSource(tmp_path, edges=True).read()
    elements, functions = evidence.elements, evidence.elements.functions
    measured = {functions[n].name for n in elements.function.tolist() if n >= 0}
    assert measured == {"rate", "Tax.test_drive"}
    around = [line for line, n in zip(elements.line.tolist(), elements.function.tolist(), strict=True) if n < 0]
    assert around == [1, 2, 4, 9, 10]  # imports and definitions of the program
    executed = {
        test.name: [line for line, n in zip(elements.line[row], elements.function[row], strict=True) if n >= 0]
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
    }
    assert executed == {
        "tax.py::test_food": [5, 6],
        "tax.py::TestTax::test_other": [5, 7],
        "tax.py::More::test_drive": [5, 7, 11],
    }
    edges = evidence.edges.edges
    assert {functions[n].name for n in edges.function.tolist() if n >= 0} == measured
    assert "may be a suspect" not in done.stderr


def test_mutants_are_of_the_program_alone(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\npython_files = *.py\n")
    (tmp_path / "tax.py").write_text(MIXED)
    record(tmp_path, "--", "pytest")
    command = [sys.executable, "-m", "suspectra", "investigate"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "tax.py:7: tax.py::TestTax::test_other passes with `18` → `19`" in done.stdout + done.stderr
    assert "tax.py:25: " not in done.stdout + done.stderr


def test_which_files_are_mixed(tmp_path):
    every, some = (RecordedFiles(str(tmp_path), patterns=[pattern]) for pattern in ("*.py", "check_*.py"))
    root = os.path.realpath(tmp_path)
    files = {name: os.path.join(root, *name.split("/")) for name in ("app/a.py", "app/test_a.py", "tests/a.py")}
    assert [every.is_mixed(path) for path in files.values()] == [True, False, False]
    assert [every.is_test_module(path) for path in files.values()] == [False, True, True]
    assert not every.is_mixed(os.path.join(root, "conftest.py"))
    assert not some.is_mixed(os.path.join(root, "check_a.py"))
    assert some.is_test_module(os.path.join(root, "check_a.py"))
    some.mixed.add(files["app/a.py"])
    assert some.is_mixed(files["app/a.py"])


WORKERS = ("--", "pytest", "-n", "2", "-p", "xdist.plugin")


@pytest.mark.parametrize(
    ("arguments", "is_said"),
    [
        (("--", "pytest"), True),
        pytest.param(WORKERS, True, marks=pytest.mark.slow),
        (("--include-tests", "--", "pytest"), False),
    ],
    ids=["", "workers", "include-tests"],
)
def test_it_is_said_at_once_where_nothing_can_be_a_suspect(tmp_path, arguments, is_said):
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert 1 == 2\n")
    said = "nothing of it may be a suspect: what the tests executed is test code"
    assert (said in record(tmp_path, *arguments).stderr) == is_said
