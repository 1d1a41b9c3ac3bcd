"""At 80 columns, each command prints locations whole, since terminals open only those."""

import re
import subprocess
import sys

import pytest

from suspectra.cli.main import run

FOLDERS = "services/accounting_backend/monthly_reports"
DEEP = f"{FOLDERS}/currency_conversion.py"
CUT = re.compile(r"…\S*\.py:\d|currency_[^\s:]*…|\.py:…")  # sentences may name a file without its folders
PROGRAM = """\
def converted(amount, rate):
    if rate <= 0:
        return 0
    return amount + rate


def total(amounts, rate):
    return sum(converted(amount, rate) for amount in amounts if amount is not None and isinstance(amount, int))
"""
TESTS = f"""\
from {FOLDERS.replace("/", ".")}.currency_conversion import total

def test_one():
    assert total([2], 2) == 4

def test_two():
    assert total([2, 3], 4) == 20

def test_nothing():
    assert total([], 2) == 0
"""


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep")
    (folder / FOLDERS).mkdir(parents=True)
    (folder / DEEP).write_text(PROGRAM)
    (folder / "test_total.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["rank"],
        ["rank", "--technique", "ochiai"],
        ["rank", "--format", "summary"],
        ["status"],
        ["markov"],
        ["markov", f"{DEEP}:4"],
        ["explain", f"{DEEP}:4"],
        ["explain", f"{DEEP}:3", "--why-not"],
        ["explain", "--tie"],
        ["paths", "test_total.py::test_two"],
        ["causes", "test_total.py::test_two"],
    ],
    ids=" ".join,
)
def test_every_location_is_whole(deep, monkeypatch, capsys, arguments):
    monkeypatch.chdir(deep)
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*arguments, *(["--workspace", "."] if arguments[0] == "rank" else [])]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"(?<!\S){re.escape(DEEP)}:\d+", out), out
    assert not CUT.search(out), out
