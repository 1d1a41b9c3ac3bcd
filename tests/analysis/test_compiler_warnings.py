"""What Python's compiler thinks of a source is no business of the commands that read it."""

import os
import subprocess
import sys

import pytest

CART = """\
DIGITS = "\\d"


def total(prices):
    found = 0
    for price in prices:
        if price > 1or found:
            found = price
    return found
"""
TEST = """\
from cart import total

def test_one():
    assert total([2]) == 2

def test_two():
    assert total([2, 3]) == 5
"""
PYTEST = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
TWO = "test_cart.py::test_two"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    (folder / "cart.py").write_text(CART)
    (folder / "test_cart.py").write_text(TEST)
    assert suspectra(folder, "record", "--", *PYTEST).returncode == 1
    return folder


def suspectra(folder, *words):
    environment = os.environ | {"PYTHONWARNINGS": "always::SyntaxWarning,always:invalid:DeprecationWarning"}
    command = [sys.executable, "-m", "suspectra", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("slice", "--failure"),
        ("markov", "cart.py:7"),
        ("report", "--html", "page.html"),
        ("investigate", "--seconds", "5", "--", *PYTEST),
        ("causes", TWO, "--seconds", "5", "--", *PYTEST),
        ("paths", TWO, "--seconds", "5", "--", *PYTEST),
    ],
    ids=lambda words: words[0],
)
def test_a_source_that_gets_warnings_is_read_without_them(workspace, words):
    done = suspectra(workspace, *words)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr + done.stdout


@pytest.mark.slow
def test_it_is_read_as_any_other(workspace):
    assert "cart.py:7" in suspectra(workspace, "slice", "--failure").stdout
