"""Tests that have one name: made by plugins of pytest, or by a command that names a file twice."""

import json
import os
import subprocess
import sys

import pytest

from suspectra.evidence.recording import RecordingSource

PROGRAM = """\
def price(net):
    if net > 100:
        return net
    return net + 5
"""
CONFTEST = """\
import pytest
from shop import price


class Case(pytest.Item):
    net = 0

    def runtest(self):
        assert price(self.net) > self.net

    def reportinfo(self):
        return self.path, 0, self.name


class Cases(pytest.File):
    def collect(self):
        for net in self.path.read_text().split():
            case = Case.from_parent(self, name="case")
            case.net = int(net)
            yield case


def pytest_collect_file(file_path, parent):
    return Cases.from_parent(parent, path=file_path) if file_path.suffix == ".cases" else None
"""
NAMES = ["some.cases::case", "some.cases::case[1]", "some.cases::case[2]"]


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop.py").write_text(PROGRAM)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "some.cases").write_text("200 10 20")
    return tmp_path


def suspectra(folder, *arguments):
    """Without plugins of others: pytest-lsp takes part in tests that are not functions, and fails."""
    return subprocess.run(
        [sys.executable, "-m", "suspectra", *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def record(folder, *arguments, options=()):
    done = suspectra(folder, "record", *options, "--", sys.executable, "-m", "pytest", "-q", *arguments)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done


def verdicts(folder):
    return {test.name: test.verdict.value for test in RecordingSource(folder).read().tests}


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["-p", "xdist", "-n", "2"]], ids=["plain", "xdist"])
def test_a_failure_before_tests_of_the_same_name_that_pass_is_kept(shop, more):
    done = record(shop, *more)
    assert verdicts(shop) == dict(zip(NAMES, ["failed", "passed", "passed"], strict=True)), done.stdout
    ranked = json.loads(suspectra(shop, "rank", "--format", "json").stdout)
    assert (ranked["failed"], ranked["passed"]) == (1, 2)
    assert (ranked["suspects"][0]["line"], ranked["suspects"][0]["failing_tests"]) == (3, NAMES[:1])


def test_each_has_the_lines_that_it_ran_itself(shop):
    record(shop)
    evidence = RecordingSource(shop).read()
    lines = {
        test.name: sorted(set(evidence.elements.line[row].tolist()) & {3, 4})
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
    }
    assert lines == dict(zip(NAMES, [[3], [4], [4]], strict=True))


@pytest.mark.slow
def test_those_of_one_file_that_is_no_python_run_together(shop):
    record(shop)
    done = record(shop, options=["--failed-and-affected"])
    assert "1 failed, 2 passed" in done.stdout
    assert verdicts(shop) == dict(zip(NAMES, ["failed", "passed", "passed"], strict=True))


@pytest.mark.slow
def test_one_that_is_gone_is_forgotten(shop):
    record(shop)
    (shop / "some.cases").write_text("10 20")
    record(shop)
    assert verdicts(shop) == {NAMES[0]: "passed", NAMES[1]: "passed"}


@pytest.mark.slow
def test_a_file_that_is_named_twice_is_recorded_twice(tmp_path):
    (tmp_path / "test_once.py").write_text(
        "ran = []\n\ndef test_first_time():\n    ran.append(1)\n    assert len(ran) > 1\n"
    )
    record(tmp_path, "--keep-duplicates", "test_once.py", "test_once.py")
    first = verdicts(tmp_path)
    record(tmp_path, "test_once.py")
    assert first == {"test_once.py::test_first_time": "failed", "test_once.py::test_first_time[1]": "passed"}
    assert verdicts(tmp_path) == {"test_once.py::test_first_time": "failed"}


@pytest.mark.slow
def test_the_one_that_failed_runs_again_altered(shop):
    (shop / "some.cases").write_text("10 200 20")
    record(shop)
    done = suspectra(shop, "causes", NAMES[1])
    assert "shop.py:2  if net > 100:  → true" in done.stdout, done.stdout + done.stderr
