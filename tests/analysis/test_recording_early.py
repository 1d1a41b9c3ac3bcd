"""Modules of the workspace that are imported before pytest calls any plugin are recorded, or reported with a cure."""

import io
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from suspectra.evidence.recording import RecordingSource
from suspectra.recording.launch import run

GUARD = """\
def checked(value):
    if value is None:
        raise TypeError
    return value


class GuardWarning(UserWarning):
    pass
"""
TESTS = """\
import guard
import pytest

def test_value():
    assert guard.checked(1) == 1

def test_none():
    with pytest.raises(TypeError):
        guard.checked(None)
"""
EXPECTED = {"test_value": {2, 4}, "test_none": {2, 3}}
OPTIONS = ("-q", "-p", "no:cacheprovider")


def guarded(folder, name="guard"):
    """Write a module of this name and its tests."""
    (folder / f"{name}.py").write_text(GUARD)
    (folder / f"test_{name}.py").write_text(TESTS.replace("guard", name))


@pytest.fixture
def work(tmp_path, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    guarded(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def an_installed_plugin(work, monkeypatch, name="guard"):
    about = work / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[pytest11]\n{name} = {name}\n")
    (about / "RECORD").write_text(f"{name}.py,,\n")  # pytest rewrites its asserts


def in_the_ini(work, line):
    path = work / "pytest.ini"
    path.write_text((path.read_text() if path.exists() else "[pytest]\n") + line)


def a_class_in_the_ini(work, monkeypatch, name="guard"):
    in_the_ini(work, f"filterwarnings =\n    ignore::{name}.GuardWarning\n")


def a_plugin_in_addopts(work, monkeypatch, name="guard"):
    in_the_ini(work, f"addopts = -p {name}\n")


def a_plugin_of_the_environment(work, monkeypatch, name="guard"):
    monkeypatch.setenv("PYTEST_PLUGINS", name)


def options_of_the_environment(work, monkeypatch, name="guard"):
    monkeypatch.setenv("PYTEST_ADDOPTS", f"{os.environ['PYTEST_ADDOPTS']} -p {name}")


def a_conftest(work, monkeypatch, name="guard"):
    (work / "conftest.py").write_text(f"import {name}\n")


def a_sitecustomize(work, monkeypatch, name="guard"):
    (work / "sitecustomize.py").write_text(f"import {name}\n")


SHAPES = {  # which are tried in one run: nothing else is imported before what a sitecustomize imports
    "all that pytest imports": [
        an_installed_plugin,
        a_class_in_the_ini,
        a_plugin_in_addopts,
        a_plugin_of_the_environment,
        options_of_the_environment,
        a_conftest,
    ],
    "sitecustomize": [a_sitecustomize],
}
WAYS = ["probes", *(["monitoring"] if sys.version_info >= (3, 12) else [])]


def record(work, *command, **options):
    reported = io.StringIO()
    assert run(command, work, report=reported, **options) == 0, reported.getvalue()
    return RecordingSource(work).read(), reported.getvalue()


def lines(evidence, file="guard.py"):
    """What the tests of a module executed of it."""
    elements = evidence.elements
    return {
        test.name.partition("::")[2]: {int(elements.line[i]) for i in row if elements.files[elements.file[i]] == file}
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
        if test.name.startswith(f"test_{file}::")
    }


def shaped(work, monkeypatch, shapes):
    """A module of its own for each shape; their names."""
    names = [f"guard_of_{shape.__name__}" for shape in shapes]
    for name, shape in zip(names, shapes, strict=True):
        guarded(work, name)
        shape(work, monkeypatch, name)
    return names


def assert_recorded(evidence, names):
    assert [str(p) for p in evidence.problems] == []
    for name in names:
        assert lines(evidence, f"{name}.py") == EXPECTED, name


@pytest.mark.parametrize("recorder", WAYS)
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_it_is_recorded(work, monkeypatch, shapes, recorder):
    names = shaped(work, monkeypatch, shapes)
    evidence, _ = record(work, sys.executable, "-m", "pytest", *OPTIONS, recorder=recorder)
    assert_recorded(evidence, names)


@pytest.mark.slow
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_it_is_recorded_in_workers(work, monkeypatch, shapes):
    names = shaped(work, monkeypatch, shapes)
    evidence, _ = record(work, sys.executable, "-m", "pytest", *OPTIONS, "-n1")
    assert_recorded(evidence, names)


@pytest.mark.parametrize("command", [("pytest",), ("python", "-m", "pytest"), ("python", "tests.py")])
def test_every_command_that_starts_pytest_will_do(work, monkeypatch, command):
    a_class_in_the_ini(work, monkeypatch)
    (work / "tests.py").write_text("import guard, sys, pytest\nsys.exit(pytest.main(sys.argv[1:]))\n")
    evidence, _ = record(work, *command, *OPTIONS, python=sys.executable)
    assert [p.file for p in evidence.problems if p.file != "tests.py"] == []
    assert lines(evidence) == EXPECTED


def test_nothing_is_imported_besides_and_no_warning_appears(work, monkeypatch):
    an_installed_plugin(work, monkeypatch)
    (work / "test_guard.py").write_text(
        TESTS + "\n\ndef test_path():\n    import sys\n    assert not [p for p in sys.path if 'bootstrap' in p]\n"
    )
    record(work, sys.executable, "-m", "pytest", *OPTIONS, "-W", "error::pytest.PytestWarning", "-p", "no:asyncio")


def test_the_standard_library_is_not_loaded_a_second_time(work):
    (work / "test_guard.py").write_text(
        TESTS + "\n\ndef test_modules():\n"
        "    import dataclasses, inspect, sys\n"
        "    recorder = sys.modules['suspectra_recorder.errors'], sys.modules['suspectra_recorder.recorder']\n"
        "    assert recorder[0].dataclass is dataclasses.dataclass\n"
        "    assert recorder[1].replace is dataclasses.replace\n"
    )
    evidence, _ = record(work, sys.executable, "-m", "pytest", *OPTIONS)
    assert lines(evidence) == EXPECTED | {"test_modules": set()}


def test_counts_of_the_ini_hold(work, monkeypatch):
    an_installed_plugin(work, monkeypatch)
    (work / "pytest.ini").write_text("[pytest]\nsuspectra_counts = true\n")
    evidence, _ = record(work, sys.executable, "-m", "pytest", *OPTIONS)
    assert [str(p) for p in evidence.problems] == []
    assert lines(evidence) == EXPECTED


def test_patterns_of_the_ini_hold(work, monkeypatch):
    an_installed_plugin(work, monkeypatch)
    (work / "pytest.ini").write_text("[pytest]\npython_files = test_*.py guard.py\n")
    evidence, _ = record(work, sys.executable, "-m", "pytest", *OPTIONS)
    assert "guard.py" not in evidence.elements.files


def test_counts_that_are_asked_for_too_late_are_reported(work, monkeypatch):
    an_installed_plugin(work, monkeypatch)
    (work / "settings.ini").write_text("[pytest]\nsuspectra_counts = true\n")
    evidence, _ = record(work, sys.executable, "-m", "pytest", *OPTIONS, "-c", "settings.ini")
    assert [p.file for p in evidence.problems] == ["guard.py"]
    assert "--counts" in evidence.problems[0].cure


def record_by_plugin(work, *options):
    command = [sys.executable, "-m", "pytest", *OPTIONS, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return RecordingSource(work).read()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n2"]])
def test_the_plugin_alone_begins_before_other_plugins(work, monkeypatch, workers):
    names = shaped(work, monkeypatch, [an_installed_plugin, a_plugin_of_the_environment])
    assert_recorded(record_by_plugin(work, "-p", "suspectra", *workers), names)


def test_the_plugin_alone_takes_counts_of_the_ini(work, monkeypatch):
    an_installed_plugin(work, monkeypatch)
    (work / "pytest.ini").write_text("[pytest]\nsuspectra_counts = true\naddopts = -p suspectra\n")
    evidence = record_by_plugin(work)
    assert [str(p) for p in evidence.problems] == []
    assert lines(evidence) == EXPECTED


def test_a_run_that_never_begins_leaves_no_hook_behind(work):
    (work / "runs.py").write_text(
        "import pytest\n"
        "from importlib.machinery import SourceFileLoader as Loader\n"
        "before = Loader.get_code, Loader.exec_module\n"
        "assert pytest.main(['-p', 'suspectra', '-p', 'missing']) == 4\n"
        "assert (Loader.get_code, Loader.exec_module) == before\n"
    )
    done = subprocess.run([sys.executable, "runs.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_plugin_alone_names_the_command_that_helps(work, monkeypatch):
    a_sitecustomize(work, monkeypatch)
    problems = record_by_plugin(work, "--suspectra").problems
    assert {p.file for p in problems} == {"guard.py", "sitecustomize.py"}
    assert all("suspectra record -- pytest" in p.cure for p in problems)
    evidence, _ = record(work, "pytest", *OPTIONS, python=sys.executable)
    assert lines(evidence) == EXPECTED


@pytest.fixture
def environment(tmp_path):
    """A virtual environment that sees the packages of this one."""
    folder = tmp_path / "environment"
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    ours = Path(pytest.__file__).parents[1]
    (packages / "packages.pth").write_text(f"{ours}\n")
    return folder / "bin" / "python", packages


def test_a_path_file_that_imports_a_module_is_named(work, environment):
    python, packages = environment
    (packages / "zz_guard.pth").write_text("# early\nimport guard\n")
    evidence, _ = record(work, str(python), "-m", "pytest", *OPTIONS)
    (problem,) = [p for p in evidence.problems if p.file == "guard.py"]
    assert f"{packages / 'zz_guard.pth'}:2 (import guard)" in problem.cause
    assert "suspectra record" not in problem.cure


def test_a_program_that_imports_it_before_pytest_is_told(work):
    (work / "manage.py").write_text("import guard\nfrom runner import main\nmain()\n")
    (work / "runner.py").write_text(
        "import sys\ndef main():\n    import pytest\n    sys.exit(pytest.main(sys.argv[1:]))\n"
    )
    evidence, _ = record(work, sys.executable, "manage.py", *OPTIONS)
    assert {p.file for p in evidence.problems} >= {"guard.py"}
    assert all("pytest" in p.cure for p in evidence.problems)


def test_without_site_the_cure_is_named(work, monkeypatch):
    an_installed_plugin(work, monkeypatch)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(work), str(Path(pytest.__file__).parents[1])]))
    code = f"import guard, pytest, sys; sys.exit(pytest.main({[*OPTIONS]}))"
    evidence, _ = record(work, sys.executable, "-S", "-c", code)
    assert [(p.file, "-S" in p.cure) for p in evidence.problems] == [("guard.py", True)]


def test_other_programs_load_nothing_of_the_recorder(work):
    (work / "program.py").write_text(
        "import guard, sys\nguard.checked(1)\nprint([m for m in sys.modules if m.startswith('suspectra.')])\n"
    )
    (work / "sitecustomize.py").write_text("print('customized')\n")
    command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["customized", "customized", "[]"]  # the first is that of the command itself
    assert "nothing was recorded" in done.stderr


def test_a_sitecustomize_that_fails_does_as_it_would(work):
    (work / "sitecustomize.py").write_text("raise ValueError('mine')\n")
    plain = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, text=True, check=False)
    command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-c", "print(1)"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ("mine" in plain.stderr, plain.stdout) == ("mine" in done.stderr, done.stdout) == (True, "1\n")


LOADERS = """\
import sys

NEEDED = {"suspectra_recorder", "suspectra_recorder.options"}
NEEDED |= {"suspectra_recorder.pytest", "suspectra_recorder.pytest.plugin"}
NEEDED |= {"suspectra_recorder.instrumentation", "suspectra_recorder.instrumentation.standard_library"}

def test_loaders():
    loaders = {
        name: type(module.__loader__).__name__
        for name, module in sys.modules.items()
        if name.startswith("suspectra_recorder") and name not in NEEDED
    }
    assert loaders
    assert set(loaders.values()) == {"SourceFileLoader"}, loaders
"""


@pytest.mark.parametrize(
    "command", [("pytest", "--suspectra"), ("suspectra", "record", "--", sys.executable, "-m", "pytest")]
)
def test_pytest_does_not_rewrite_the_recorder_at_each_start(tmp_path, command):
    (tmp_path / "test_loaders.py").write_text(LOADERS)
    words = [sys.executable, "-m", *command, *OPTIONS]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
