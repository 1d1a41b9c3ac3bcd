"""What keeps tests from being collected: recorded as evidence, reported by the launcher and in every output."""

import io
import json
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from suspectra.cli import main as cli
from suspectra.evidence.recording import RecordingSource
from suspectra.recording.endings import in_words
from suspectra.recording.launch import run
from suspectra.recording.merging import merge
from suspectra_recorder.log.collection import MAX_MESSAGE, CollectionError, environment_of, summary
from suspectra_recorder.log.compaction import compact
from suspectra_recorder.log.frames import FrameKind
from suspectra_recorder.log.writer import LogWriter

GOOD = "def f(x):\n    if x:\n        return 1\n    return 2\n"
TESTS = "from good import f\n\ndef test_one():\n    assert f(1) == 1\n\ndef test_two():\n    assert f(0) == 1\n"


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "test_good.py").write_text(TESTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(folder, *arguments, command=("pytest", "-q", "-p", "no:cacheprovider")):
    """Record; the status, and what the launcher says of the run."""
    reported = io.StringIO()
    status = run([*command, *arguments], folder, python=sys.executable, report=reported)
    return status, re.sub(r".*running the tests with.*\n", "", reported.getvalue())


def errors(folder):
    return {error.collector: error for error in RecordingSource(folder).read().collection_errors}


def suspectra(capsys, folder, *arguments):
    status = cli.run([*arguments, "--workspace", str(folder)])
    return status, *capsys.readouterr()


BROKEN = {
    "syntax": ("def test_a():\n    x = = 1\n", "SyntaxError", "invalid syntax", 2),
    "import": ("\nimport no_such_module\n", "ModuleNotFoundError", "No module named 'no_such_module'", 2),
    "raises": ("\n\nraise ValueError('boom')\n", "ValueError", "boom", 3),
    "fixture": (
        "import pytest\n\n@pytest.mark.usefixtures('a')\n@pytest.fixture\ndef g():\n    pass\n",
        "Failed",
        "Marks cannot be applied to fixtures.",
        3,
    ),
    "parameter": (
        "import pytest\n\n@pytest.mark.parametrize('a', [1])\ndef test_y():\n    pass\n",
        "Failed",
        "In test_parameter.py::test_y: function uses no argument 'a'",
        4,
    ),
}


CLASSES = """\
class TestGood:
    def test_a(self):
        pass

class TestOdd:
    def test_gen(self):
        yield 1
"""


@pytest.fixture(scope="module")
def uncollected(tmp_path_factory):
    """One run in which nothing but one file can be collected, for a reason of its own in each."""
    folder = tmp_path_factory.mktemp("uncollected")
    (folder / "good.py").write_text(GOOD)
    (folder / "test_good.py").write_text(TESTS)
    for name, (source, *_) in BROKEN.items():
        (folder / f"test_{name}.py").write_text(source)
    (folder / "test_class.py").write_text(CLASSES)
    (folder / "test_inner.py").write_text("import middle\n")
    (folder / "middle.py").write_text("import json\njson.loads('{')\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        status, _ = record(folder, "--continue-on-collection-errors")
    assert status == 1
    return folder


@pytest.fixture(scope="module")
def found(uncollected):
    return errors(uncollected)


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_and_where_is_recorded(found, name):
    _, exception, message, line = BROKEN[name]
    error = found[f"test_{name}.py"]
    assert (error.exception, error.message) == (exception, message)
    if sys.version_info >= (3, 11) or exception != "Failed":  # decorators' lines
        assert (error.file, error.line) == (f"test_{name}.py", line)


def test_the_rest_stays_ranked(uncollected, found, capsys):
    assert len(found) == len(BROKEN) + 2
    tests = RecordingSource(uncollected).read().tests
    names = [test.name for test in tests if test.name.startswith("test_good")]
    assert names == ["test_good.py::test_one", "test_good.py::test_two"]
    assert [test.name for test in tests if test.name not in names] == ["test_class.py::TestGood::test_a"]
    status, out, err = suspectra(capsys, uncollected, "rank")
    assert (status, "good.py:4" in out) == (0, True)
    for name, (_, exception, *_) in BROKEN.items():
        line = found[f"test_{name}.py"].line
        assert f"test_{name}.py (line {line}): it could not be collected: {exception}" in err


def test_the_launcher_ends_with_what_is_wrong(work):
    (work / "test_broken.py").write_text(BROKEN["import"][0])
    status, reported = record(work, "--continue-on-collection-errors")
    (error,) = errors(work).values()
    assert (status, error.line) == (1, 2)
    last = reported.splitlines()[-1]
    assert last.startswith(f"suspectra: error: test_broken.py could not be collected: test_broken.py:2: {error.what}. ")
    assert ". Fix: install no_such_module where the tests run" in last


@pytest.mark.parametrize("name", BROKEN)
def test_an_error_is_put_in_one_sentence(found, name):
    error = found[f"test_{name}.py"]
    where = f"test_{name}.py"
    assert summary([error]) == f"{where} could not be collected: {where}:{error.line}: {error.what}"


def test_a_class_that_pytest_refuses_is_named_with_its_line(found):
    error = found["test_class.py::TestOdd"]
    assert (error.exception, error.line) == ("Failed", 6)


def test_the_innermost_line_of_the_workspace_is_the_place(found):
    error = found["test_inner.py"]
    assert (error.exception, error.file, error.line) == ("JSONDecodeError", "middle.py", 2)


def test_a_run_without_any_test_is_not_reported_as_one_that_holds_none(work, capsys):
    (work / "test_good.py").write_text("import no_such_module\n")
    status, reported = record(work)
    assert status == 2
    assert "status 2" not in reported
    status, _, err = suspectra(capsys, work, "rank")
    assert (status, "contains no tests" in err) == (1, False)
    assert "test_good.py could not be collected: test_good.py:1: ModuleNotFoundError" in err
    assert "-m pip install no_such_module`, or correct the import" in err


CONFTEST = {"conftest.py": "\nimport no_such_module\n"}
HOOK = {"conftest.py": "def pytest_collection_modifyitems(items):\n    raise ValueError('hook')\n"}
RUN_LEVEL = {
    "conftest": (CONFTEST, [], 4, "ModuleNotFoundError: No module named 'no_such_module'", "conftest.py:2"),
    "hook": (HOOK, [], 3, "ValueError: hook", "conftest.py:2"),
    "configure": (
        {"conftest.py": "def pytest_configure(config):\n    1 / 0\n"},
        [],
        3,
        "ZeroDivisionError: division by zero",
        "conftest.py:2",
    ),
    "exit": ({"conftest.py": "import sys\nsys.exit('set FOO')\n"}, [], 1, "SystemExit: set FOO", "conftest.py:2"),
    "option": ({}, ["--no-such-option"], 4, "UsageError: unrecognized arguments: --no-such-option", ""),
    "no file": ({}, ["nowhere.py"], 4, "UsageError: file or directory not found: nowhere.py", ""),
    "no plugin": ({}, ["-p", "no_such_plugin"], None, 'Error importing plugin "no_such_plugin"', ""),
    "plugin": (
        {
            "pytest.ini": "[pytest]\npythonpath = .\naddopts = -p plugin\n",
            "plugin.py": "import shop_of\n",
            "shop_of.py": "\ndef f(:\n",
        },
        [],
        None,
        "SyntaxError: invalid syntax",
        "shop_of.py:2",
    ),
    "addopts": ({"pytest.ini": "[pytest]\naddopts = --nope\n"}, [], 4, "unrecognized arguments: --nope", ""),
    "ini": ({"pytest.ini": "[pytest\n"}, [], 4, "UsageError: unexpected value continuation", "pytest.ini:1"),
    "toml": ({"pyproject.toml": "[tool.pytest.ini_options]\nx = = 1\n"}, [], 4, "UsageError: ", "pyproject.toml:2"),
    "required": (
        {"pytest.ini": "[pytest]\nrequired_plugins = nope\n"},
        [],
        4,
        "UsageError: Missing required plugins: nope",
        "",
    ),
}


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """A recording of a run that failed as a whole; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("failed")
    (folder / "good.py").write_text(GOOD)
    (folder / "test_good.py").write_text(TESTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        record(folder, "earlier.py")
    return folder


def the_error_of_the_run(folder):
    (error,) = errors(folder).values()
    assert error.collector == ""
    return error


@pytest.mark.slow
@pytest.mark.parametrize(("files", "arguments", "status", "what", "place"), RUN_LEVEL.values(), ids=RUN_LEVEL)
def test_what_makes_a_whole_run_fail_is_reported_and_replaces_what_made_the_one_before_fail(
    work, failed, files, arguments, status, what, place
):
    shutil.copytree(failed / ".suspectra", work / ".suspectra")
    assert "earlier.py" in the_error_of_the_run(work).what
    for name, text in files.items():
        (work / name).write_text(text)
    ended, reported = record(work, *arguments)
    assert status in (None, ended)
    assert not any(word in reported for word in ("cut off", "without starting", "status"))
    error = the_error_of_the_run(work)
    assert error.place == place
    assert what in error.what
    assert error.environment == environment_of(sys.executable, str(work))
    assert reported.splitlines()[-1].startswith("suspectra: error: the test run failed: ")


def test_what_made_a_whole_run_fail_goes_with_the_next_run(work, failed):
    shutil.copytree(failed / ".suspectra", work / ".suspectra")
    assert the_error_of_the_run(work)
    record(work)
    assert errors(work) == {}


def test_why_a_pytest_that_is_named_by_its_interpreter_did_not_begin_is_asked_for_too(work):
    (work / "pytest.ini").write_text("[pytest\n")
    status, reported = record(work, command=(sys.executable, "-m", "pytest"))
    assert status == 4
    last = reported.splitlines()[-1]
    assert last == "suspectra: error: the test run failed: pytest.ini:1: UsageError: unexpected value continuation"


@pytest.mark.parametrize("code", [0, 3])
def test_an_exit_after_the_tests_is_no_failure_of_the_run(work, code):
    (work / "conftest.py").write_text(f"import sys\n\n\ndef pytest_unconfigure():\n    sys.exit({code})\n")
    status, _ = record(work)
    assert status == code
    assert errors(work) == {}
    assert len(RecordingSource(work).read().tests) == 2


@pytest.mark.slow
def test_other_endings_are_reported_in_words(work):
    for arguments in (["-k", "nothing_of_this_name"], ["-k", "nothing_of_this_name", "-n", "1"]):
        status, reported = record(work, *arguments)
        assert status == 5
        assert reported.splitlines()[-1] == "suspectra: all 2 tests were deselected"
    (work / "none").mkdir()
    status, reported = record(work, "none")
    assert status == 5
    assert reported.splitlines()[-1] == "suspectra: no tests were found"
    assert [in_words(n) for n in (3, 137, 77)] == [
        "pytest met an internal error",
        "it was killed by SIGKILL",
        "the command failed with status 77",
    ]


@pytest.mark.slow
def test_tracebacks_look_as_without_the_recorder(work, capfd):
    (work / "broken.py").write_text("x = (\n")
    (work / "test_broken.py").write_text("x = (\n")
    (work / "test_compiling.py").write_text(
        "import ast\n"
        "def test_code():\n    compile(open('broken.py').read(), 'broken.py', 'exec')\n"
        "def test_tree():\n    ast.parse('x = (')\n"
    )
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    subprocess.run([sys.executable, *command], cwd=work, check=False)
    plain = re.sub(r" in [\d.]+s", "", capfd.readouterr().out)
    record(work, command=(sys.executable, *command))
    assert re.sub(r" in [\d.]+s", "", capfd.readouterr().out) == plain
    assert "3 failed, 1 passed, 1 error" in plain


@pytest.fixture(scope="module")
def with_an_error(tmp_path_factory):
    """A recording that keeps the error of one file through two runs of another; to be copied, not changed."""
    folder = tmp_path_factory.mktemp("error")
    (folder / "good.py").write_text(GOOD)
    (folder / "test_good.py").write_text(TESTS)
    (folder / "test_broken.py").write_text("import no_such_module\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        record(folder)
        record(folder, "test_good.py")
        record(folder, "test_good.py::test_one")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("part", ["test_broken.py", "test_broken.py::test_b", ""])
def test_an_error_goes_when_its_file_is_collected_again(with_an_error, work, part):
    shutil.copytree(with_an_error, work, dirs_exist_ok=True)
    assert set(errors(work)) == {"test_broken.py"}
    (work / "test_broken.py").write_text("def test_b():\n    pass\n")
    assert set(errors(work)) == {"test_broken.py"}
    record(work, *filter(None, [part]))
    assert errors(work) == {}


@pytest.mark.slow
def test_an_error_of_a_class_stays_when_the_rest_of_its_file_is_collected(work):
    (work / "test_broken.py").write_text(
        "class TestOdd:\n    def test_gen(self):\n        yield 1\n\ndef test_b():\n    pass\n"
    )
    record(work)
    record(work, "test_broken.py::test_b")
    assert set(errors(work)) == {"test_broken.py::TestOdd"}
    (work / "test_broken.py").write_text("class TestOdd:\n    def test_gen(self):\n        pass\n")
    record(work, "test_broken.py::TestOdd")
    assert errors(work) == {}


@pytest.mark.slow
def test_an_error_goes_with_its_file_and_a_newer_one_takes_its_place(work):
    path = work / "test_broken.py"
    path.write_text("import no_such_module\n")
    record(work)
    path.write_text("\nraise KeyError('newer')\n")
    record(work)
    (error,) = errors(work).values()
    assert (error.exception, error.line) == ("KeyError", 2)
    path.unlink()
    assert errors(work) == {}


@pytest.mark.slow
def test_last_failed_tries_only_what_failed(work):
    command = ("pytest", "-q")
    (work / "test_broken.py").write_text("import no_such_module\n")
    record(work, "--continue-on-collection-errors", command=command)
    record(work, "--lf", "-k", "test_two", "test_good.py", command=command)
    assert set(errors(work)) == {"test_broken.py"}
    (work / "test_broken.py").write_text("def test_b():\n    assert 0\n")
    record(work, "--lf", command=command)
    assert errors(work) == {}


@pytest.mark.slow
def test_under_xdist_it_is_there_once(work):
    (work / "test_broken.py").write_text("import no_such_module\n")
    _, reported = record(work, "-n", "2")
    assert reported.count("No module named") == 1
    assert len(RecordingSource(work).read().collection_errors) == 1


@pytest.mark.slow
def test_an_error_survives_a_merge_of_logs_and_then_goes(work):
    (work / "test_broken.py").write_text("import no_such_module\n")
    record(work)
    record(work, "test_good.py")
    compact(str(work / ".suspectra" / "recording"), max_logs=1)
    (log,) = (work / ".suspectra" / "recording").glob("*.log")
    assert "merged" in log.name
    assert set(errors(work)) == {"test_broken.py"}
    (work / "test_broken.py").write_text("def test_b():\n    pass\n")
    record(work)
    compact(str(work / ".suspectra" / "recording"), max_logs=1)
    assert errors(work) == {}
    (log,) = (work / ".suspectra" / "recording").glob("*.log")
    assert b"no_such_module" not in log.read_bytes()


@pytest.mark.slow
def test_merged_recordings_keep_what_no_later_one_collected(work, tmp_path_factory, monkeypatch):
    other = tmp_path_factory.mktemp("other")
    for name in ("good.py", "test_good.py"):
        (other / name).write_text((work / name).read_text())
    (work / "test_broken.py").write_text("import no_such_module\n")
    record(work)
    monkeypatch.chdir(other)
    record(other)
    out = tmp_path_factory.mktemp("out") / "recording"
    merge(out, [work, other])
    assert [e.collector for e in RecordingSource(work, out).read().collection_errors] == ["test_broken.py"]
    (other / "test_broken.py").write_text("def test_b():\n    pass\n")
    record(other)
    again = tmp_path_factory.mktemp("again") / "recording"
    merge(again, [work, other])
    assert RecordingSource(work, again).read().collection_errors == ()


def test_an_environment_is_named_as_a_user_does(tmp_path):
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    assert environment_of(str(python), str(tmp_path)) == ".venv/bin/python"
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    assert environment_of(str(python), str(tmp_path)) == ".venv"
    assert environment_of(str(python), str(tmp_path / "elsewhere")) == str(tmp_path / ".venv")


HOSTILE = "raise ValueError('\\x1b[31mred\\x00\\n<script>alert(1)</script>|`' + 'x' * 5_000)\n"


def test_hostile_messages_are_bounded_and_escaped_in_every_output(work, capsys):
    (work / "test_broken.py").write_text(HOSTILE)
    record(work, "--continue-on-collection-errors")
    (error,) = errors(work).values()
    assert len(error.message) <= MAX_MESSAGE
    forms = ("table", "json", "sarif", "markdown")
    outputs = {form: suspectra(capsys, work, "rank", "--format", form)[1] for form in forms}
    page = work / "page.html"
    assert suspectra(capsys, work, "report", "--html", str(page))[0] == 0
    outputs["html"] = page.read_text()
    for form, text in outputs.items():
        assert ("broken.py" in text) == (form != "table"), form  # which says it on stderr
        assert not {"\x1b", "\0"} & set(text), form
    assert "<script>alert" not in outputs["html"]
    assert "<script>alert" not in outputs["markdown"]
    decoded = json.JSONDecoder().raw_decode(outputs["json"])[0]
    assert decoded["collection_errors"][0]["exception"] == "ValueError"
    (reported, *_) = json.JSONDecoder().raw_decode(outputs["sarif"])[0]["runs"][0]["invocations"]
    assert not reported["executionSuccessful"]
    (notification,) = [n for n in reported["toolExecutionNotifications"] if n["level"] == "error"]
    assert notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "test_broken.py"


@pytest.mark.parametrize(
    "change",
    [{"file": "../outside.py"}, {"home": "/etc/passwd"}, {"line": "x"}, {"time": None}, {"digest": ...}],
    ids=str,
)
def test_a_damaged_frame_is_a_problem_and_nothing_else(work, change):
    folder = work / ".suspectra" / "recording"
    folder.mkdir(parents=True)
    log = LogWriter(str(folder / "1.log"))
    log.write(FrameKind.RUN, json.dumps({"run": "r", "worker": "", "started": 1}).encode())
    head = CollectionError("test_a.py", "E", "m", "a.py", 1, "d", "test_a.py", 5).as_dict() | change
    log.write(FrameKind.ERROR, json.dumps({k: v for k, v in head.items() if v is not ...}).encode())
    log.close()
    evidence = RecordingSource(work).read()
    assert evidence.collection_errors == ()
    assert "does not contain what it should" in evidence.problems[0].cause


def test_old_logs_without_what_was_tried_are_read(work):
    folder = work / ".suspectra" / "recording"
    folder.mkdir(parents=True)
    log = LogWriter(str(folder / "1.log"))
    log.write(FrameKind.RUN, json.dumps({"run": "r", "worker": "", "started": 1}).encode())
    log.write(FrameKind.SCOPE, zlib.compress(json.dumps({"files": {"a.py": []}, "time": 2}).encode()))
    log.close()
    evidence = RecordingSource(work).read()
    assert (evidence.problems, evidence.collection_errors) == ((), ())


def test_a_program_that_runs_pytest_while_it_handles_an_exception_is_not_blamed(work):
    script = Path("run_tests.py")
    script.write_text(
        "import pytest\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    raise SystemExit(pytest.main(['-q']))\n"
    )
    status, _ = record(work, command=(sys.executable, str(script)))
    assert status == 1
    assert errors(work) == {}


@pytest.mark.parametrize(
    ("exception", "message", "environment", "cure"),
    [
        (
            "UsageError", "unrecognized arguments: --cov=shop", ".venv",
            "install pytest-cov where the tests run: `.venv/bin/python -m pip install pytest-cov`",
        ),
        ("UsageError", "Missing required plugins: pytest-mock", "/usr/bin/python3.12",
         "install pytest-mock where the tests run: `/usr/bin/python3.12 -m pip install pytest-mock`"),
        ("UsageError", "unrecognized arguments: --cov=shop", "my envs/a",
         'install pytest-cov where the tests run: `"my envs/a/bin/python" -m pip install pytest-cov`'),
        ("UsageError", "unrecognized arguments: --no-such-option", ".venv", "correct it and run the tests again"),
    ],
)  # fmt: skip
@pytest.mark.skipif(sys.platform == "win32", reason="folders of environments have other names there")
def test_what_is_missing_is_installed_where_the_tests_run(exception, message, environment, cure):
    assert CollectionError("", exception, message, environment=environment).cure == cure


@pytest.mark.parametrize(
    ("files", "module", "cure"),
    [
        (("shop/__init__.py", "setup.py"), "shop", "it is shop of this project: run `suspectra record -- python"),
        (("shop.py",), "shop", "it is shop.py of this project: run `suspectra record -- python"),
        (
            ("src/shop.py", "setup.py"),
            "shop",
            "src/shop.py of this project: install the project where",
        ),
        (("src/shop/cart.py", "pyproject.toml"), "shop.cart", " -m pip install -e .`"),
        (
            ("src/shop.py",),
            "shop",
            "add `pythonpath = src` to the settings of pytest",
        ),
        (("shop.py",), "till", "install till where the tests run: `"),
    ],
)
def test_a_module_of_the_project_itself_is_not_installed_from_elsewhere(work, files, module, cure):
    for name in files:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
    (work / "tests").mkdir()
    Path("tests/test_a.py").write_text(f"import {module}\n\ndef test_a():\n    pass\n")
    record(work, "tests")
    (error,) = RecordingSource(work).read().collection_errors
    assert cure in error.cure


def test_a_plugin_that_is_missing_is_named_by_the_launcher(work):
    status, reported = record(work, "--cov=shop", "-p", "no:pytest_cov", "-p", "no:cov")
    assert status == 4
    assert reported.rstrip().endswith("-m pip install pytest-cov`")
