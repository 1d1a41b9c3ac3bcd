"""Doctests that fail, run again altered and traced by real processes of pytest."""

import json
import subprocess
import sys

import pytest

from suspectra.evidence.recording import RecordingSource

SHOP = '''"""A shop."""


def rate(country):
    """The rate.

    >>> rate("DE")
    19
    """
    rates = {"FR": 20}
    return rates[country]


def price(net):
    """A price.

    >>> price(100)
    120
    """
    total = net + 20
    if total > 110:
        total += 5
    return total


def age(text):
    """An age.

    >>> age("4")
    4
    """
    if text.isdigit():
        raise ValueError(text)
    return 4
'''
AGE, RATE, PRICE = "shop.py::shop.age", "shop.py::shop.rate", "shop.py::shop.price"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(SHOP)
    (folder / "guide.txt").write_text(">>> from shop import rate\n>>> rate('IT')\n22\n")
    options = ["-q", "-p", "no:cacheprovider", "--doctest-modules", "--doctest-glob", "*.txt"]
    suspectra(folder, "record", "--", sys.executable, "-m", "pytest", *options)
    return folder


def suspectra(folder, *arguments):
    command = [sys.executable, "-m", "suspectra", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_what_an_example_raises_is_traced(shop):
    done = suspectra(shop, "slice", "--failure", "--test", RATE)
    assert "shop.py:11  return rates[country]" in done.stdout, done.stderr
    assert "from shop.py:10" in done.stdout


@pytest.mark.slow
def test_the_doctest_of_a_text_file_is_traced(shop):
    done = suspectra(shop, "slice", "--failure", "--test", "guide.txt::guide.txt")
    assert "shop.py:11  return rates[country]" in done.stdout, done.stderr


def test_a_comparison_of_what_was_printed_is_said_to_be_no_trace(shop):
    done = suspectra(shop, "slice", "--failure", "--test", PRICE)
    assert "fails where a doctest compares what an example printed, which can't be traced. Fix: write" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("test", "line"), [(PRICE, 21), (AGE, 32)])
def test_doctests_are_investigated_without_their_options(shop, test, line):
    done = suspectra(shop, "investigate", "--seconds", "120", "--format", "json", test)
    made = json.loads(done.stdout)["experiments"]
    assert any(one["outcome"] == "passed" and one["line"] == line for one in made), done.stderr


@pytest.mark.slow
def test_doctests_that_unittest_ran_are_those_of_pytest(tmp_path):
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "test_shop.py").write_text(
        "import doctest\nimport shop\n\n"
        "def load_tests(loader, tests, pattern):\n    tests.addTests(doctest.DocTestSuite(shop))\n    return tests\n"
    )
    suspectra(tmp_path, "record", "--", sys.executable, "-m", "unittest")
    tests = RecordingSource(tmp_path).read().tests
    assert {(test.name, str(test.location)) for test in tests} == {
        (AGE, "shop.py:27"),
        (PRICE, "shop.py:15"),
        (RATE, "shop.py:5"),
    }
    found = suspectra(tmp_path, "investigate", "--format", "json")
    repairs = {(e["test"], e["line"]) for e in json.loads(found.stdout)["experiments"] if e["outcome"] == "passed"}
    assert (PRICE, 21) in repairs, found.stderr
