"""What works on Windows, and what is refused there in words; the system is replaced by `tests/fixtures/windows.py`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"
WINDOWS = [sys.executable, str(FIXTURES / "windows.py")]
APP = "def double(n):\n    return n + 2\n"
TESTS = """
from app import double

def test_two():
    assert double(2) == 4

def test_three():
    assert double(3) == 6
"""
MODULES = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import windows
for package in ("suspectra", "suspectra_recorder", "suspectra_server", "suspectra_mcp"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if ".bootstrap" not in module.name and "__main__" not in module.name:
            importlib.import_module(module.name)
            print(module.name)
"""


def suspectra(folder, *words, **how):
    return subprocess.run(
        [*WINDOWS, "suspectra", *words], cwd=folder, capture_output=True, text=True, timeout=240, check=False, **how
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "app.py").write_text(APP)
    (folder / "test_app.py").write_text(TESTS)
    done = suspectra(folder, "record", "--", sys.executable, "-m", "pytest", "-q")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "recorded 2 tests" in done.stderr
    return folder


def test_every_module_can_be_imported():
    command = [sys.executable, "-c", MODULES, str(FIXTURES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) > 500


def test_tests_are_ranked(recorded):
    done = suspectra(recorded, "rank", "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert "app.py,2" in done.stdout


def test_altered_runs_are_made_without_fork(recorded):
    done = suspectra(recorded, "investigate", "--format", "json", "--seconds", "120")
    assert done.returncode == 0, done.stderr
    assert "test_three passes with `2` → `3`" in done.stderr


def test_the_server_answers(recorded):
    params = {"processId": None, "rootUri": recorded.as_uri(), "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    with subprocess.Popen(
        [*WINDOWS, "suspectra", "server"], cwd=recorded, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        server.stdin.flush()
        length = next(int(line.split(b":")[1]) for line in server.stdout if line.startswith(b"Content-Length"))
        answer = server.stdout.read(length)
    assert b'"capabilities"' in answer


TEST = "test_app.py::test_three"
REFUSED = {
    "slice": (("slice", "--failure"), "following a test step by step needs fork", "`suspectra investigate` works here"),
    "causes": (("causes", TEST), "following a test step by step needs fork", "`suspectra investigate` works here"),
    "record-c": (
        ("record-c", "--shell", "tests.txt"),
        "recording tests of C and C++ needs locks of files",
        "`suspectra rank --gcov`",
    ),
    "--unix": (("server", "--unix", "here"), "--unix needs Unix sockets", "use --tcp or --ws"),
    "--token-file": (
        ("server", "--tcp", "127.0.0.1:0", "--token-file", "here"),
        "--token-file needs files that belong to one user",
        "the token is printed",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("words", "cause", "cure"), REFUSED.values(), ids=list(REFUSED))
def test_what_can_not_work_is_refused_in_words(recorded, words, cause, cure):
    (recorded / "tests.txt").write_text("sum\ttrue\n")
    done = suspectra(recorded, *words)
    assert done.returncode == 2, done.stdout + done.stderr
    (said,) = [line for line in done.stderr.splitlines() if "Windows" in line]
    assert f"{cause}, which Windows does not have. Fix: " in said
    assert cure in said
    assert not (recorded / "here").exists()
