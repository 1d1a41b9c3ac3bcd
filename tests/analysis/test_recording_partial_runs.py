"""Recording some tests again leaves what all tests execute as it was, and with it the ranking."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from suspectra.cli.main import run
from suspectra.evidence.evidence import Verdict
from suspectra.evidence.recording import RecordingSource
from suspectra.recording import launch

MODULES, TESTS = 4, 6


@st.composite
def projects(draw):
    """Modules that import each other late or early and call each other then, and tests that import them."""
    files = {}
    for number in range(MODULES):
        lines = []
        for other in draw(st.lists(st.integers(0, number - 1), max_size=2, unique=True)) if number else ():
            lines += [f"import m{other}", f"CALLED_{other} = m{other}.work({draw(st.integers(0, 3))})"]
        lines += ["def work(n):", "    if n > 1:", "        return n"]
        if number and draw(st.booleans()):
            lines += [f"    import m{draw(st.integers(0, number - 1))} as late", "    return late.work(n + 1)"]
        lines += ["    return 0"]
        if draw(st.integers(0, 5)) == 0:
            lines += ["raise ImportError"]
        files[f"m{number}.py"] = lines
    tests = ["import importlib, subprocess, sys, threading", ""]
    for number in range(TESTS):
        tests += [f"def test_{number}():"]
        for _ in range(draw(st.integers(1, 3))):
            module, n = f"m{draw(st.integers(0, MODULES - 1))}", draw(st.integers(0, 3))
            tests += ["    try:", f"        import {module}"]
            tests += [
                {
                    "call": f"        {module}.work({n})",
                    "reload": f"        importlib.reload({module})",
                    "thread": f"        thread = threading.Thread(target={module}.work, args=({n},))\n"
                    "        thread.start()\n        thread.join()",
                    "child": f"        subprocess.run([sys.executable, '-c', 'import {module}'], stderr=-3)",
                }[draw(st.sampled_from(["call", "call", "reload", "thread", "child"]))]
            ]
            tests += ["    except ImportError:", "        pass"]
        tests += [f"    assert {draw(st.booleans())}", ""]
    files["test_app.py"] = tests
    return {name: "\n".join(lines) + "\n" for name, lines in files.items()}


@st.composite
def runs(draw):
    """Some tests in some order, and how they are run."""
    names = draw(st.lists(st.integers(0, TESTS - 1), min_size=1, unique=True))
    ways = [(), ("-n", "2", "-p", "xdist.plugin"), ("--suspectra-counts",)]
    if sys.version_info >= (3, 12):
        ways.append(("--suspectra-recorder", "monitoring"))
    return [*draw(st.sampled_from(ways)), *(f"test_app.py::test_{n}" for n in names)]


def record(folder, arguments):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "suspectra", *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr


def executed(folder):
    """What each test executed, and the ranking."""
    evidence = RecordingSource(folder).read()
    assert evidence.problems == ()
    lines = {
        test.name: (test.verdict, [str(evidence.elements.location(i)) for i in row.tolist()])
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
    }
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
        status = run(["rank", "--format", "json", "--workspace", str(folder)])
    suspects = json.loads(out.getvalue())["suspects"] if status == 0 else []
    for suspect in suspects:
        suspect["failing_tests"].sort()  # they are listed in the order in which they ran
    return lines, suspects, status, said.getvalue()


@pytest.mark.slow
@settings(
    max_examples=2, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(projects(), st.lists(runs(), min_size=1, max_size=2))
def test_a_partial_run_changes_nothing(tmp_path_factory, files, partial_runs):
    folder = tmp_path_factory.mktemp("partial")
    for name, text in files.items():
        (folder / name).write_text(text)
    record(folder, ())
    before = executed(folder)
    for arguments in partial_runs:
        record(folder, arguments)
        assert executed(folder) == before, arguments
    shutil.rmtree(folder)


def test_what_a_changed_data_file_makes_a_test_execute_is_recorded(tmp_path):
    (tmp_path / "app.py").write_text(
        "from pathlib import Path\ndef rate():\n    if Path('rate.txt').read_text() == 'old':\n"
        "        return 1\n    return 2\n"
    )
    (tmp_path / "test_app.py").write_text("import app\ndef test_rate():\n    assert app.rate() > 0\n")
    for data, line in (("old", 4), ("new", 5)):
        (tmp_path / "rate.txt").write_text(data)
        record(tmp_path, ())
        (test,) = executed(tmp_path)[0].values()
        assert test == (Verdict.PASSED, ["app.py:3", f"app.py:{line}"])


WHOLE = [
    ("pytest",),
    ("pytest", "tests"),
    ("pytest", "-n", "2"),
    ("unittest", "discover", "-s", "tests"),
]
PARTLY = [
    ("pytest", "tests/test_kept.py"),
    ("pytest", "-k", "kept"),
    ("pytest", "-m", "not slow"),
    ("pytest", "--deselect", "tests/test_kept.py::KeptTest::test_it"),
    ("pytest", "tests/unit"),
    ("unittest", "tests.test_kept"),
    ("unittest", "discover", "-s", "tests", "-k", "kept"),
]


@pytest.mark.slow
@pytest.mark.parametrize(  # an ini file matters to pytest alone
    ("ini", "number"),
    [
        *(("", number) for number in range(len(WHOLE))),
        *(("[pytest]\ntestpaths = tests\naddopts = -m 'not slow'\nmarkers = slow\n", number) for number in range(2)),
    ],
)
def test_a_deleted_file_is_mentioned_until_a_run_has_looked_for_it(tmp_path, monkeypatch, ini, number):
    (tmp_path / "pytest.ini").write_text(ini)
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    for name in ("kept", "gone", "unit/other"):
        kind = name.rpartition("/")[2].title()
        test = f"import unittest\n\nclass {kind}Test(unittest.TestCase):\n    def test_it(self):\n        pass\n"
        file = tmp_path / "tests" / name
        file.with_name(f"test_{file.name}.py").write_text(test)

    def recorded(module, *arguments):
        options = ("-q", "-p", "no:cacheprovider") if module == "pytest" else ()
        reported = io.StringIO()
        launch.run([sys.executable, "-m", module, *arguments, *options], tmp_path, report=reported)
        assert "recorded" in reported.getvalue(), reported.getvalue()
        return [problem.cause for problem in RecordingSource(tmp_path).read().problems if problem.file == file]

    monkeypatch.chdir(tmp_path)
    file = "tests/test_gone.py"
    said = ["was deleted, so 1 recorded test in it is left out"]
    whole = WHOLE[number]
    assert recorded(*(whole if whole[0] == "unittest" else ["pytest"])) == []
    (tmp_path / file).unlink()
    for partly in PARTLY[number :: 2 if ini else len(WHOLE)]:
        if not (ini and "not slow" in partly):  # which is what every run does there
            assert recorded(*partly) == said, partly
    assert recorded(*whole) == [], whole
