"""The recorder inside real pytest runs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from suspectra.evidence.recording import RecordingSource

pytestmark = pytest.mark.usefixtures("runs_every_kind_of_test")
FIXTURES = Path(__file__).parents[1] / "fixtures" / "recording"
EXPECTED = re.compile(r"def (test_\w+).*# verdict: (\w+); runs: (\w+)(; flaky)?")


def pytest_in(folder, *arguments, plugins=False, **environment):
    """Run pytest; without the other installed plugins it starts in half the time."""
    if not plugins:
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        arguments = ["-p", "suspectra", *(a for a in arguments if a != "--suspectra")]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def functions_run(evidence, row):
    elements = evidence.elements
    return {elements.functions[i].name for i in elements.function[row].tolist() if i >= 0}


def by_name(evidence):
    return {test.name: (test, row) for test, row in zip(evidence.tests, evidence.rows, strict=True)}


def project(folder, **files):
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture(scope="module", params=["plain", "xdist"])
def kinds(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param) / "kinds"
    shutil.copytree(FIXTURES / "kinds", folder)
    workers = ["-n", "2"] if request.param == "xdist" else []
    done = pytest_in(folder, "--suspectra", "--doctest-modules", *workers, "tests", "shop.py", plugins=True)
    assert done.returncode == 1, done.stdout + done.stderr
    return request.param, folder, RecordingSource(folder).read()


@pytest.mark.slow
def test_every_kind_of_test_has_its_verdict_and_what_it_ran(kinds):
    _, folder, evidence = kinds
    text = (folder / "tests" / "test_kinds.py").read_text()
    expected = {name: rest for name, *rest in EXPECTED.findall(text)}
    seen = set()
    for name, (test, row) in by_name(evidence).items():
        short = re.sub(r"\[.*", "", name.split("tests/test_kinds.py", 1)[-1]).split("::")[-1]
        if "::" not in name or short not in expected:
            continue
        seen.add(short)
        verdict, runs, flaky = expected[short]
        assert (test.verdict.value, test.flaky) == (verdict, bool(flaky)), name
        ran = {f.rpartition(".")[2] for f in functions_run(evidence, row)}
        assert runs in ran if runs != "none" else not ran, name
    assert seen == expected.keys()
    assert evidence.problems == ()


def test_details_of_a_test_are_recorded(kinds):
    _, folder, evidence = kinds
    tests = by_name(evidence)
    test, _ = tests["tests/test_kinds.py::test_raises"]
    assert test.message == "ValueError: the shop is closed"
    assert test.phases == {"setup": "passed", "call": "failed", "teardown": "passed"}
    lines = (folder / "tests" / "test_kinds.py").read_text().split("\n")
    assert lines[test.location.line - 1].startswith("def test_raises")
    assert test.location.file == "tests/test_kinds.py"
    assert tests["tests/test_kinds.py::test_passes"][0].message == ""
    assert tests["tests/test_kinds.py::test_setup_error"][0].phases["setup"] == "failed"
    stack = evidence.stacks["tests/test_kinds.py::test_raises"]
    assert (stack.what, [frame.function for frame in stack.frames]) == (test.message, ["body"])
    assert evidence.stacks["tests/test_kinds.py::test_always_fails"].assertion
    error, _ = tests["tests/test_kinds.py::test_teardown_error"]
    assert error.phases == {"setup": "passed", "call": "passed", "teardown": "failed"}
    assert "tests/test_kinds.py::TestClass::TestInner::test_nested" in tests
    assert len([n for n in tests if "test_parametrised[" in n]) == 3
    assert tests["shop.py::shop.documented"][0].verdict.value == "passed"


def test_a_later_attempt_replaces_the_row_of_the_earlier(kinds):
    _, _, evidence = kinds
    _, row = by_name(evidence)["tests/test_kinds.py::test_flaky"]
    assert "Counter.first" not in functions_run(evidence, row)


def test_imports_belong_to_no_test_whenever_they_come(kinds):
    _, _, evidence = kinds
    lines = {str(evidence.elements.location(i)) for i in evidence.at_import.tolist()}
    assert {"shop.py:3", "lazy.py:1"} <= lines
    _, row = by_name(evidence)["tests/test_kinds.py::test_lazy_import"]
    assert row.tolist() == []


@pytest.mark.slow
def test_test_code_is_recorded_only_when_asked(kinds, tmp_path):
    _, folder, evidence = kinds
    assert {f.path for f in evidence.files} == {"shop.py", "lazy.py"}
    copy = shutil.copytree(folder, tmp_path / "kinds", ignore=shutil.ignore_patterns(".suspectra"))
    pytest_in(copy, "--suspectra", "-o", "suspectra_include_tests=true", "-k", "test_fails or test_raises")
    with_tests = RecordingSource(copy).read()
    assert {f.path: f.is_test for f in with_tests.files} == {
        "shop.py": False,
        "tests/conftest.py": True,
        "tests/test_kinds.py": True,
    }
    test, row = by_name(with_tests)["tests/test_kinds.py::test_fails"]
    assert test.message.startswith("AssertionError: assert 'passes' == 'no'")  # asserts are still rewritten
    assert "test_fails" in functions_run(with_tests, row)
    assert not with_tests.candidates(False)[with_tests.elements.in_file("tests/test_kinds.py")].any()


# switching on


SMALL = {
    "app": "def f(a):\n    if a:\n        return 1\n    return 2\n",
    "test_app": "import app\n\n"
    "def test_one():\n    assert app.f(1) == 1\n\n"
    "def test_two():\n    assert app.f(0) == 1\n",
}


@pytest.mark.parametrize(
    ("arguments", "ini", "on"),
    [
        ((), "", False),
        (("--suspectra",), "", True),
        (("-p", "suspectra"), "", True),
        ((), "suspectra = true", True),
        (("-p", "no:suspectra"), "", False),
    ],
)
def test_ways_to_switch_on(tmp_path, arguments, ini, on):
    project(tmp_path, **SMALL)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    done = pytest_in(tmp_path, *arguments, plugins=True)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert (tmp_path / ".suspectra").exists() == on
    if on:
        assert (tmp_path / ".suspectra" / ".gitignore").read_text().endswith("*\n")
        assert len(RecordingSource(tmp_path).read().tests) == 2


def test_a_workspace_that_cannot_be_written_leaves_the_tests_alone(tmp_path):
    project(tmp_path, **SMALL)
    (tmp_path / ".suspectra").write_text("in the way")
    done = pytest_in(tmp_path, "--suspectra")
    assert "1 failed, 1 passed" in done.stdout
    assert "nothing can be recorded" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.slow
def test_modules_imported_too_early_are_reported(tmp_path):
    project(tmp_path, **SMALL, early="import app\n")
    pytest_in(tmp_path, "--suspectra", PYTHONPATH=str(tmp_path), PYTEST_ADDOPTS="-p early")
    problems = {p.file: p for p in RecordingSource(tmp_path).read().problems}
    assert problems.keys() == {"app.py", "early.py"}
    assert "imported before" in problems["app.py"].cause


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n", "1")])
@pytest.mark.parametrize("layout", ["", "src/"])
def test_an_installed_copy_that_is_imported_instead_is_reported(tmp_path, layout, options):
    work, installed = tmp_path / "work", tmp_path / "installed"
    copy = {"shop/__init__.py": "", "shop/cart.py": "def total():\n    return 1\n"}
    test = """\
import json, sys
from shop.cart import total

class Odd:
    def __getattr__(self, name):
        raise RuntimeError(name)

def test_total():
    sys.modules["shop.odd"] = Odd()
    assert total() == 1
"""
    for folder, files in (
        (installed, copy),
        (work, {layout + name: text for name, text in copy.items()}),
        (work, {"tests/test_cart.py": test, "json.py": "", "__main__.py": ""}),
    ):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    options = ("--import-mode=importlib", f"--rootdir={work}", *options)
    pytest_in(work / "tests", "--suspectra", *options, PYTHONPATH=str(installed))
    (problem,) = RecordingSource(work).read().problems
    assert problem.file == f"{layout}shop/__init__.py"
    assert problem.cause == f"is not what was imported as shop: that was {installed}/shop/__init__.py"
    assert "pip install --editable ." in problem.cure


@pytest.mark.slow
def test_what_lies_outside_or_was_installed_is_left_alone_unless_named(tmp_path):
    work = project(
        tmp_path / "work",
        app="import lib, tool, built, product.testing.helper\ndef f(a):\n    return a\n",
        test_app="import app\ndef test_one(): app.f(1)\n",
        venv__lib__tool="x = 1\n",
        build__built="x = 1\n",
        product__testing__helper="x = 1\n",
    )
    (work / "venv" / "pyvenv.cfg").write_text("")
    project(tmp_path, lib="y = 1\n")
    path = os.pathsep.join(map(str, [tmp_path, work, work / "venv" / "lib", work / "build"]))
    pytest_in(work, "--suspectra", "--rootdir", ".", PYTHONPATH=path)
    assert {f.path for f in RecordingSource(work).read().files} == {"app.py", "product/testing/helper.py"}
    wider = ["--suspectra-source", "tool", "--suspectra-source", "lib", "--suspectra-source", "nowhere"]
    pytest_in(work, "--suspectra", "--rootdir", ".", *wider, PYTHONPATH=path)
    evidence = RecordingSource(work).read()
    assert {f.path for f in evidence.files} == {"app.py", "product/testing/helper.py", "venv/lib/tool.py"}
    causes = [p.cause for p in evidence.problems]
    assert any("outside the workspace" in cause for cause in causes)
    assert any("neither a folder nor" in cause for cause in causes)


@pytest.mark.slow
def test_modules_with_rewritten_asserts_and_under_importlib_mode_are_recorded(tmp_path):
    project(
        tmp_path,
        conftest="import pytest\npytest.register_assert_rewrite('checks')\n",
        checks="def check(a):\n    assert a == 1\n",
        app="def f(a):\n    return a\n",
        test_app="import checks, app\ndef test_one():\n    checks.check(app.f(2))\n",
    )
    done = pytest_in(tmp_path, "--suspectra", "--import-mode=importlib", PYTHONPATH=str(tmp_path))
    assert "assert 2 == 1" in done.stdout
    evidence = RecordingSource(tmp_path).read()
    assert {f.path for f in evidence.files} == {"app.py", "checks.py"}
    [row] = evidence.rows
    assert functions_run(evidence, row) == {"check", "f"}


# several runs


@pytest.mark.slow
def test_a_later_run_replaces_only_its_own_tests(tmp_path):
    project(tmp_path, **SMALL)
    pytest_in(tmp_path, "--suspectra")
    source = RecordingSource(tmp_path)
    before = source.read()
    pytest_in(tmp_path, "--suspectra", "test_app.py::test_two")
    after = source.read()
    assert [t.name for t in after.tests] == [t.name for t in before.tests]
    assert after.files == before.files
    assert after.elements is before.elements
    assert after.rows[0] is before.rows[0]
    assert after.rows[1] is not before.rows[1]


@pytest.mark.slow
def test_tests_that_are_gone_leave_no_ghosts(tmp_path):
    project(tmp_path, **SMALL, test_other="import app\ndef test_other(): app.f(2)\n")
    pytest_in(tmp_path, "--suspectra")
    (tmp_path / "test_app.py").write_text("import app\n\ndef test_new():\n    assert app.f(1) == 1\n")
    pytest_in(tmp_path, "--suspectra", "test_app.py")
    names = [t.name for t in RecordingSource(tmp_path).read().tests]
    assert sorted(names) == ["test_app.py::test_new", "test_other.py::test_other"]
    (tmp_path / "test_other.py").unlink()
    evidence = RecordingSource(tmp_path).read()
    assert [t.name for t in evidence.tests] == ["test_app.py::test_new"]
    assert [p.file for p in evidence.problems] == ["test_other.py"]


@pytest.mark.slow
def test_deselected_tests_are_kept(tmp_path):
    project(tmp_path, **SMALL)
    pytest_in(tmp_path, "--suspectra")
    pytest_in(tmp_path, "--suspectra", "-k", "one")
    pytest_in(tmp_path, "--suspectra", "--lf")
    assert len(RecordingSource(tmp_path).read().tests) == 2


@pytest.mark.slow
def test_rows_recorded_before_a_change_keep_the_lines_that_stayed(tmp_path):
    project(tmp_path, **SMALL)
    pytest_in(tmp_path, "--suspectra")
    (tmp_path / "app.py").write_text("import os\n\n\n" + SMALL["app"].replace("return 2", "return 3"))
    pytest_in(tmp_path, "--suspectra", "test_app.py::test_one")
    evidence = RecordingSource(tmp_path, edges=True).read()
    rows = {t.name.split("::")[1]: r for t, r in zip(evidence.tests, evidence.rows, strict=True)}
    lines = {name: evidence.elements.line[row].tolist() for name, row in rows.items()}
    assert lines == {"test_one": [5, 6], "test_two": [5]}  # `return 2` is no more, `return 3` was not run
    [problem] = evidence.problems
    assert problem.file == "app.py"
    assert problem.cause.startswith("1 test was recorded before it changed")


# accidents


FAILING_RECORDER = """
import pytest
from suspectra_recorder.pytest.fixture_dependencies import SharedSetup
from suspectra_recorder.recorder import Recorder

def fail(*arguments):
    raise RuntimeError("a fault of the recorder")

Recorder.collected = Recorder.stop = SharedSetup.used_by = fail

class Later:
    def pytest_runtest_setup(self, item):
        if "two" in item.name:
            Recorder.test = fail

def pytest_configure(config):
    config.pluginmanager.register(Later())
"""


@pytest.mark.slow
def test_an_error_of_the_recorder_changes_no_run_and_is_reported(tmp_path):
    project(tmp_path, **SMALL)
    plain = pytest_in(tmp_path, "-p", "no:suspectra")
    project(tmp_path, conftest=FAILING_RECORDER)
    done = pytest_in(tmp_path, "--suspectra")
    assert done.returncode == plain.returncode
    assert lasting(done.stdout) == lasting(plain.stdout)
    assert done.stderr == plain.stderr
    evidence = RecordingSource(tmp_path).read()
    assert [test.name for test in evidence.tests] == ["test_app.py::test_one"]
    (problem,) = evidence.problems
    assert problem.place == "pytest_collection_modifyitems"  # and two later hooks, and the end
    assert problem.cause == "the recorder failed: RuntimeError: a fault of the recorder (and so it is with 3 others)"


def lasting(text):
    return re.sub(r"suspectra: recording.*\n| in [\d.]+s| at 0x[0-9a-f]+", "", text)


def test_after_kill_9_the_finished_tests_are_there(tmp_path):
    project(
        tmp_path,
        **SMALL,
        test_z="import os, signal\ndef test_kill(): os.kill(os.getpid(), signal.SIGKILL)\ndef test_after(): pass\n",
    )
    done = pytest_in(tmp_path, "--suspectra", "-p", "no:randomly")
    assert done.returncode == -9
    assert {t.name for t in RecordingSource(tmp_path).read().tests} == {
        "test_app.py::test_one",
        "test_app.py::test_two",
    }


@pytest.mark.slow
def test_a_test_whose_own_process_crashes_fails(tmp_path):
    plugin = """\
import os
from _pytest.runner import CallInfo, pytest_runtest_makereport, runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    pid = os.fork()
    if not pid:
        runtestprotocol(item, nextitem=nextitem, log=False)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        call = CallInfo.from_call(lambda: 1 / 0, "???")
        hook.pytest_runtest_logreport(report=pytest_runtest_makereport(item, call))
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""
    test = "import os, app\ndef test_crash():\n    app.f()\n    os.abort()\n"
    work = project(tmp_path, conftest=plugin, app="def f():\n    return 1\n", test_z=test)
    assert pytest_in(work, "--suspectra").returncode == 1
    evidence = RecordingSource(work).read()
    ((crash, row),) = by_name(evidence).values()
    assert crash.verdict.value == "failed"
    assert functions_run(evidence, row) == {"f"}


def test_a_worker_that_crashes_fails_the_test_it_ran(tmp_path):
    project(
        tmp_path,
        **SMALL,
        test_z="import os\ndef test_crash(): os._exit(3)\n",
    )
    pytest_in(tmp_path, "--suspectra", "-n", "2", plugins=True)
    tests = {t.name: t for t in RecordingSource(tmp_path).read().tests}
    assert len(tests) == 3
    crash = tests["test_z.py::test_crash"]
    assert crash.verdict.value == "failed"
    assert "crashed" in crash.message


@pytest.mark.slow
def test_an_interrupted_test_is_not_recorded(tmp_path):
    project(tmp_path, **SMALL, test_z="def test_interrupt(): raise KeyboardInterrupt\n")
    done = pytest_in(tmp_path, "--suspectra")
    assert done.returncode == 2
    assert len(RecordingSource(tmp_path).read().tests) == 2


@pytest.mark.slow
def test_what_a_pytest_started_by_a_test_runs_belongs_to_that_test(tmp_path):
    project(
        tmp_path,
        app="def app():\n    return 1\n",
        test_app="import subprocess, sys, os\n"
        "def test_one():\n"
        "    assert 'SUSPECTRA_RECORD' not in os.environ\n"
        "    subprocess.run([sys.executable, '-m', 'pytest', 'inner.py'], cwd=os.path.dirname(__file__))\n",
        inner="import app\ndef test_inner(): app.app()\n",
    )
    from suspectra.recording.launch import run

    assert (
        run([sys.executable, "-m", "pytest", "-q", str(tmp_path / "test_app.py"), "--rootdir", str(tmp_path)], tmp_path)
        == 0
    )
    evidence = RecordingSource(tmp_path).read()
    assert [t.name for t in evidence.tests] == ["test_app.py::test_one"]
    assert functions_run(evidence, evidence.rows[0]) == {"app"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "ini", "measured"),
    [
        (["checks/tests.py::test_price", "kata.py"], "", {"kata.py", "shop.py"}),
        ([], "testpaths = checks/tests.py kata.py", {"kata.py", "shop.py"}),
        (["--doctest-modules", "checks/tests.py", "kata.py"], "", {"checks/tests.py", "kata.py", "shop.py"}),
    ],
)
def test_a_file_that_is_named_and_is_called_like_tests_is_not_measured(tmp_path, options, ini, measured):
    kata = "def double(n):\n    return n * 2\n\n\ndef test_double():\n    assert double(1) == 2\n"
    tests = "import shop\n\n\ndef test_price():\n    assert shop.price() == 1\n"
    work = project(tmp_path, shop="def price():\n    return 2\n", checks__tests=tests, kata=kata)
    (work / "pytest.ini").write_text(f"[pytest]\npythonpath = .\n{ini}\n")
    assert pytest_in(work, "--suspectra", *options).returncode == 1
    evidence = RecordingSource(work).read()
    assert set(evidence.elements.files) == measured
    assert functions_run(evidence, by_name(evidence)["kata.py::test_double"][1]) >= {"double"}
