"""How to debug a failing test: what a client starts, where it stops, and what is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

from suspectra.base.errors import UsageError
from suspectra_server.messages import DebugLaunch
from suspectra_server.session.tests.debug_launch import Launch

CODE = """\
def rate(kind):
    found = 20
    if kind == "book":
        found = 7
    return found


def total(amount, kind):
    return amount + amount * rate(kind) // 100
"""
TESTS = """\
from code_of_shop import total


def test_food():
    paid = total(100, "food")
    assert paid == 107


def test_book():
    assert total(100, "book") == 107
"""
FILES = {"code_of_shop.py": CODE, "test_shop.py": TESTS}
FAILING = "test_shop.py::test_food"


@pytest.mark.slow
def test_a_suspect_is_debugged_in_a_test_that_executes_it(client, project):
    client.start(project)
    uri = client.open(project / "code_of_shop.py")
    launch = client.command("debugHere", uri, 1)
    assert launch.keys() == DebugLaunch.__annotations__.keys()
    assert launch["test"] == launch["arguments"][-1] == FAILING
    assert launch["module"] == "pytest"
    assert Path(launch["root"]) == project
    assert [(stop["uri"], stop["range"]["start"]["line"]) for stop in launch["stops"]] == [(uri, 1)]
    # the interpreter and the module do run this test, and no other
    command = [launch["python"], "-m", launch["module"], *launch["arguments"]]
    done = subprocess.run(command, cwd=launch["root"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "passed" not in done.stdout
    with pytest.raises(client.Error, match="No failing test executes this line"):
        client.command("debugHere", uri, 3)


def test_a_failing_test_stops_on_its_first_suspect(client, project):
    client.start(project)
    uri, test_uri = client.open(project / "code_of_shop.py"), client.open(project / "test_shop.py")
    first = client.suspects()["suspects"][0]
    by_name = client.command("debugTest", project.as_uri(), FAILING)
    assert [stop["uri"] for stop in by_name["stops"]] == [uri]
    assert by_name["stops"][0]["range"]["start"]["line"] == first["range"]["start"]["line"]
    cursor = {"uri": test_uri, "position": {"line": 4, "character": 0}}
    assert client.command("debugTest", None, None, cursor) == by_name
    assert client.command("debugTest") == by_name
    with pytest.raises(client.Error, match="did not fail"):
        client.command("debugTest", project.as_uri(), "test_shop.py::test_book")


@pytest.mark.slow
def test_a_chain_of_causes_has_a_stop_at_each_line(client, project):
    client.start(project)
    client.agree()
    with pytest.raises(client.Error, match="No cause was searched for"):
        client.command("debugChain")
    found = client.command("findCause", None, FAILING)
    launch = client.command("debugChain")
    lines = {(step["uri"], step["range"]["start"]["line"]) for step in found["chain"]}
    assert {(stop["uri"], stop["range"]["start"]["line"]) for stop in launch["stops"]} == lines
    assert len(launch["stops"]) == len(lines) > 1
    assert launch["test"] == FAILING


def test_it_is_offered_on_suspects_and_failing_tests(client, project):
    client.start(project)
    for name, line in (("code_of_shop.py", 1), ("test_shop.py", 3)):
        place = {"line": line, "character": 0}
        actions = client.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": client.open(project / name)},
                "range": {"start": place, "end": place},
                "context": {"diagnostics": []},
            },
        )
        commands = {action["command"]["command"].removeprefix("suspectra.server.") for action in actions}
        assert commands & {"debugHere", "debugTest"}
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": (project / "test_shop.py").as_uri()}})
    assert "Debug" in [lens["command"]["title"] for lens in lenses]


def test_nothing_is_debugged_without_trust(connect, project):
    stranger = connect().start(project, options={"trusted": False})
    with pytest.raises(stranger.Error, match="trust"):
        stranger.command("debugHere", (project / "code_of_shop.py").as_uri(), 1)


def test_compiled_programs_are_left_to_their_own_debugger(connect, project):
    client = connect().start(project, options={"cTests": ["--ctest", "build"]})
    with pytest.raises(client.Error, match=r"your debugger for C and C\+\+, with a breakpoint at code_of_shop.py:2"):
        client.command("debugHere", (project / "code_of_shop.py").as_uri(), 1)


def test_a_client_without_a_debugger_of_its_own_gets_a_command_line(connect, project):
    client = connect().start(project, capabilities={})
    client.command("debugHere", (project / "code_of_shop.py").as_uri(), 1)
    client.wait(lambda: client.messages)
    said = client.messages[-1]["message"]
    assert said.startswith(f"To debug {FAILING}, with a breakpoint at code_of_shop.py:2: ")
    assert said.endswith(f"-m debugpy --listen 5678 --wait-for-client -m pytest {FAILING}")


@pytest.mark.parametrize(
    ("command", "files", "module", "arguments"),
    [
        (["pytest", "-q", "tests", "-p", "no:cacheprovider"], {}, "pytest", ["-q", "-p", "no:cacheprovider", "t"]),
        (["pytest", "--rootdir", "tests", "tests/test_a.py::test_b"], {}, "pytest", ["--rootdir", "tests", "t"]),
        (["pytest", "--cov=shop", "-n", "4"], {}, "pytest", ["--cov=shop", "-n", "4", "--no-cov", "-n0", "t"]),
        (["pytest"], {"pytest.ini": "[pytest]\naddopts = -n auto --cov\n"}, "pytest", ["--no-cov", "-n0", "t"]),
        (["uv", "run", "pytest", "-x"], {}, "pytest", ["-x", "t"]),
        (
            ["python", "-m", "unittest", "discover", "-s", "tests"],
            {},
            "unittest",
            ["discover", "-s", "tests", "-k", "*t"],
        ),
    ],
)
def test_the_command_of_all_tests_becomes_that_of_one(tmp_path, command, files, module, arguments):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").touch()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    launch = Launch.for_test(command, "", "t", tmp_path)
    assert (launch.module, launch.arguments) == (module, tuple(arguments))


@pytest.mark.parametrize(
    "words", [("discover", "-s", "tests", "-t", "."), ("discover", "-s", "tests"), ("tests.test_a",)]
)
def test_one_test_of_a_class_runs_by_unittest(tmp_path, words):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    methods = "".join(f"    def test_{name}(self):\n        print('ran', self.id())\n" for name in ("a", "a_b", "b"))
    classes = (f"class {name}(unittest.TestCase):\n{methods}\n" for name in ("A", "BigA"))
    (tmp_path / "tests" / "test_a.py").write_text("import unittest\n\n" + "\n".join(classes))
    launch = Launch.for_test(
        ["python", "-m", "unittest", *words], sys.executable, "tests/test_a.py::A::test_a", tmp_path
    )
    command = [launch.python, "-m", launch.module, *launch.arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    assert [line.rpartition("test_a.")[2] for line in done.stdout.splitlines()] == ["A.test_a"]


def test_the_interpreter_is_the_one_of_the_command(tmp_path):
    assert Launch.for_test([sys.executable, "-m", "pytest"], "", "t", tmp_path).python == sys.executable
    assert Launch.for_test(["pytest"], "/chosen/python", "t", tmp_path).python == "/chosen/python"


def test_a_command_that_names_no_runner_is_refused(tmp_path):
    with pytest.raises(UsageError, match="neither pytest nor unittest"):
        Launch.for_test(["tox", "-e", "py"], "", "t", tmp_path)
