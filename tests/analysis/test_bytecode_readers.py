"""Functions whose bytecode something reads stay as they are, and it is said which they are."""

import os
import subprocess
import sys

import pytest

from suspectra.evidence.recording import RecordingSource

# a compiler, a decompiler and a pickler; none of them accepts what it does not know
TOOL = """\
import dis, pickle, types

def consts(code):
    for const in code.co_consts:
        if type(const) not in (int, str, type(None), tuple, types.CodeType):
            raise TypeError(f"can't compile a constant {const!r}")
        if type(const) is types.CodeType:
            consts(const)

def compiled(function):
    consts(function.__code__)
    return function

def said(function):
    return [one.argval for one in dis.get_instructions(function.__code__) if one.opname.startswith("LOAD")]

class Pickler(pickle._Pickler):
    def code(self, function):
        return function.__code__
"""
APP = """\
from tool import compiled, said

@compiled
def eager(n):
    if n > 1:
        return n * 2
    return [n + i for i in range(n)]

def lazy(n):
    return n + 30

def outer(n):
    def inner(m):
        return n + m
    return compiled(inner)

class Thing:
    @compiled
    def method(self, n):
        return n

first, second = lambda x: x.price, lambda x: x.rate

def plain(n):
    return n - 1

def pickled(n):
    return n
"""
TESTS = """\
import io, tool
from app import *

def test_eager():
    assert eager(2) == 4

def test_lazy():
    assert compiled(lazy)(1) == 31

def test_outer():
    assert outer(1)(2) == 3

def test_method():
    assert Thing().method(3) == 3

def test_said():
    assert said(second)[-1] == "rate" or "rate" in said(second)
    assert "rate" not in said(first)

def test_pickled():
    code = tool.Pickler(io.BytesIO()).code(pickled)
    assert code is pickled.__code__
    assert pickled(1) == 1

def test_plain():
    assert plain(1) == 1
"""


@pytest.fixture
def project(tmp_path):
    library = tmp_path / "library"
    project = tmp_path / "project"
    library.mkdir()
    project.mkdir()
    (library / "tool.py").write_text(TOOL)
    (project / "app.py").write_text(APP)
    (project / "test_app.py").write_text(TESTS)
    (project / "pytest.ini").write_text("[pytest]\npythonpath = . ../library\n")
    return project


def run(folder, *arguments):
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


HOWS = [("--suspectra-recorder", "probes"), ("--suspectra-counts",)]
if sys.version_info >= (3, 12):
    HOWS.append(("--suspectra-recorder", "monitoring"))


@pytest.mark.parametrize("how", HOWS, ids=lambda how: how[-1])
def test_they_are_left_out_and_the_others_are_recorded(project, how):
    done = run(project, "pytest", "-q", "-p", "suspectra", *how)
    assert "1 failed, 6 passed" in done.stdout
    evidence = RecordingSource(project).read()
    functions = [function.name for function in evidence.elements.functions]
    found = {
        test.name.rpartition("::")[2]: {functions[n] for n in evidence.elements.function[row].tolist() if n >= 0}
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
    }
    assert found["test_plain"] == {"plain"}
    assert found["test_pickled"] == {"pickled"}
    assert found["test_outer"] == {"outer"}
    assert found["test_eager"] == found["test_lazy"] == found["test_method"] == found["test_said"] == set()
    (problem,) = evidence.problems
    assert problem.file == "app.py"
    names = {"eager", "lazy", "Thing.method", "outer.inner", "<lambda>"}
    if sys.version_info < (3, 11):
        names = {name.rpartition(".")[2] for name in names}
    expected = f"tool reads the bytecode of {', '.join(sorted(names))}; there nothing is recorded"
    assert problem.cause.startswith(expected)


def test_a_test_that_reads_bytecode_sees_what_there_is_without_a_recorder(tmp_path):
    (tmp_path / "app.py").write_text("def plain(n):\n    return n - 1\n\ndef other(n):\n    return n\n")
    (tmp_path / "test_app.py").write_text(
        "import app\nfrom dis import get_instructions\n\n"
        "def test_it():\n"
        "    found = [one.argval for one in get_instructions(app.plain)]\n"
        "    assert found == [one.argval for one in get_instructions(lambda n: n - 1)]\n"
        "    assert {type(const) for const in app.plain.__code__.co_consts} <= {int, type(None)}\n"
        "    assert app.other(1) == 1\n"
    )
    done = run(tmp_path, "pytest", "-q", "-p", "suspectra")
    assert "1 passed" in done.stdout, done.stdout
    evidence = RecordingSource(tmp_path).read()
    assert [problem.cause.partition(";")[0] for problem in evidence.problems] == ["dis reads the bytecode of plain"]
    assert evidence.elements.line[evidence.rows[0]].tolist() == [5]


def test_experiments_and_traces_leave_them_as_they_are(project):
    run(project, "pytest", "-q", "-p", "suspectra")
    done = run(project, "suspectra", "investigate")
    assert "app.py:25" in done.stdout, done.stdout + done.stderr
    assert "could not" not in done.stdout + done.stderr
    done = run(project, "suspectra", "slice", "--test", "test_app.py::test_plain", "--failure")
    assert "app.py:25" in done.stdout, done.stdout + done.stderr


def test_profilers_see_no_call_of_the_recorder(project):
    (project / "test_app.py").write_text(
        "import sys, app\n\n"
        "def test_it():\n"
        "    calls = []\n"
        "    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == 'call' else None)\n"
        "    app.plain(1)\n"
        "    sys.setprofile(None)\n"
        "    assert calls == ['plain']\n"
    )
    done = run(project, "pytest", "-q", "-p", "suspectra")
    assert "1 passed" in done.stdout, done.stdout
