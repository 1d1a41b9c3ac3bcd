"""What is said of tests that can't be run again, and of what is different in those that can: real runs of pytest."""

import subprocess
import sys

import pytest

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:pytest-lsp"]
SHOP = "def price(amount):\n    if amount > 3:\n        return amount * 2\n    return amount\n"
UNITTEST = """\
import unittest

from shop import price


class Prices(unittest.TestCase):
    def __init__(self, amount):
        super().__init__("check")
        self.amount = amount

    def check(self):
        self.assertEqual(price(self.amount), self.amount)


def load_tests(loader, tests, pattern):
    return unittest.TestSuite([Prices(5)])
"""
FIXTURES = """\
import time

import pytest

from shop import price


@pytest.fixture(scope="module")
def slow():
    time.sleep(0.5)


@pytest.fixture(scope="module")
def quick():
    pass


def test_alone(quick):
    assert price(4) == 4


def test_slow(slow, quick):
    assert price(5) == 5
"""


def suspectra(folder, *arguments):
    command = [sys.executable, "-m", "suspectra", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def of_unittest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unittest")
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(UNITTEST)
    suspectra(folder, "record", "--", sys.executable, "-m", "unittest", "-q", "test_shop")
    return folder


@pytest.fixture(scope="module")
def of_pytest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pytest")
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(FIXTURES)
    suspectra(folder, "record", "--", *PYTEST)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["investigate"], ["causes", "*check"], ["slice", "--failure"], ["paths", "*check"]]
)
def test_what_only_unittest_finds_is_said(of_unittest, arguments):
    said = suspectra(of_unittest, *arguments).stderr
    assert "pytest, which runs tests again, does not find test_shop.py::Prices::check; only unittest does" in said


def test_no_more_time_is_offered_where_nothing_could_be_run(of_unittest):
    said = suspectra(of_unittest, "investigate", "--seconds", "120").stdout
    assert "0 altered runs in" in said
    assert said.rstrip().endswith("; nothing more could be run")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--fast"], "unrecognized arguments: --fast"),
        (["-p", "fast"], "Error importing plugin"),
        (["--maxfail=x"], "argument --maxfail: invalid int value: 'x'"),
    ],
)
def test_the_error_that_ended_pytest_is_named_with_the_whole_command(of_pytest, options, cause):
    said = suspectra(of_pytest, "slice", "--failure", "--", "python", "-m", "pytest", *options).stderr
    assert f"pytest ended before it collected it: {cause}" in said
    assert f"run `python -m pytest {' '.join(options)} test_shop.py` to see why" in said


@pytest.mark.slow
@pytest.mark.parametrize(("test", "named"), [("test_alone", False), ("test_slow", True)])
def test_a_shared_fixture_is_named_where_it_takes_long(of_pytest, test, named):
    said = suspectra(of_pytest, "investigate", "--seconds", "8", f"test_shop.py::{test}", "--", *PYTEST).stderr
    assert ("each run sets up slow (module) anew, which takes long" in said) is named
    assert "quick (module)" not in said
