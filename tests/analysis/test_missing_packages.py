"""Tests that ask for a fixture, or import a module, which is not there: no code that ran is to blame."""

import json
import subprocess
import sys

import pytest

from suspectra.cli.main import run
from suspectra.evidence.recording import RecordingSource
from suspectra_recorder.log.missing_packages import MISSING_FIXTURE, missing_package

CART = "def total(net):\n    return net * 2\n\n\ndef warm():\n    return total(1)\n"
TESTS = """\
import pytest

import cart


@pytest.fixture(scope="session", autouse=True)
def warmed():
    return cart.warm()


@pytest.fixture(autouse=True)
def again():
    return cart.warm()


def test_speed(no_benchmark):
    assert no_benchmark(cart.total, 1) == 2


def test_speed_of_zero(no_benchmark):
    assert no_benchmark(cart.total, 0) == 0


def test_total():
    assert cart.total(2) == 4
"""
FAILS = "\n\ndef test_more():\n    assert cart.total(3) == 7\n"


@pytest.fixture
def recorded(tmp_path):
    """A function that records the tests of a small program, and returns what was read."""

    def record(tests):
        (tmp_path / "cart.py").write_text(CART)
        (tmp_path / "test_cart.py").write_text(tests)
        command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-m", "pytest", "-q"]
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        return RecordingSource(tmp_path).read()

    return record


@pytest.mark.slow
def test_they_executed_nothing_and_the_cure_is_the_package(recorded, tmp_path, capsys):
    evidence = recorded(TESTS.replace("no_benchmark", "mocker"))  # pytest-mock is not installed here
    rows = {test.name.rpartition("::")[2]: len(row) for test, row in zip(evidence.tests, evidence.rows, strict=True)}
    assert (rows["test_speed"], rows["test_speed_of_zero"]) == (0, 0)
    assert rows["test_total"] > 0
    assert evidence.failing[0].message == "fixture 'mocker' not found"
    assert run(["rank", "--workspace", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "2 of 2 failing tests failed in setup: fixture 'mocker' not found" in said
    assert "Fix: run `python -m pip install pytest-mock` where the tests run" in said
    run(["why", "--workspace", str(tmp_path), "--format", "json", "--seconds", "60"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["text"][0] == "Both failing tests can't begin: fixture 'mocker' not found."
    assert any("`python -m pip install pytest-mock` where the tests run." in line for line in answer["text"])


@pytest.mark.slow
def test_they_are_in_no_group_with_real_failures(recorded, tmp_path, capsys):
    recorded(TESTS + FAILS)
    assert run(["rank", "--workspace", str(tmp_path), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    suspects = json.loads(out)["suspects"]
    assert {name for one in suspects for name in one["failing_tests"]} == {"test_cart.py::test_more"}
    assert "2 of 3 failing tests failed in setup: fixture 'no_benchmark' not found" in err


@pytest.mark.parametrize(
    ("message", "package"),
    [
        ("fixture 'benchmark' not found", "pytest-benchmark"),
        ("fixture 'mocker' not found", "pytest-mock"),
        ("fixture 'my_database' not found", ""),
        ("recursive dependency involving fixture 'benchmark' detected", ""),
    ],
)
def test_the_package_of_a_fixture(message, package):
    assert missing_package(MISSING_FIXTURE, message) == package
    assert missing_package("ValueError", message) == ""


SHOP = """\
def price(n):
    return n * 10


def as_json(n):
    import no_such_json

    return no_such_json.dumps(price(n))


def as_text(n):
    import texts.plain

    return texts.plain.of(n)
"""
TESTS_OF_SHOP = """\
from shop import as_json, as_text, price


def test_price():
    assert price(2) == 21


def test_json():
    assert as_json(1) == "10"


def test_longer_json():
    assert as_json(4) == "40"


def test_text():
    assert as_text(1) == "10"


def test_another_price():
    assert price(1) == 10
"""


@pytest.mark.slow
def test_a_module_that_tests_import_and_that_is_not_there_is_to_be_installed(tmp_path, capsys):
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "texts.py").touch()  # what is missing there is one of the project
    (tmp_path / "test_shop.py").write_text(TESTS_OF_SHOP)
    command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-m", "pytest", "-q"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)

    def why(*test):
        run(["why", *test, "--workspace", str(tmp_path), "--format", "json", "--seconds", "120"])
        return json.loads(capsys.readouterr().out)

    assert run(["status", "--workspace", str(tmp_path)]) == 0
    groups = [line for line in capsys.readouterr().out.splitlines() if line.startswith("✗")]
    assert groups[0].startswith("✗ 1 test: AssertionError"), "what fails by the code comes first, though it is fewer"
    assert any("ModuleNotFoundError at shop.py:6" in line for line in groups)
    answer = why("test_json")
    assert answer["text"][0] == "`no_such_json` is not installed where the tests run."
    assert answer["certainty"] == "certain"
    assert "Run `python -m pip install no_such_json` where the tests run, or correct the import." in answer["text"][1]
    assert not any("no_such_json" in line and "not installed" in line for line in why("test_text")["text"])
    assert why()["tests"] == ["test_shop.py::test_price"]
