"""Runs that are cut off: what is said of them, and what they leave behind."""

import os
import re
import signal
import subprocess
import sys
import time
from resource import RLIMIT_FSIZE, setrlimit

import pytest

from suspectra.evidence.recording import RecordingSource

TESTS = "import time, pytest\n@pytest.mark.parametrize('n', range(40))\ndef test_f(n):\n    time.sleep(0.05)\n"


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work" / "test_x.py").write_text(TESTS)
    return tmp_path / "work"


def suspectra(work, *arguments):
    environment = {**os.environ, "TMPDIR": str(work.parent / "tmp")}
    return subprocess.Popen(
        [sys.executable, "-m", "suspectra", *arguments],
        cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # which nohup lets them ignore
    )  # fmt: skip


def said(work, *arguments):
    process = suspectra(work, *arguments)
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err


def begun(work, tests=3):
    """A recorded run, some of whose tests have ended."""
    progress = work.parent / "progress"
    progress.touch()
    process = suspectra(work, "record", "--progress", str(progress), "--", "pytest", "-q", "-p", "no:cacheprovider")
    until = time.monotonic() + 120
    while progress.read_text().count("\n") < tests + 1:
        assert time.monotonic() < until
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_asked_to_end_leaves_no_temporary_file(work, number):
    process = begun(work)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    left = int(re.search(r"the run was cut off \(it was interrupted\): (\d+) tests were not run", err)[1])
    assert left == 40 - len(RecordingSource(work).read().tests)
    assert [path.name for path in (work.parent / "tmp").iterdir() if path.name.startswith("suspectra")] == []


def test_what_a_killed_run_leaves_is_swept_by_the_next(work):
    process = begun(work)
    process.kill()
    process.communicate(timeout=60)
    until = time.monotonic() + 120
    while RecordingSource(work).growing():
        assert time.monotonic() < until
        time.sleep(0.05)
    ran = len(RecordingSource(work).read().tests)
    assert 3 <= ran < 40
    for command in (["status"], ["rank"], ["investigate"], ["paths", "test_x.py::test_f[0]"], ["slice", "--failure"]):
        assert f"the run was cut off: {40 - ran} tests were not run" in said(work, *command)[1]
    left = {path.name for path in (work.parent / "tmp").glob("suspectra-*")}
    assert left
    assert said(work, "record", "--", "pytest", "-q", "-k", "f0")[0] == 5  # there is no such test
    assert not {path.name for path in (work.parent / "tmp").glob("suspectra-*")} & left


DESCRIPTORS = """
import os, subprocess, sys
from app import f

def test_before():
    f(1)

def test_all_are_closed():
    os.closerange(3, 1000)

def test_their_numbers_are_used_again(tmp_path):
    files = [open(tmp_path / str(number), "w") for number in range(30)]
    os.closerange(3, 1000)
    again = [os.open(tmp_path / str(number), os.O_RDONLY) for number in range(30)]
    f(2)
    subprocess.run([sys.executable, "-c", "from app import f; f(0)"], check=True)
    for number in again:
        os.close(number)
    for file in files:
        try:
            file.close()
        except OSError:
            pass

def test_after():
    f(0)
"""
APP = "def f(a):\n    if a:\n        return a\n    return 0\n"


def test_descriptors_that_a_test_closes_are_opened_again(work):
    (work / "test_x.py").write_text(DESCRIPTORS)
    (work / "app.py").write_text(APP)
    plugins = ("-p", "no:cacheprovider", "-p", "no:logging", "-p", "no:faulthandler")  # whose files the tests close
    status, shown = said(work, "record", "--", "pytest", "-sq", *plugins)
    assert status == 0, shown
    assert "recorded 4 tests" in shown
    evidence = RecordingSource(work).read()
    assert evidence.problems == ()
    (file,) = evidence.files
    pairs = zip(evidence.tests, evidence.rows, strict=True)
    executed = {test.name.partition("::")[2]: file.line[row].tolist() for test, row in pairs}
    assert executed == {
        "test_before": [2, 3],
        "test_all_are_closed": [],
        "test_their_numbers_are_used_again": [2, 3, 4],
        "test_after": [2, 4],
    }
    assert list((work / ".suspectra").glob("children/*")) == []


@pytest.mark.parametrize("blocks", [8, 16])
def test_only_what_was_written_is_counted(work, blocks):
    (work / "test_x.py").write_text(TESTS.replace("0.05", "0").replace("range(40)", "range(300)"))
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    limit = (blocks << 10, blocks << 10)
    done = subprocess.run(
        command, cwd=work, capture_output=True, text=True, preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, limit)
    )
    recorded = len(RecordingSource(work).read().tests)
    assert 0 < recorded < 300
    assert f"recorded {recorded} tests" in done.stderr
    assert f"{300 - recorded} tests ran, but could not be recorded: File too large" in done.stderr


@pytest.mark.parametrize("command", [["pytest", "-q"], ["python", "-m", "unittest", "-q"]])
def test_a_crash_says_what_did_not_run(work, command):
    (work / "test_x.py").write_text(
        "import os, signal, unittest\n\nclass T(unittest.TestCase):\n    def test_a(self): pass\n"
        "    def test_b(self): os.kill(os.getpid(), signal.SIGKILL)\n    def test_c(self): pass\n"
    )
    how = "the run was cut off in test_x.py::T::test_b (it was killed by SIGKILL): 2 tests were not run"
    assert how in said(work, "record", "--", *command)[1]
    assert how in said(work, "status")[1]


def test_a_run_that_ends_at_its_first_failure_is_not_cut_off(work):
    (work / "test_x.py").write_text("def test_a(): assert 0\n\ndef test_b(): pass\n")
    for command in (["pytest", "-qx"], ["pytest", "-q", "--maxfail=1"], ["pytest", "-q", "--stepwise"]):
        assert "cut off" not in said(work, "record", "--", *command)[1]
        assert "cut off" not in said(work, "status")[1]


def test_new_tests_that_did_not_run_are_not_counted(work):
    assert said(work, "record", "--", "pytest", "-q", "test_x.py::test_f[0]")[0] == 0
    (work / "test_x.py").write_text(
        "import pytest\ndef test_a(): pass\ndef test_b(): pytest.exit('')\ndef test_c(): pass\n"
    )
    words = said(work, "record", "--failed-and-affected", "--", "pytest", "-q")[1]
    assert "recorded 1 test in" in words
    assert "the run was cut off (it was interrupted): 2 tests were not run" in words


def test_a_run_that_is_interrupted_before_it_begins_says_so(work):
    (work / "conftest.py").write_text(
        "import os, signal\n\nos.kill(os.getppid(), signal.SIGTERM)\nimport time\ntime.sleep(9)\n"
    )
    status, shown = said(work, "record", "--", "pytest", "-q")
    assert status == 130
    assert "Fix: let the command be" not in shown
    assert "interrupted" in shown


def test_the_next_run_makes_up_for_one_that_was_cut_off(work):
    process = begun(work)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert "cut off" in said(work, "status")[1]
    shown = said(work, "record", "--failed-and-affected", "--", "pytest", "-q")[1]
    assert "cut off" not in shown
    assert "cut off" not in said(work, "status")[1]
    assert len(RecordingSource(work).read().tests) == 40
