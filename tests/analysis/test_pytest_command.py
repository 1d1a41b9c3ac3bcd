"""The command that runs recorded tests again: pytest, started as it was when they were recorded."""

import json
import subprocess
import sys

import pytest

from suspectra.recording.pytest_command import pytest_command

FOLDER = {
    "fees.py": "def fee(age):\n    return 0 if age < 6 else 20\n",
    "tests/test_fees.py": "from fees import fee\n\n\ndef test_child():\n    assert fee(6) == 0\n",
}  # `pytest` alone puts only the folder of the tests on the path
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


@pytest.fixture
def folder(tmp_path):
    for name, text in FOLDER.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def suspectra(folder, *arguments):
    command = [sys.executable, "-m", "suspectra", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("command", "repeated"),
    [
        (PYTEST, ("-m", "pytest")),
        ([*PYTEST, "-n", "1"], ("-m", "pytest")),
        ([sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."], ("-m", "pytest")),
        (["pytest", "-q", "-c", "/dev/null", "-o", "pythonpath=.", "--rootdir=."], None),
    ],
)
def test_pytest_is_started_as_it_was(folder, command, repeated):
    (folder / "tests" / "test_more.py").write_text(
        "import unittest\nfrom fees import fee\n\n\nclass Case(unittest.TestCase):\n"
        "    def test_adult(self):\n        self.assertEqual(fee(6), 20)\n"
    )
    (folder / "tests" / "__init__.py").write_text("")
    recorded = suspectra(folder, "record", "--", *command)
    assert "recorded" in recorded.stderr, recorded.stderr
    found = pytest_command([], str(folder)).arguments[1:]
    assert found == repeated if repeated else found[0] == "-c"


@pytest.mark.parametrize(
    "arguments",
    [
        ["investigate", "--seconds", "20"],
        ["causes", "*child"],
        ["slice", "--failure"],
        ["paths", "*child", "--technique", "apg-decisions"],
    ],
)
def test_what_only_python_m_pytest_can_import_is_run_again(folder, arguments):
    suspectra(folder, "record", "--", *PYTEST)
    answered = suspectra(folder, *arguments, "--format", "json")
    assert answered.returncode == 0, answered.stderr
    assert "fees.py" in json.dumps(json.loads(answered.stdout))
    assert "No module named 'fees'" in suspectra(folder, *arguments, "--", "pytest").stderr
