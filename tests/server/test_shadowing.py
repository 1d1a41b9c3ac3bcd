"""Files of a project that have the names of modules are never taken for those modules."""

import subprocess
import sys

import pytest

from suspectra.evidence.recording import RecordingSource

APP = "def half(n):\n    return n // 3\n"
TESTS = (
    "import app\n\ndef test_half():\n    assert app.half(6) == 3\n\ndef test_nothing():\n    assert app.half(0) == 0\n"
)
THIRD_PARTY = {"suspectra", "pytest", "_pytest", "pluggy", "click", "numpy", "scipy", "pygls", "lsprotocol", "attrs"}
NAMES = sorted((set(sys.stdlib_module_names) | THIRD_PARTY) - {"__future__", "__main__"})


def leave_what_python_needs_for_m(root):
    """Remove what is loaded for -m before `__main__` can take the current folder off the path."""
    command = [
        sys.executable,
        "-c",
        "import runpy, suspectra, sys; print(*{name.partition('.')[0] for name in sys.modules})",
    ]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    for name in ({*loaded} & {*NAMES}) | {"suspectra"}:
        (root / f"{name}.py").unlink()
    assert all((root / f"{name}.py").exists() for name in ("json", "token", "select"))


@pytest.fixture
def shadows(tmp_path):
    """A project with a file for each module there is; each would be seen if it was run."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "pytest.ini").write_text("[pytest]\npythonpath = src\n")
    (root / "src/app.py").write_text(APP)
    (root / "tests/test_app.py").write_text(TESTS)
    for name in NAMES:
        text = f"open({str(tmp_path / 'ran')!r}, 'a').write({name + ' '!r})\nraise SystemExit({name!r})\n"
        (root / f"{name}.py").write_text(text)
    yield root
    ran = tmp_path / "ran"
    assert not ran.exists(), ran.read_text()


@pytest.mark.slow
def test_the_server_runs_the_tests(client, shadows):
    client.start(shadows)
    client.command("runTests")
    client.wait(lambda: client.progress and client.progress[-1]["kind"] == "end")
    client.wait_for_state("ready")
    assert [suspect["file"] for suspect in client.suspects()["suspects"]] == ["src/app.py"]


@pytest.mark.slow
def test_the_server_runs_the_tests_with_a_python_that_it_has_to_look_for(client, shadows):
    folder = shadows / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "python").chmod(0o755)
    client.start(shadows)
    client.command("runTests")
    client.wait(lambda: client.progress and client.progress[-1]["kind"] == "end")
    client.wait_for_state("ready")


@pytest.mark.slow
def test_a_server_that_starts_in_the_project(process, client_of, shadows):
    leave_what_python_needs_for_m(shadows)
    server = process(cwd=shadows)
    client = client_of(server.stdout, server.stdin)
    client.start(shadows)
    client.command("runTests")
    client.wait(lambda: client.progress and client.progress[-1]["kind"] == "end")
    client.wait_for_state("ready")


@pytest.mark.parametrize("command", [["record"], ["rank"], ["affected"], ["techniques"]])
def test_the_command_line_in_the_project(shadows, command):
    leave_what_python_needs_for_m(shadows)
    if command == ["rank"]:
        record = [sys.executable, "-m", "suspectra", "record"]
        assert subprocess.run(record, cwd=shadows, capture_output=True).returncode == 1
    done = subprocess.run([sys.executable, "-m", "suspectra", *command], cwd=shadows, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.returncode == (1 if command == ["record"] else 0), done.stderr


SCRIPTS = {
    "script.py": "import app\nprint(app.half(6))\n",
    # a program means the file beside it, and what tests it imports means the standard library's
    "own.py": "import json, resource, app\nprint(json.WHOSE, resource.WHOSE, app.half(6))\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("command", [["pytest", "-q"], ["python", "-m", "unittest"]], ids=lambda words: words[-1])
def test_programs_that_tests_start_beside_such_files(tmp_path, command):
    """The folder of a script comes before the standard library on the path of its process, also for its recorder."""
    root = tmp_path / "project"
    (root / "tools").mkdir(parents=True)
    (root / "tools/app.py").write_text(APP)
    for name, text in SCRIPTS.items():
        (root / "tools" / name).write_text(text)
    (root / "test_script.py").write_text(
        "import subprocess, sys, unittest\n\n"
        "class TestScripts(unittest.TestCase):\n"
        "    def run_it(self, *words):\n"
        "        return subprocess.run([sys.executable, *words], cwd='tools', capture_output=True, text=True)\n"
        "    def test_script(self):\n"
        "        done = self.run_it('script.py')\n"
        "        assert (done.returncode, done.stdout, done.stderr) == (0, '2\\n', '')\n"
        "    def test_code(self):\n"
        "        done = self.run_it('-c', 'import app; print(app.half(6))')\n"
        "        assert (done.returncode, done.stdout, done.stderr) == (0, '2\\n', '')\n"
        "    def test_own(self):\n"
        "        done = self.run_it('own.py')\n"
        "        assert (done.returncode, done.stdout, done.stderr) == (0, 'ours ours 2\\n', '')\n"
    )
    ran = tmp_path / "ran"
    for name in NAMES:
        (root / f"tools/{name}.py").write_text(f"open({str(ran)!r}, 'a').write({name + ' '!r})\nraise SystemExit(3)\n")
    for name in ("json", "resource"):
        (root / f"tools/{name}.py").write_text("WHOSE = 'ours'\n")
    start = [sys.executable, "-m", "suspectra", "record", "--", *command]
    done = subprocess.run(start, cwd=root, capture_output=True, text=True)
    assert not ran.exists(), ran.read_text()
    assert done.returncode == 0, done.stdout + done.stderr
    evidence = RecordingSource(root).read()
    executed = {test.name.rpartition("test_")[2]: row for test, row in zip(evidence.tests, evidence.rows, strict=True)}
    files = {name: {evidence.elements.files[evidence.elements.file[i]] for i in row} for name, row in executed.items()}
    assert files == {
        "script": {"tools/app.py", "tools/script.py"},
        "code": {"tools/app.py"},
        "own": {"tools/app.py", "tools/own.py", "tools/json.py", "tools/resource.py"},
    }


@pytest.mark.parametrize(
    "command",
    [["pytest", "-q"], ["python", "-m", "pytest", "-q"], ["python", "-m", "unittest"], ["python", "all.py"]],
    ids=lambda words: words[-1],
)
def test_tests_that_mean_such_a_file_get_it(tmp_path, command):
    """What neither the interpreter nor the runner imports is the project's own, though the recorder imports it."""
    (tmp_path / "resource.py").write_text("WHOSE = 'ours'\n")
    (tmp_path / "mmap.py").write_text("WHOSE = 'ours'\n")
    (tmp_path / "all.py").write_text("import unittest\nfrom test_own import *\nunittest.main()\n")
    (tmp_path / "conftest.py").touch()
    (tmp_path / "test_own.py").write_text(
        "import json, json.decoder, sys, unittest\n"
        "import mmap, resource\n\n"
        "class TestOwn(unittest.TestCase):\n"
        "    def test_it(self):\n"
        "        assert (mmap.WHOSE, resource.WHOSE) == ('ours', 'ours')\n"
        "        assert json.decoder.JSONDecodeError is json.JSONDecodeError\n"
        "        assert json.__spec__.loader.get_filename('json') == json.__file__\n"
    )
    start = [sys.executable, "-m", "suspectra", "record", "--", *command]
    done = subprocess.run(start, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [test.name.rpartition("test_")[2] for test in RecordingSource(tmp_path).read().tests] == ["it"]
