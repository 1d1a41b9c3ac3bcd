"""Files of a project that have the names of modules are never taken for those modules."""

import subprocess
import sys

import pytest

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


def test_the_server_runs_the_tests(client, shadows):
    client.start(shadows)
    client.command("runTests")
    client.wait(lambda: client.progress and client.progress[-1]["kind"] == "end")
    client.wait_for_state("ready")
    assert [suspect["file"] for suspect in client.suspects()["suspects"]] == ["src/app.py"]


def test_the_server_runs_the_tests_with_a_python_that_it_has_to_look_for(client, shadows):
    folder = shadows / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "python").chmod(0o755)
    client.start(shadows)
    client.command("runTests")
    client.wait(lambda: client.progress and client.progress[-1]["kind"] == "end")
    client.wait_for_state("ready")


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
