"""What goes wrong on real machines while tests are recorded: full disks, clocks that are set, processes that die."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from suspectra.evidence.recording import RecordingSource
from suspectra.evidence.sources import Sources
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, frames, split_json, with_json
from suspectra_recorder.log.writer import LogWriter

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
APP = "def f(a):\n    if a % 2:\n        return a\n    return -a\n"
TESTS = (
    "import app, pytest\n\n@pytest.mark.parametrize('n', range({count}))\n"
    "def test_f(n):\n    assert app.f(n) == n, '{much}'\n"
)


@pytest.fixture
def work(tmp_path):
    (tmp_path / "app.py").write_text(APP)
    return tmp_path


def record(folder, count=20, much="no", largest_file=None, module="suspectra", arguments=()):
    """Record a run in a process of its own, where no file may become larger than so many bytes."""
    (folder / "test_app.py").write_text(TESTS.format(count=count, much=much))
    arguments = arguments or ["record", "--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]

    def limit():
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def verdicts(folder):
    return {test.name: test.verdict.value for test in RecordingSource(folder).read().tests}


@pytest.mark.slow
def test_a_disk_that_fills_up_fails_no_test_and_loses_none_that_was_written(work):
    much = "".join(chr(97 + n * n % 26) for n in range(300))
    done = record(work, 40, much, largest_file=6000)
    assert done.returncode == 1
    assert "19 failed, 21 passed" in done.stdout
    assert "recording stopped: " in done.stderr
    assert "Traceback" not in done.stderr
    kept = verdicts(work)
    assert 0 < len(kept) < 40
    assert list(kept) == [f"test_app.py::test_f[{n}]" for n in range(len(kept))]  # no hole
    done = record(work, 40, much)  # there is room again
    assert len(verdicts(work)) == 40


def status_with_limit(size, work):
    """The exit status of a child in which no file may become larger."""
    pid = os.fork()
    if not pid:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        os._exit(work())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_what_can_not_be_written_whole_is_said(tmp_path):
    def work():
        log = LogWriter(str(tmp_path / "1.log"))
        try:
            log.write(3, b"x" * 500)
        except OSError:
            return 0
        return 1

    assert status_with_limit(100, work) == 0


def test_a_log_that_can_not_be_begun_leaves_no_file(tmp_path):
    def work():
        try:
            LogWriter(str(tmp_path / "1.log"))
        except OSError:
            return 0
        return 1

    assert status_with_limit(8, work) == 0
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_a_full_disk_ends_the_recording_of_c_in_words_and_keeps_what_was_recorded(build_c):
    from suspectra.evidence.c.source import CRecordingSource

    program = build_c(link=("-rdynamic", "-Wl,-u,__gcov_dump"))
    names = "".join(f"{'long' * 30}{n}\t./build/program l{n}\n" for n in range(25))
    (program.workspace / "list.txt").write_text(names)
    arguments = ["record-c", "--shell", "list.txt"]
    whole = record(program.workspace, arguments=arguments)
    assert whole.returncode in (0, 1), whole.stderr
    log = program.workspace / ".suspectra/recording-c/tests.log"
    size = log.stat().st_size
    for path in (log, *log.parent.glob("objects/*")):
        path.unlink()
    done = record(program.workspace, largest_file=size * 2 // 3, arguments=arguments)
    assert done.returncode == 2, done.stderr
    assert "can't be written" in done.stderr
    assert "Traceback" not in done.stderr
    kept = CRecordingSource(program.workspace).read().tests
    assert 0 < len(kept) < 25
    assert record(program.workspace, arguments=arguments).returncode == whole.returncode
    assert len(CRecordingSource(program.workspace).read().tests) == 25


@pytest.mark.slow
def test_after_the_clock_was_set_back_the_later_run_counts(work):
    record(work)
    assert verdicts(work)["test_app.py::test_f[2]"] == "failed"
    ahead = 2_000_000_000 * 10**9  # the first run was made with the clock in 2033
    for log in (work / ".suspectra/recording").glob("*.log"):
        log.write_bytes(moved(log.read_bytes(), ahead))
        os.utime(log, ns=(ahead + 10**9, ahead + 10**9))
    assert verdicts(work)["test_app.py::test_f[2]"] == "failed"
    (work / "app.py").write_text("def f(a):\n    return a\n")
    for _ in range(2):
        record(work)
        assert set(verdicts(work).values()) == {"passed"}
    record(work, count=3)
    assert len(verdicts(work)) == 3  # a collection made later still forgets


JUMPING = """\
import time

real, calls = time.time_ns, []

def jumping():
    calls.append(1)
    return real() + (BY if 6 < len(calls) else 0)

time.time_ns = jumping
"""
FREEZING = """\
import time

def test_frozen(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: 5 * 10**18)
"""


@pytest.mark.slow
@pytest.mark.parametrize("hours", [-48, 48])
def test_a_clock_that_jumps_during_a_run_puts_no_record_out_of_order(work, hours):
    record(work)
    (work / "clock.py").write_text(JUMPING.replace("BY", str(hours * 3600 * 10**9)))
    jumping = ["record", "--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "clock"]
    (work / "app.py").write_text("def f(a):\n    return a\n")
    record(work, arguments=jumping)
    assert set(verdicts(work).values()) == {"passed"}
    (work / "app.py").write_text(APP)
    record(work)  # the clock goes right again
    assert verdicts(work)["test_app.py::test_f[2]"] == "failed"
    (work / "app.py").write_text("def f(a):\n    return a\n")
    record(work)
    assert set(verdicts(work).values()) == {"passed"}


def test_a_test_that_replaces_the_clock_is_recorded_at_the_true_time(work):
    (work / "test_clock.py").write_text(FREEZING)
    before = time.time_ns()
    record(work)
    after = time.time_ns()
    (log,) = (work / ".suspectra/recording").glob("*.log")
    heads = [split_json(one.payload)[0] for one in frames(log.read_bytes()) if one.kind == FrameKind.TEST]
    assert len(heads) == 21
    assert all(before <= head["time"] <= after for head in heads)


def test_a_source_that_changes_while_its_size_and_time_stay_is_read_again(work):
    sources = Sources(work)
    path = work / "app.py"
    previous = path.stat().st_mtime_ns
    assert sources.get("app.py").lines[0] == "def f(a):"
    path.write_text(APP.replace("def f(a)", "def g(a)"))
    os.utime(path, ns=(previous, previous))
    assert sources.get("app.py").lines[0] == "def g(a):"


def moved(data, time):
    """A log as it would be had it been written at another time."""
    out = MAGIC
    for number, one in enumerate(frames(data)):
        payload = one.payload
        if one.kind == FrameKind.TEST:
            head, rows = split_json(payload)
            payload = with_json(head | {"time": time + number}, rows)
        out += frame(FrameKind(one.kind), payload)
    return out


@pytest.mark.slow
def test_a_file_whose_time_goes_backwards_is_read_again(work):
    record(work)
    source = RecordingSource(work)
    source.read()
    (work / "app.py").write_text("def f(a):\n    return a\n")
    record(work)
    for log in (work / ".suspectra/recording").glob("*.log"):
        os.utime(log, (1, 1))
    assert {test.verdict.value for test in source.read().tests} == {"passed"}


@pytest.mark.slow
@pytest.mark.parametrize("what", ["recorder", "server"])
def test_killed_at_random_moments_nothing_is_lost_or_corrupt(what, seed, thorough):
    kills = 20 if thorough else 2  # one at the start of a run, one in its tests
    script = [sys.executable, str(BENCHMARKS / "kills.py"), "--kills", str(kills)]
    script += ["--of", what, "--seed", str(5 + seed)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures[what]["kills"] == kills
    assert not figures[what]["failures"]


@pytest.mark.slow
def test_a_device_that_is_named_for_the_output_is_written_to_and_not_replaced(work):
    record(work)
    os.mkfifo(work / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=work, stdout=subprocess.PIPE)
    done = record(work, arguments=["rank", "-o", "pipe"])
    printed = reader.communicate(timeout=120)[0]
    assert done.returncode == 0, done.stderr
    assert b"app.py" in printed
    assert (work / "pipe").is_fifo()
