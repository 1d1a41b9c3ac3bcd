"""After a failing run that the plain plugin records, pytest's summary shows the first suspects."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent / "fixtures" / "checkout"
TITLE = re.compile(r"^=+ first suspects =+$", re.M)


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "checkout"
    shutil.copytree(CHECKOUT, root, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return root


def run_in(folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "suspectra", *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def listed(folder, *arguments):
    command = [sys.executable, "-m", "suspectra", "rank", "--format", "summary", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60).stdout


def asked(folder):
    """A ranker that notes that it was asked; the recorder is given it as the interpreter of Suspectra."""
    note, program = folder / "asked", folder / "ranker"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{note}"\n')
    program.chmod(0o755)
    return program, note


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["plain", "xdist"])
def test_they_are_shown_once_with_every_failure_group(project, workers):
    done = run_in(project, *workers)
    assert done.returncode == 1
    assert len(TITLE.findall(done.stdout)) == 1
    shown = done.stdout[TITLE.search(done.stdout).end() :]
    assert shown.startswith("\n✗ ")
    assert listed(project).rstrip("\n") in shown
    assert "`suspectra rank` lists all" in shown
    assert shown.index("lists all") < shown.index("short test summary info")
    first = shown.splitlines()[2].split()[1]
    file, line = first.split(":")
    assert (project / file).read_text().splitlines()[int(line) - 1].strip()


@pytest.mark.slow
def test_nobody_is_asked_when_all_tests_pass(tmp_path):
    ranker, note = asked(tmp_path)
    (tmp_path / "test_sum.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")
    assert run_in(tmp_path, SUSPECTRA_PYTHON=str(ranker)).returncode == 0
    assert not note.exists()
    (tmp_path / "test_sum.py").write_text("def test_sum():\n    assert 1 + 1 == 3\n")
    assert run_in(tmp_path, SUSPECTRA_PYTHON=str(ranker)).returncode == 1
    assert "rank --format summary" in note.read_text()


@pytest.mark.parametrize("ranker", ["/no/such/python", "/bin/false"])
def test_without_an_answer_the_run_ends_as_always(project, ranker):
    done = run_in(project, SUSPECTRA_PYTHON=ranker)
    assert done.returncode == 1
    assert "suspects" not in done.stdout + done.stderr


def test_where_suspectra_is_missing_one_line_says_who_lists_them(project):
    hidden = "import sys; sys.path[:] = [e for e in sys.path if e]; import importlib.machinery as m; f = m.PathFinder; "
    hidden += "s = f.find_spec; f.find_spec = lambda n, p=None, t=None: None if n == 'numpy' else s(n, p, t)"
    code = f"{hidden}; import pytest; raise SystemExit(pytest.main(['-q', '-p', 'suspectra']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.count("suspectra: `suspectra rank` lists the suspects, where Suspectra is installed") == 1


@pytest.mark.parametrize(
    ("arguments", "ini"), [(("--suspectra-no-suspects",), ""), ((), "[pytest]\nsuspectra_suspects = false\n")]
)
def test_they_can_be_switched_off(project, arguments, ini):
    if ini:
        (project / "pytest.ini").write_text(ini)
    done = run_in(project, *arguments)
    assert done.returncode == 1
    assert not TITLE.search(done.stdout)


@pytest.mark.slow
def test_they_have_colours_where_pytest_has(project):
    assert "\x1b[31mshop/" in run_in(project, "--color", "yes").stdout
    assert "\x1b" not in run_in(project, "--color", "no", FORCE_COLOR="1").stdout


def test_a_recording_command_shows_them_only_by_its_own_option(project):
    command = [sys.executable, "-m", "suspectra", "record", "--no-suspects", "--", "pytest", "-q"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "suspects" not in done.stdout + done.stderr
