"""`launch.run`: the user's own command and interpreter, with the recorder in it."""

import io
import json
import os
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from suspectra.base.errors import UsageError
from suspectra.evidence.recording import RecordingSource
from suspectra.recording.launch import resolve, run

APP = "def f(a):\n    return a\n"
TESTS = "import app\n\ndef test_one():\n    app.f(1)\n\ndef test_two():\n    assert app.f(0)\n"


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "test_app.py").write_text(TESTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fake_python(folder, has_pytest):
    """A program that answers as an interpreter with or without pytest would."""
    folder.mkdir(parents=True)
    path = folder / "python"
    path.write_text(f"#!/bin/sh\nexit {0 if has_pytest else 1}\n")
    path.chmod(0o755)
    return str(path)


def test_the_order_in_which_interpreters_are_tried(work, tmp_path):
    environ = {"PATH": "/usr/bin:/bin"}
    own = resolve(["pytest"], str(work), environ=environ)
    assert own.python == sys.executable
    plain = fake_python(work / "venv" / "bin", True)
    assert resolve([], str(work), environ=environ).python == plain
    hidden = fake_python(work / ".venv" / "bin", True)
    assert resolve(["python", "-m", "pytest"], str(work), environ=environ).arguments == (hidden, "-m", "pytest")
    active = fake_python(work / "elsewhere" / "bin", True)
    environ["VIRTUAL_ENV"] = str(work / "elsewhere")
    assert resolve(["pytest", "-x"], str(work), environ=environ).python == active
    assert resolve(["pytest"], str(work), python=plain, environ=environ).python == plain


def test_environments_without_pytest_are_passed_over_and_named(work, monkeypatch):
    bare = [fake_python(work / name / "bin", False) for name in (".venv", "venv")]
    found = resolve(["pytest"], str(work), environ={"PATH": "/usr/bin:/bin"})
    assert found.python == sys.executable
    assert found.reason == f"the interpreter that runs suspectra; {bare[0]} and {bare[1]} have no pytest"
    monkeypatch.setattr(sys, "executable", fake_python(work / "own", False))
    with pytest.raises(UsageError) as caught:
        resolve(["pytest"], str(work), environ={"PATH": str(work / "nothing")})
    looked = ", ".join([*bare, sys.executable])
    assert caught.value.problem.cause == f"no interpreter with pytest was found (looked at {looked})"


def test_of_environments_on_the_path_the_one_that_the_shell_would_take_runs_the_tests(work):
    own = os.path.dirname(sys.executable)
    beside = fake_python(work / "one", True)
    (work / "one" / "pytest").write_text("#!/bin/sh\n")
    named = fake_python(work / "two" / "lib", True)
    (work / "two" / "pytest").write_text(f"#!{named}\n")
    for folder in ("one", "two"):
        (work / folder / "pytest").chmod(0o755)

    def found(program, *folders):
        return resolve([program], str(work), environ={"PATH": os.pathsep.join(map(str, folders))}).python

    assert found("pytest", work / "one", own) == beside
    assert found("pytest", work / "two", work / "one", own) == named
    assert found("python", work / "one", own) == beside
    assert found("pytest", work / "one") == sys.executable  # started by its path


@pytest.mark.parametrize(
    ("command", "python", "cause"),
    [
        (["no-such-command-at-all"], None, "does not exist"),
        (["pytest"], "no-such-python", "does not exist"),
        (["pytest"], "false", "has no pytest"),
    ],
)
def test_what_cannot_be_run_is_said(work, command, python, cause):
    with pytest.raises(UsageError, match=cause) as caught:
        run(command, work, python=python)
    assert caught.value.problem.cure


@pytest.mark.slow
def test_status_and_output_pass_through(work, capfd):
    reported = io.StringIO()
    assert run(["pytest", "-q", "-p", "no:cacheprovider"], work, report=reported) == 1
    out, err = capfd.readouterr()
    assert "1 failed, 1 passed" in out
    assert "suspectra" not in out + err
    assert f"with {sys.executable}" in reported.getvalue()
    assert "recorded 2 tests" in reported.getvalue()
    assert [t.verdict.value for t in RecordingSource(work).read().tests] == ["passed", "failed"]
    assert run(["pytest", "-q", "nowhere.py"], work, report=reported) == 4


@pytest.mark.slow
def test_tests_see_the_script_of_pytest_as_the_main_module(work, capfd):
    (work / "test_main.py").write_text(
        "import multiprocessing, os, sys\n\n\ndef seen():\n    main = sys.modules['__main__']\n"
        "    return os.path.basename(sys.argv[0]), main.__file__\n\n\n"
        "def test_here():\n    print('here', *seen())\n\n\n"
        "def test_spawned():\n    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print('spawned', *pool.apply(seen))\n"
    )
    script = Path(sys.executable).parent / "pytest"
    arguments = ["-q", "-rP", "-p", "no:cacheprovider", "test_main.py"]
    subprocess.run([str(script), *arguments], check=True)
    plainly = capfd.readouterr().out
    assert run(["pytest", *arguments], work, report=io.StringIO()) == 0
    recorded = capfd.readouterr().out
    lines = [[line for line in out.split("\n") if line.startswith(("here", "spawned"))] for out in (plainly, recorded)]
    assert lines[0] == lines[1] == [f"here pytest {script}", f"spawned pytest {script}"]


def test_a_command_without_pytest_is_told_that_nothing_was_recorded(work):
    reported = io.StringIO()
    for status in (7, 2, 0):
        assert run([sys.executable, "-c", f"raise SystemExit({status})"], work, report=reported) == status
        assert "nothing was recorded" in reported.getvalue()
        assert f"status {status})" in reported.getvalue(), "and not that tests passed: there may be none"
    assert "`suspectra record-c` records tests of C and C++" in reported.getvalue()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import helper\nhelper.main()\n", "neither pytest nor unittest was seen to start (it ended with status 1)"),
        ("import subprocess, sys\nsys.exit(subprocess.run([sys.executable, '-m', 'unittest', 'helper']).returncode)\n",
         "unittest ran no test in this process, and what it runs in others is not recorded"),
    ],
)  # fmt: skip
def test_a_script_that_has_unittest_elsewhere_is_told_so(work, script, said):
    (work / "helper.py").write_text(
        "import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n"
        "        self.assertEqual(1, 2)\n\n\ndef main():\n    unittest.main('helper')\n"
    )
    (work / "run.py").write_text(script)
    reported = io.StringIO()
    assert run([sys.executable, "run.py"], work, report=reported) == 1
    assert said in reported.getvalue()


def test_a_killed_run_keeps_what_finished(work):
    (work / "test_z.py").write_text("import os\ndef test_kill(): os.kill(os.getpid(), 9)\n")
    reported = io.StringIO()
    assert run(["pytest", "-q"], work, report=reported) == 128 + 9
    assert "cut off" in reported.getvalue()
    assert len(RecordingSource(work).read().tests) == 2


@pytest.mark.parametrize(("ends", "status"), [(0, 2), (1, 1), (2, 2), (3, 3), (5, 5)])
def test_a_test_that_ends_the_process_is_not_taken_for_the_end_of_the_tests(work, ends, status):
    (work / "test_z.py").write_text(f"import os\ndef test_exit(): os._exit({ends})\n")
    reported, progress = io.StringIO(), work / "progress"
    progress.touch()
    assert run(["pytest", "-q"], work, report=reported, progress=progress) == status
    how = f"(its process ended early, with status {ends}): 1 test was not run"
    said = f"the run was cut off in test_z.py::test_exit {how}; the tests that finished are recorded"
    assert said in reported.getvalue()
    assert json.loads(progress.read_text().splitlines()[-1]) == {"trouble": said}


def test_an_interpreter_without_suspectra_and_numpy_records(work):
    """Only pytest itself is visible there, as in a user's environment."""
    home = work / "users-env"
    venv.create(home, with_pip=False)
    [packages] = home.glob("lib/python*/site-packages")
    site = Path(pytest.__file__).parents[1]
    names = ("pytest", "_pytest", "py.py", "pluggy", "iniconfig", "packaging", "pygments")
    for name in (*names, *(p.name for p in site.glob("pytest-*.dist-info"))):
        (packages / name).symlink_to(site / name)
    (work / "test_alone.py").write_text(
        "import importlib.util\n\ndef test_alone():\n"
        "    assert importlib.util.find_spec('numpy') is None\n"
        "    assert importlib.util.find_spec('click') is None\n"
    )
    reported = io.StringIO()
    assert run(["pytest", "-q"], work, python=str(home / "bin" / "python"), report=reported) == 1
    verdicts = {t.name.split("::")[1]: t.verdict.value for t in RecordingSource(work).read().tests}
    assert verdicts == {"test_alone": "passed", "test_one": "passed", "test_two": "failed"}


@pytest.mark.slow
def test_workers_of_xdist_record_too(work):
    reported = io.StringIO()
    assert run(["pytest", "-q", "-n", "2"], work, report=reported) == 1
    assert "recorded 2 tests" in reported.getvalue()
    assert len(RecordingSource(work).read().tests) == 2


@pytest.mark.slow
def test_an_interrupt_lets_pytest_end(work, until):
    (work / "test_z.py").write_text(
        "import pathlib, time\ndef test_long():\n    pathlib.Path('started').touch()\n    time.sleep(60)\n"
    )
    code = "import sys; from suspectra.recording.launch import run; sys.exit(run(['pytest'], '.'))"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=work, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    until((work / "started").exists)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"KeyboardInterrupt" in out
    assert b"Traceback" not in err
    assert len(RecordingSource(work).read().tests) == 2


def test_a_workspace_that_is_none_is_said(tmp_path):
    with pytest.raises(UsageError, match="not a folder"):
        run(["pytest"], tmp_path / "missing")
