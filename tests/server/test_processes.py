"""The processes of a test run end with the program that started them, however that ends."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from suspectra.processes import watchdog

TIMEOUT_S = 60
STUBBORN = """\
import os, pathlib, signal, subprocess, sys, time

WAIT = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)"

def test_stubborn():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own_session = subprocess.Popen([sys.executable, "-c", WAIT], start_new_session=True)
    no_environment = subprocess.Popen([sys.executable, "-c", WAIT], env={})
    pids = [os.getpid(), own_session.pid, no_environment.pid]
    pathlib.Path("pids.tmp").write_text(" ".join(map(str, pids)))
    os.replace("pids.tmp", "pids.txt")
    time.sleep(600)
"""


@pytest.fixture
def stubborn(shop):
    """A workspace whose test ignores SIGINT and starts processes that do."""
    (shop / "tests/test_a_stubborn.py").write_text(STUBBORN)
    yield shop
    if (shop / "pids.txt").exists():
        for pid in map(int, (shop / "pids.txt").read_text().split()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def pids(until):
    """The processes of a test, once it has begun."""

    def pids(folder):
        until((folder / "pids.txt").exists, "the test did not start")
        return [int(pid) for pid in (folder / "pids.txt").read_text().split()]

    return pids


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


@pytest.fixture
def all_end(until):
    """Wait until processes have ended."""
    return lambda numbers: until(lambda: not any(map(alive, numbers)), f"one still runs of {numbers}")


def hang_up(server, client):
    client.hang_up()  # what is left of a client that was killed


def shut_down(server, client):
    client.request("shutdown")
    client.notify("exit")


def kill(server, client):
    server.kill()


def cancel(server, client):
    client.command("cancelTests")


@pytest.mark.slow
@pytest.mark.parametrize("end", [hang_up, shut_down, kill, cancel])
def test_no_process_of_a_test_run_outlives_the_server(process, client_of, stubborn, end, pids, all_end):
    server = process()
    client = client_of(server.stdout, server.stdin)
    client.start(stubborn)
    client.command("runTests")
    numbers = pids(stubborn)
    assert all(map(alive, numbers))
    end(server, client)
    all_end(numbers)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_of_a_test_run_outlives_the_command_line(stubborn, number, pids, all_end):
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    recorder = subprocess.Popen(command, cwd=stubborn, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    numbers = pids(stubborn)
    recorder.send_signal(number)
    recorder.wait(TIMEOUT_S)
    all_end(numbers)


@pytest.mark.slow
def test_what_tests_of_c_run_ends_with_the_command_line(build_c, pids, all_end):
    workspace = build_c().workspace
    (workspace / "tests.sh").write_text("trap '' INT TERM\necho $$ > pids.tmp\nmv pids.tmp pids.txt\nsleep 600\n")
    command = [sys.executable, "-m", "suspectra", "record-c", "--command", "sh {test}", "--tests", "test*.sh"]
    recorder = subprocess.Popen(command, cwd=workspace, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    numbers = pids(workspace)
    recorder.kill()
    recorder.wait(TIMEOUT_S)
    all_end(numbers)


def test_what_a_run_that_ended_left_running_stays():
    environ = dict(os.environ)
    with watchdog.Watchdog(environ) as watching:
        left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=environ)
    try:
        watching._process.wait(TIMEOUT_S)  # it has done what it does
        assert left.poll() is None
        assert watchdog.VARIABLE not in environ or environ[watchdog.VARIABLE] == os.environ.get(watchdog.VARIABLE)
    finally:
        left.kill()
        left.wait()


@pytest.mark.parametrize("of", [watchdog._from_proc, watchdog._from_ps], ids=["proc", "ps"])
def test_processes_are_found_by_the_mark_and_by_their_parents(of, until):
    mark = os.urandom(12).hex()
    inner = (
        "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], env={})"
    )
    command = [sys.executable, "-c", f"{inner}; time.sleep(600)"]
    marked = subprocess.Popen(command, env={**os.environ, watchdog.VARIABLE: f"other:{mark}"})
    given = mark.encode() if of is watchdog._from_proc else mark
    try:
        until(lambda: len(watchdog._with_descendants(of(given))) == 2, "two processes, one of them unmarked")
        assert marked.pid in watchdog._with_descendants(of(given))
    finally:
        for pid in watchdog._with_descendants(of(given)):
            os.kill(pid, signal.SIGKILL)
        marked.wait()
