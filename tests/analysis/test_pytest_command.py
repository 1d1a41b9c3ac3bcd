"""The command that runs recorded tests again: pytest, started as it was when they were recorded."""

import json
import os
import subprocess
import sys
import sysconfig
import venv

import pytest

from suspectra.recording.pytest_command import asked_about, pytest_as_in, pytest_command, pytest_words
from suspectra_recorder.log.command import command_again
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame

FOLDER = {
    "fees.py": "def fee(age):\n    return 0 if age < 6 else 20\n",
    "tests/test_fees.py": "from fees import fee\n\n\ndef test_child():\n    assert fee(6) == 0\n",
}  # `pytest` alone puts only the folder of the tests on the path
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


COMMANDS = [
    ["investigate", "--seconds", "120"],
    ["causes", "*child"],
    ["slice", "--failure"],
    ["paths", "*child", "--technique", "apg-decisions"],
]


def written(folder):
    for name, text in FOLDER.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path)


@pytest.fixture(scope="module")
def recorded_here(tmp_path_factory):
    folder = written(tmp_path_factory.mktemp("here"))
    suspectra(folder, "record", "--", *PYTEST)
    return folder


@pytest.fixture(scope="module")
def recorded_elsewhere(tmp_path_factory, elsewhere):
    folder = written(tmp_path_factory.mktemp("elsewhere"))
    (folder / "fees.py").write_text("import ages\n\n\ndef fee(age):\n    return 0 if age < ages.ADULT else 20\n")
    (folder / "conftest.py").write_text("")
    recorded = suspectra(folder, "record", "--", elsewhere, *PYTEST[1:])
    assert "recorded 1 test" in recorded.stderr, recorded.stderr
    return folder


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """The Python of an environment like this one, with one more module: no search for interpreters finds it."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment)
    installed = next(environment.glob("lib/python*/site-packages"))
    (installed / "this_one.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (installed / "ages.py").write_text("ADULT = 6\n")
    return str(environment / "bin" / "python")


def suspectra(folder, *arguments):
    command = [sys.executable, "-m", "suspectra", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "repeated"),
    [
        (PYTEST, ("-m", "pytest")),
        ([*PYTEST, "-n", "1"], ("-m", "pytest")),
        ([sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."], ("-m", "pytest")),
        (
            [*PYTEST, "--doctest-modules", "--doctest-glob", "*.md", "--import-mode=importlib", "-p", "no:xdist"],
            ("-m", "pytest", "--doctest-modules", "--doctest-glob=*.md", "--import-mode=importlib", "-pno:xdist"),
        ),
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
    ("given", "kept"),
    [
        (["-p", "no:asyncio"], ["-pno:asyncio"]),
        (["-pno:asyncio", "-Werror", "-q"], ["-pno:asyncio", "-Werror"]),
        (["-W", "ignore::DeprecationWarning", "-W", "error:old"], ["-Wignore::DeprecationWarning", "-Werror:old"]),
        (["-o", "python_files=check_*.py", "-oxfail_strict=1"], ["-opython_files=check_*.py", "-oxfail_strict=1"]),
        (["--asyncio-mode", "auto"], ["--asyncio-mode=auto"]),
        # these name code, or other places
        (["-p", "evil", "-pevil", "-p", "no:suspectra", "-W", "error::evil.Warning", "-o", "addopts=-p evil"], []),
        (["-c", "/tmp/x.ini", "--rootdir=/", "-o", "pythonpath=/tmp", "--confcutdir=/", "-p", "no:cacheprovider"], []),
    ],
)
def test_options_that_name_no_code_are_kept(given, kept):
    assert command_again({"arguments": given, "by_module": True}) == ("python", "-m", "pytest", *kept)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", COMMANDS[:2])
def test_what_only_python_m_pytest_can_import_is_run_again(recorded_here, arguments):
    answered = suspectra(recorded_here, *arguments, "--format", "json")
    assert answered.returncode == 0, answered.stderr
    assert "fees.py" in json.dumps(json.loads(answered.stdout))
    assert "No module named 'fees'" in suspectra(recorded_here, *arguments, "--", "pytest").stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "command"), [*((one, []) for one in COMMANDS), (COMMANDS[0], ["--", "pytest", "-q"])]
)
def test_what_another_environment_recorded_is_run_again_there(recorded_elsewhere, arguments, command):
    answered = suspectra(recorded_elsewhere, *arguments, "--format", "json", *command)
    assert answered.returncode == 0, answered.stderr
    assert "fees.py" in json.dumps(json.loads(answered.stdout))
    other = suspectra(recorded_elsewhere, *arguments, "--python", sys.executable, *command)
    assert "No module named 'ages'" in other.stderr


def test_an_interpreter_that_is_gone_is_not_asked_for(recorded_elsewhere, elsewhere):
    assert pytest_command([], str(recorded_elsewhere)).python == elsewhere
    os.rename(elsewhere, elsewhere + "-before")
    try:
        assert pytest_command([], str(recorded_elsewhere)).python == sys.executable
    finally:
        os.rename(elsewhere + "-before", elsewhere)


@pytest.mark.parametrize("name", ["python.sh", "tests"])
def test_nothing_but_a_python_runs_because_a_recording_names_it(tmp_path, name):
    program = tmp_path / name
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    (tmp_path / ".suspectra" / "recording").mkdir(parents=True)
    for executable in (str(program), name):
        head = json.dumps({"run": "monday", "started": 1, "executable": executable}).encode()
        (tmp_path / ".suspectra" / "recording" / "1.log").write_bytes(MAGIC + frame(FrameKind.RUN, head))
        assert pytest_command([], str(tmp_path)).python == sys.executable
    assert not (tmp_path / "ran").exists()


def test_a_question_shows_the_interpreter_and_who_named_it(recorded_elsewhere, recorded_here, elsewhere):
    assert asked_about([], str(recorded_elsewhere)) == ((elsewhere, "-m", "pytest"), True)
    assert asked_about([], str(recorded_here)) == ((sys.executable, "-m", "pytest"), False)
    assert asked_about(["pytest", "-x"], str(recorded_here))[0] == (sys.executable, "-m", "pytest", "-x")
    assert asked_about([], str(recorded_elsewhere), python=sys.executable) == ((sys.executable, "-m", "pytest"), False)


def test_pytest_runs_the_tests_of_unittest_again(tmp_path):
    assert pytest_words(["python3", "-m", "unittest", "discover"], str(tmp_path)) == ("python3", "-m", "pytest")


def test_the_first_run_finds_a_project_that_is_not_installed(tmp_path):
    (tmp_path / "test").mkdir()
    assert pytest_as_in([], str(tmp_path)) == ("python", "-m", "pytest")


@pytest.mark.parametrize("name", ["token.py", "pytest.py", "json/__init__.py"])
def test_no_module_of_a_project_is_taken_for_one_that_pytest_needs(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    assert pytest_as_in([], str(tmp_path)) == ("pytest",)


def test_links_are_not_followed_to_find_out_what_shadows_pytest(tmp_path):
    (tmp_path / "docs").symlink_to("/nowhere/docs")
    assert pytest_as_in([], str(tmp_path)) == ("python", "-m", "pytest")
    (tmp_path / "json").symlink_to("/nowhere/json")
    assert pytest_as_in([], str(tmp_path)) == ("pytest",)
