"""Test runs that the editor asks for: which tests, how far they are, what they say, and why they failed."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import subprocess
import sys
import threading

import pytest

from suspectra.processes.events import ProgressFile, TestProgress, Trouble
from suspectra_server.session.tests.run_output import MAX_LAST_LINES, MAX_STREAMED_LINES, RunLog

SLOW = "import time\n\n\ndef test_slow():\n    print('half way', flush=True)\n    time.sleep(60)\n"


@pytest.fixture
def project(tmp_path):
    """Tests of all shapes; each leaves its name behind."""
    (tmp_path / "code.py").write_text("def double(n):\n    return n * 2\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text(
        "import pathlib, pytest\n\n\n@pytest.fixture(autouse=True)\ndef ran(request):\n"
        "    with open(pathlib.Path(__file__).parents[1] / 'ran', 'a') as out:\n"
        "        out.write(request.node.nodeid + '\\n')\n"
    )
    (tmp_path / "tests" / "test_a.py").write_text(
        "import pytest\nfrom code import double\n\n\n"
        "@pytest.mark.parametrize('n', [1, 2, 'a b'])\ndef test_case(n):\n    assert double(n) == n + n\n\n\n"
        "class TestClass:\n    def test_one(self):\n        assert double(1) == 3\n\n"
        "    def test_two(self):\n        assert double(2) == 4\n"
    )
    (tmp_path / "tests" / "test_b.py").write_text("def test_b():\n    pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\naddopts = -p no:cacheprovider\n")
    (tmp_path / "code.py").rename(tmp_path / "doubling.py")
    text = (tmp_path / "tests" / "test_a.py").read_text().replace("from code", "from doubling")
    (tmp_path / "tests" / "test_a.py").write_text(text)
    return tmp_path


def ran(project):
    file = project / "ran"
    names = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return names


def run(client, *arguments):
    ended = sum(value["kind"] == "end" for value in client.progress)
    assert client.command("runTests", *arguments) is True
    client.wait(lambda: sum(value["kind"] == "end" for value in client.progress) > ended)


def results(client):
    """The verdicts by name; there are none before the first run was read."""
    folders = client.request("suspectra/testResults", {})
    return {test["name"]: test["verdict"] for folder in folders for test in folder["tests"]}


ALL = [
    "tests/test_a.py::test_case[1]",
    "tests/test_a.py::test_case[2]",
    "tests/test_a.py::test_case[a b]",
    "tests/test_a.py::TestClass::test_one",
    "tests/test_a.py::TestClass::test_two",
    "tests/test_b.py::test_b",
]


@pytest.mark.slow
@pytest.mark.parametrize("command", [["pytest"], ["python", "-m", "pytest", "-q", "tests"]], ids=len)
def test_only_the_chosen_tests_run_and_the_others_keep_their_results(client, project, command):
    client.start(project, options={"testCommand": command, "affectedOnly": True})
    run(client)
    assert ran(project) == ALL
    client.ask_until(lambda: len(results(client)) == 6)
    source = project / "doubling.py"
    source.write_text(source.read_text().replace("n * 2", "n * 2 if n != 1 else 3"))
    for chosen in (ALL[2:3], ALL[3:5], [ALL[0], ALL[5]]):
        run(client, [project.as_uri()], {project.as_uri(): chosen})
        assert ran(project) == chosen
    client.ask_until(lambda: results(client)["tests/test_a.py::test_case[1]"] == "failed")
    assert list(results(client).values()).count("failed") == 1
    assert len(results(client)) == 6
    for wrong in ({"x": "name"}, [], {"x": ["a\nb"]}):
        with pytest.raises(client.Error, match="names of tests"):
            client.command("runTests", None, wrong)


@pytest.mark.slow
def test_it_is_said_how_many_tests_are_done_and_how_many_failed(client, project):
    client.start(project)
    run(client)
    reported = [status["progress"] for status in client.statuses if status["progress"]]
    assert reported[-1] == {"done": 6, "failed": 1, "total": 6, "onSave": False}
    assert all(one["done"] <= other["done"] for one, other in itertools.pairwise(reported))
    assert any(status["message"] == "Running the tests: 6 of 6 tests, 1 failed" for status in client.statuses)
    reports = [value for value in client.progress if value["kind"] == "report"]
    assert (reports[-1]["message"], reports[-1]["percentage"]) == ("6 of 6 tests, 1 failed", 100)
    client.wait(lambda: client.statuses[-1]["progress"] is None)


@pytest.mark.slow
def test_a_server_that_ends_during_a_run_leaves_nothing_open(client, project, monkeypatch):
    (project / "tests" / "test_c.py").write_text(SLOW)
    gc.collect()  # what tests before have left is not meant
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    client.start(project, options={"testCommand": ["pytest", "-s", "tests/test_c.py"]})
    assert client.command("runTests") is True
    client.wait(lambda: any("half way" in params["message"] for params in client.logged))
    client.request("shutdown")
    client.notify("exit")
    client.thread.join(30)
    assert not client.thread.is_alive()
    for thread in threading.enumerate():
        if "suspectra-run" in thread.name:  # it waits for the process
            thread.join(30)
            assert not thread.is_alive()
    gc.collect()
    assert [repr(one.exc_value) for one in ignored] == []


def test_output_comes_while_the_tests_run(client, project):
    (project / "tests" / "test_c.py").write_text(SLOW)
    client.start(project, options={"testCommand": ["pytest", "-s"]})
    assert client.command("runTests") is True
    client.wait(lambda: any("half way" in line["message"] for line in client.logged))
    client.wait(lambda: client.statuses[-1]["progress"] == {"done": 6, "failed": 1, "total": 7, "onSave": False})
    assert client.statuses[-1]["state"] == "runningTests"
    assert client.command("cancelTests") is True


@pytest.mark.slow
def test_that_nothing_can_be_ranked_yet_is_no_notification_while_tests_run(client, project):
    """Which would come again and again, as its numbers change."""
    (project / "test_aaa.py").write_text(
        "import time\n\nimport pytest\n\n\ndef test_fails():\n    assert [] == [1]\n\n\n"
        "@pytest.mark.parametrize('n', range(20))\ndef test_skipped(n):\n    time.sleep(0.1)\n"
        "    pytest.skip('later')\n"
    )
    client.initialize(project, options={"testCommand": ["pytest", "test_aaa.py"], "showNotifications": "always"})
    assert client.command("runTests") is True
    client.wait(lambda: any("; 20 were skipped" in said["message"] for said in client.messages))
    said = [message["message"] for message in client.messages + client.logged]
    assert sum("that may be a suspect" in message for message in said) == 1


@pytest.mark.slow
def test_why_a_run_failed_stays_until_the_next_one(client, project):
    client.start(project, options={"testCommand": ["no-such-program"]})
    run(client)
    (failed,) = client.suspects()["failedRuns"]
    assert failed["folder"] == project.as_uri()
    assert "no-such-program: this command does not exist" in failed["message"]
    client.configuration = {"testCommand": ["pytest"]}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    run(client)
    client.ask_until(lambda: client.suspects()["failedRuns"] == [])


@pytest.mark.parametrize("status", [0, 1])
def test_a_run_that_a_test_cuts_off_has_failed(client, project, status):
    (project / "tests" / "test_b.py").write_text(f"import os\n\n\ndef test_b():\n    os._exit({status})\n")
    client.start(project)
    client.command("runTests")
    how = f"(its process ended early, with status {status}): 1 test was not run"
    said = f"the run was cut off in tests/test_b.py::test_b {how}; the tests that finished are recorded"
    client.wait(lambda: said in [message["message"] for message in client.logged])
    client.wait(lambda: client.statuses[-1]["failed"] == 1)
    (error,) = client.ask_until(lambda: [one for one in client.suspects()["collectionErrors"] if one["file"]])
    assert client.suspects()["failedRuns"] == []  # the error says why, also after a restart
    what = (error["exception"], error["message"], error["file"], error["line"])
    assert what == ("Crash", f"the run was cut off in tests/test_b.py::test_b {how}", "tests/test_b.py", 4)
    client.wait(lambda: "1 test was not run" in client.statuses[-1]["message"])


@pytest.mark.slow
def test_the_command_line_for_a_terminal_works_when_copied(client, project):
    client.start(project, options={"testCommand": ["pytest", "-q", "tests/test_b.py"]})
    line = client.request("suspectra/commandLine", {"folder": project.as_uri()})["commandLine"]
    assert client.request("suspectra/commandLine")["commandLine"] == line
    assert client.request("suspectra/commandLine", {"folder": "file:///elsewhere"}) is None
    # in a shell that has no such command on its PATH
    done = subprocess.run(
        ["sh", "-c", line], cwd=project, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ran(project) == ALL[-1:]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_the_recorder_says_how_a_run_gets_on(project, options):
    events = project / "events"
    events.touch()
    (project / "tests" / "test_c.py").write_text(
        "import os, time\n\n\ndef test_gone(monkeypatch):\n    monkeypatch.delattr(os, 'open')\n"
        "    monkeypatch.delattr(os, 'write')\n\n\ndef test_closed():\n    os.closerange(200, 300)\n"
    )
    command = [sys.executable, "-m", "suspectra", "record", "--progress", str(events), "--", "pytest", *options]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    assert lines.count({"tests": 8}) == 1
    assert lines.count({"failed": False}) == 7
    assert lines.count({"failed": True}) == 1
    assert list(ProgressFile(events).news()) == [TestProgress(8, 1, 8)]


def test_events_are_read_as_they_come_and_nothing_else_counts(tmp_path):
    file = tmp_path / "events"
    file.write_bytes(b'{"tests": 2}\n{"fai')
    events = ProgressFile(file)
    assert list(events.news()) == [TestProgress(0, 0, 2)]
    with file.open("ab") as out:
        out.write(
            b'led": true}\nnot JSON\n[]\n{"failed": 3}\n{"failed": false}\n{"failed": false}\n{"trouble": "no more"}\n'
        )
    assert list(events.news()) == [TestProgress(3, 1, 3), Trouble("no more")]
    assert list(events.news()) == []
    assert (TestProgress(3, 1, 3).percentage, str(TestProgress(3, 1, 3))) == (100, "3 of 3 tests, 1 failed")
    assert (TestProgress().percentage, str(TestProgress())) == (None, "collecting tests")


def test_endless_output_is_bounded():
    shown: list[str] = []

    async def stream():
        log = RunLog(shown.append)
        for start in range(0, 3 * MAX_STREAMED_LINES, 100):
            log.add(f"line {number}" for number in range(start, start + 100))
            log.flush()
        log.end()
        return log

    log = asyncio.run(stream())
    lines = "\n".join(shown).split("\n")
    assert len(lines) == MAX_STREAMED_LINES + MAX_LAST_LINES + 1
    assert lines[-1] == log.last == f"line {3 * MAX_STREAMED_LINES - 1}"
    assert f"{2 * MAX_STREAMED_LINES - MAX_LAST_LINES:,} lines of output left out" in lines[MAX_STREAMED_LINES]
