"""`causes` with several failing tests: how they share the time, and which steps belong to which test."""

import subprocess
import sys

import pytest

from suspectra.causes.several_failures import LEAST_S, Failures
from suspectra.experiments.repeated_tests import FailingTest

SHOP = """\
def fee(days):
    total = 0
    for day in range(days):
        if day % 3 == 0:
            total += day
        else:
            total += 2
    return total


def label(names):
    text = ""
    for name in names:
        if text:
            text += ";"
        text += name
    return text
"""
TESTS = """\
from shop import fee, label


def test_fee():
    assert fee(9) == 20


def test_label():
    assert label(["a", "b"]) == "a,b"
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TESTS)
    suspectra(folder, "record", "--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    return folder


def suspectra(folder, *arguments):
    command = [sys.executable, "-m", "suspectra", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_steps_are_shown_below_the_name_of_their_test(shop):
    said = suspectra(shop, "causes", "test_shop.py", "--seconds", "40").stderr.splitlines()
    at = [said.index(f"test_shop.py::{name}:") for name in ("test_fee", "test_label")]
    assert all(said[line + 1].startswith("the search goes on before shop.py:") for line in at), said
    alone = suspectra(shop, "causes", "test_shop.py::test_label").stderr
    assert "test_label:" not in alone
    assert "states there can make the test pass" in alone
    assert "altered" not in alone


@pytest.mark.parametrize(("seconds", "first"), [(100.0, 50.0), (12.0, LEAST_S), (4.0, 4.0)])
def test_a_search_leaves_half_of_the_time_to_the_others(seconds, first):
    asked = []

    def ask(test, left, known):
        asked.append(left)
        raise StopIteration

    tests = [FailingTest(f"test_a.py::{name}", "test_a.py") for name in ("test_a", "test_b")]
    with pytest.raises(RuntimeError):
        list(Failures(tests, ask, seconds=seconds).steps())
    assert asked[0] == pytest.approx(first, abs=0.5)


def test_of_many_tests_without_time_the_first_are_named():
    failures = Failures([FailingTest(f"test_{n}", "test_a.py") for n in range(9)], lambda *asked: None, seconds=0.0)
    assert list(failures.steps()) == []
    assert failures.problems[0].cause == "there was no time for test_0, test_1, test_2 and 6 more"
