"""Runs that other programs start: the environment of an editor's terminal, tox, nox and uv."""

import os
import shutil
import subprocess
import sys
import textwrap
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from suspectra.evidence.recording import RecordingSource
from suspectra_recorder.settings import BOOTSTRAP_FOLDER, every_pytest, recording_folder

APP = "def double(n):\n    return n + 2\n"
TESTS = """\
import app

def test_two():
    assert app.double(2) == 4

def test_three():
    assert app.double(3) == 6
"""
EXPECTED = {"test_two": "passed", "test_three": "failed"}
PURE = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "typing_extensions")


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    (folder / "test_app.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    return folder


def terminal(workspace, **environment):
    """The environment of a terminal in which every pytest is recorded."""
    variables = every_pytest(str(workspace), sys.executable)
    return {**os.environ, **variables, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment}


def done(command, folder, environment):
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def verdicts(workspace):
    tests = RecordingSource(workspace).read().tests
    return {test.name.rpartition("::")[2]: test.verdict.value for test in tests}


PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        PYTEST,
        [*PYTEST, "-p", "xdist", "-n", "2"],
        [str(Path(sys.executable).with_name("pytest")), "-q"],
        [
            sys.executable,
            "-c",
            "import subprocess, sys; sys.exit(subprocess.call(['sh', '-c', sys.argv[1]]))",
            "PYTEST",
        ],
        [sys.executable, "-c", "import importlib as i; raise SystemExit(i.import_module('pyt' + 'est').main(['-q']))"],
    ],
    ids=["module", "xdist", "script", "a program that starts it", "a program that imports it"],
)
def test_a_terminal_in_which_every_pytest_is_recorded(work, command):
    shell = f"{sys.executable} -m pytest -q"
    ended = done([shell if word == "PYTEST" else word for word in command], work, terminal(work))
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert verdicts(work) == EXPECTED
    assert ended.stdout.count(" first suspects ") == 1
    assert "   1  app.py:2  double" in ended.stdout


@pytest.mark.slow
def test_only_runs_in_the_workspace_are_recorded(work, tmp_path):
    below = work / "below"
    below.mkdir()
    shutil.copy(work / "test_app.py", below)
    assert done([*PYTEST, "--rootdir", str(work)], below, terminal(work, PYTHONPATH=path(work))).returncode == 1
    assert set(verdicts(work)) == {"test_two", "test_three"}
    other = tmp_path / "other"
    shutil.copytree(work, other, ignore=shutil.ignore_patterns(".suspectra"))
    before = os.listdir(recording_folder(str(work)))
    ended = done(PYTEST, other, terminal(work))
    assert "suspectra" not in ended.stdout + ended.stderr
    assert os.listdir(recording_folder(str(work))) == before
    assert not (other / ".suspectra").exists()


def path(*more):
    return os.pathsep.join([BOOTSTRAP_FOLDER, *map(str, more)])


def test_a_list_of_tests_is_no_run(work):
    assert done([*PYTEST, "--collect-only"], work, terminal(work)).returncode == 0
    assert not (work / ".suspectra").exists()


@pytest.mark.slow
def test_other_programs_and_processes_of_tests_find_what_they_would_find_without_it(work):
    look = (
        "import os, sys; print(sorted(n for n in os.environ if 'SUSPECTRA' in n), [p for p in sys.path if 'boot' in p])"
    )
    assert done([sys.executable, "-c", look], work, terminal(work)).stdout.endswith("[]\n")
    (work / "test_app.py").write_text(
        "import os, subprocess, sys\n\ndef test_environment():\n"
        f"    assert os.environ['PYTHONPATH'] == {BOOTSTRAP_FOLDER!r}  # for the processes that the test starts\n"
        "    assert not {'SUSPECTRA_WORKSPACE', 'SUSPECTRA_RECORD', 'PYTEST_PLUGINS'} & set(os.environ)\n\n"
        "def test_pytest_in_a_test(tmp_path):\n"
        "    (tmp_path / 'test_inner.py').write_text('def test_inner(): pass')\n"
        "    subprocess.run([sys.executable, '-m', 'pytest', str(tmp_path)], check=True)\n"
    )
    ended = done(PYTEST, work, terminal(work))
    assert ended.returncode == 0, ended.stdout
    assert verdicts(work) == {"test_environment": "passed", "test_pytest_in_a_test": "passed"}


@pytest.mark.slow
def test_a_command_that_records_works_in_such_a_terminal(work):
    command = [sys.executable, "-m", "suspectra", "record", "--no-suspects", "--", *PYTEST]
    ended = done(command, work, terminal(work))
    assert ended.returncode == 1
    assert "recorded 2 tests" in ended.stderr
    assert verdicts(work) == EXPECTED


@pytest.mark.slow
def test_altered_runs_are_not_recorded_in_such_a_terminal(work):
    assert done(PYTEST, work, terminal(work)).returncode == 1
    logs = os.listdir(recording_folder(str(work)))
    ended = done([sys.executable, "-m", "suspectra", "investigate"], work, terminal(work))
    assert "repairs 1 test" in ended.stdout, ended.stdout + ended.stderr
    assert os.listdir(recording_folder(str(work))) == logs
    assert not (work / ".suspectra" / "children").exists()


# programs that make an environment of their own


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """pytest and its plugin as wheels, so that environments can be made without a network."""
    out = tmp_path_factory.mktemp("wheels")
    for name in PURE:
        try:
            found = distribution(name)
        except ModuleNotFoundError:
            continue  # only older versions of Python need it
        with zipfile.ZipFile(out / f"{name}-{found.version}-py3-none-any.whl", "w") as wheel:
            for file in found.files:
                if not {"..", "__pycache__"} & set(file.parts):
                    wheel.write(found.locate_file(file), str(file))
    hatch = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    subprocess.run(hatch, cwd=Path(__file__).parents[2] / "analysis", check=True, capture_output=True)
    return out


@pytest.fixture
def surroundings(wheels, tmp_path):
    """Without an index, and with this environment's programs on the PATH."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "TOX_", "NOX"))}
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "UV_OFFLINE": "1", "UV_FIND_LINKS": str(wheels)}
    offline |= {"UV_NO_INDEX": "1", "UV_CACHE_DIR": str(tmp_path / "uv"), "UV_PYTHON": sys.executable}
    return {**environ, **offline, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def program(name):
    """A program of this environment."""
    found = Path(sys.executable).with_name(name)
    assert found.exists(), f"{name} is missing; this installs it: pip install {name}"
    return str(found)


def write(file, text):
    file.write_text(textwrap.dedent(text))


RECORD = [sys.executable, "-m", "suspectra", "record", "--no-suspects", "--"]


@pytest.mark.slow
def test_tox_with_the_plugin_in_its_environment(work, surroundings):
    write(
        work / "tox.ini",
        """\
        [tox]
        no_package = true

        [testenv]
        deps =
            pytest
            pytest-suspectra
        commands = pytest --suspectra {posargs}
        """,
    )
    ended = done([program("tox"), "-q"], work, surroundings)
    assert verdicts(work) == EXPECTED, ended.stdout + ended.stderr
    assert ended.returncode == 1
    assert "   1  app.py:2  double" in ended.stdout  # by the command on the PATH


TOX = """\
[tox]
no_package = true

[testenv]
deps = pytest
commands = pytest {posargs}
"""
PASSED = "pass_env = PYTHONPATH, PYTEST_*, SUSPECTRA_*\n"


@pytest.mark.slow
def test_tox_passes_the_recorder_only_if_it_is_told_to(work, surroundings):
    write(work / "tox.ini", TOX)
    ended = done([*RECORD, program("tox"), "-q"], work, surroundings)
    assert "nothing was recorded" in ended.stderr
    assert "1 failed, 1 passed" in ended.stdout
    write(work / "tox.ini", TOX + PASSED)
    ended = done([*RECORD, program("tox"), "-q"], work, surroundings)
    assert "recorded 2 tests" in ended.stderr, ended.stdout + ended.stderr
    assert verdicts(work) == EXPECTED
    assert ended.returncode == 1


@pytest.mark.slow
def test_tox_in_a_terminal_in_which_every_pytest_is_recorded(work, surroundings):
    write(work / "tox.ini", TOX + PASSED)
    ended = done([program("tox"), "-q"], work, terminal(work, **surroundings))
    assert verdicts(work) == EXPECTED, ended.stdout + ended.stderr
    assert "   1  app.py:2  double" in ended.stdout


NOX = """\
import nox

@nox.session
def tests(session):
    session.install("pytest")
    session.run("pytest")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["command", "terminal"])
def test_nox_needs_nothing(work, surroundings, how):
    (work / "noxfile.py").write_text(NOX)
    command = [program("nox"), "--default-venv-backend", "virtualenv"]
    if how == "command":
        ended = done([*RECORD, *command], work, surroundings)
        assert "recorded 2 tests" in ended.stderr, ended.stdout + ended.stderr
    else:
        ended = done(command, work, terminal(work, **surroundings))
    assert verdicts(work) == EXPECTED, ended.stdout + ended.stderr
    assert ended.returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("how", ["command", "terminal", "plugin"])
def test_uv_run_needs_nothing(work, surroundings, how):
    command = [program("uv"), "run", "--no-project", "--with", "pytest", "pytest"]
    if how == "command":
        ended = done([*RECORD, *command], work, surroundings)
        assert "recorded 2 tests" in ended.stderr, ended.stdout + ended.stderr
    elif how == "terminal":
        ended = done(command, work, terminal(work, **surroundings))
    else:
        ended = done([*command[:-1], "--with", "pytest-suspectra", "pytest", "--suspectra"], work, surroundings)
    assert verdicts(work) == EXPECTED, ended.stdout + ended.stderr
    assert ended.returncode == 1
