"""Both ways of recording give the same recording, and the cheaper one is chosen."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suspectra.evidence.recording import RecordingSource
from suspectra.recording.launch import run
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, frames, pack_rows, with_json
from suspectra_recorder.probe_choice import MICROSECONDS_PER_PROBE, ProbeChoice, choose, microseconds_per_probe

pytestmark = pytest.mark.usefixtures("runs_every_kind_of_test")
KINDS = Path(__file__).parents[1] / "fixtures" / "recording" / "kinds"
MONITORING = sys.version_info >= (3, 12)


# the choice


def log_of(tests, **about):
    """A log of tests, given as CPU seconds and how many probes each passed."""
    head = json.dumps({"run": "r", "counts": False, **about}).encode()
    parts = [MAGIC, frame(FrameKind.RUN, head)]
    for number, (seconds, cells) in enumerate(tests):
        bits = int("1" * cells or "0", 2).to_bytes(-(-cells // 8), "big")
        rows = pack_rows([0], bits) if cells else pack_rows([], b"")
        parts.append(frame(FrameKind.TEST, with_json({"name": f"t{number}", "cpu": seconds}, rows)))
    return b"".join(parts)


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        ([], 0),
        ([log_of([])], 0),
        ([log_of([(1.0, 0)])], 0),
        ([log_of([(0.5, 1000)])], 500),
        ([log_of([(0.5, 1000), (0.5, 9000), (3.0, 0)])], 100),
        ([log_of([(0.5, 1000)]), log_of([(0.5, 9000)])], 100),
        ([log_of([(0.5, 1000)]), log_of([(0.5, 9000)], counts=True)], 500),
        ([log_of([(0.001, 100)] * 3000)], 10),
        ([log_of([("long", 100), (0.001, 100)])], 10),
        ([b"", b"junk" * 100, log_of([(0.001, 100)])], 10),
    ],
)
def test_time_for_each_probe(tmp_path, logs, expected):
    for number, log in enumerate(logs):
        (tmp_path / f"{number}.log").write_bytes(log)
    assert microseconds_per_probe(str(tmp_path)) == pytest.approx(expected)


def test_no_recording_no_time(tmp_path):
    assert microseconds_per_probe(str(tmp_path / "none")) == 0


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damaged_logs_never_stop_the_choice(tmp_path_factory, data):
    log = bytearray(log_of([(0.001, 100)] * 3))
    for _ in range(data.draw(st.integers(1, 5))):
        log[data.draw(st.integers(0, len(log) - 1))] = data.draw(st.integers(0, 255))
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "0.log").write_bytes(log[: data.draw(st.integers(0, len(log)))])
    assert choose("auto", str(folder), counting=False) in (ProbeChoice(False), ProbeChoice(True))


def test_the_choice(tmp_path):
    slow, quick, none = tmp_path / "slow", tmp_path / "quick", str(tmp_path / "none")
    for folder, micros in ((slow, MICROSECONDS_PER_PROBE + 1), (quick, MICROSECONDS_PER_PROBE - 1)):
        folder.mkdir()
        (folder / "0.log").write_bytes(log_of([(micros * 1e-6 * 1000, 1000)]))
    assert choose("auto", str(slow), counting=False) == ProbeChoice(MONITORING)
    assert choose("auto", str(slow), counting=True) == ProbeChoice(False)
    assert choose("auto", str(quick), counting=False) == ProbeChoice(False)
    assert choose("auto", none, counting=False) == ProbeChoice(False)
    assert choose("probes", str(slow), counting=False) == ProbeChoice(False)
    assert choose("monitoring", str(quick), counting=False).monitoring is MONITORING
    assert choose("monitoring", none, counting=True) == ProbeChoice(
        False, "recording by probes: sys.monitoring can't count"
    )
    wrong = choose("settrace", none, counting=False)
    assert wrong == ProbeChoice(False, "there is no recorder 'settrace', only auto, probes, monitoring")


# whole runs


def environment(**more):
    return {**os.environ, **more}


def pytest_in(folder, *arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "suspectra", *arguments],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=240,
    )


def recorded(folder):
    """By test its verdict, and the statements and edges it executed."""
    evidence = RecordingSource(folder, edges=True).read()
    elements, edges = evidence.elements, evidence.edges.edges
    return {
        test.name: (
            test.verdict.value,
            [str(elements.location(i)) for i in row.tolist()],
            [(edges.file[i], edges.source[i], edges.target[i]) for i in taken.tolist()],
        )
        for test, row, taken in zip(evidence.tests, evidence.rows, evidence.edges.rows, strict=True)
    }


def recorders(folder):
    logs = sorted((folder / ".suspectra" / "recording").glob("*.log"))
    runs = [json.loads(f.payload) for log in logs for f in frames(log.read_bytes()) if f.kind == FrameKind.RUN]
    return {run["recorder"] for run in runs}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "app.py").write_text("def f(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t\n")
    (tmp_path / "test_app.py").write_text("import app\ndef test_one(): assert app.f(30_000)\n")
    return tmp_path


def test_it_is_said_which_recorder_was_taken(project):
    report = io.StringIO()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(project), "--rootdir", str(project)]
    assert run(command, project, recorder="monitoring", report=report) == 0
    if MONITORING:
        assert "recorded 1 test by sys.monitoring in" in report.getvalue()
    else:
        assert "recorded 1 test in" in report.getvalue()
        assert "recording by probes: Python 3.1" in report.getvalue()
    assert recorders(project) == {"monitoring" if MONITORING else "probes"}


@pytest.mark.slow
def test_an_impossible_wish_is_answered_and_the_tests_are_recorded(project):
    done = pytest_in(project, "--suspectra-recorder=monitoring", "--suspectra-counts")
    assert "suspectra: recording by probes: sys.monitoring can't count" in done.stdout
    (project / "pytest.ini").write_text("[pytest]\nsuspectra_recorder = magic\n")
    done = pytest_in(project)
    assert "suspectra: there is no recorder 'magic'" in done.stdout
    assert recorders(project) == {"probes"}
    assert len(recorded(project)) == 1


if MONITORING:

    def both_recordings(source, folder, *arguments, **more):
        found = []
        for recorder in ("probes", "monitoring"):
            copy = shutil.copytree(source, folder / recorder)
            done = pytest_in(copy, f"--suspectra-recorder={recorder}", *arguments, **more)
            assert done.returncode in (0, 1), done.stdout + done.stderr
            assert recorders(copy) == {recorder}
            found.append(recorded(copy))
        return found

    @pytest.mark.parametrize(
        "arguments",
        [(), ("--suspectra-include-tests",), ("-n", "2", "--dist", "loadfile"), ("--cov=.", "--cov-branch")],
        ids=["plain", "with test code", "xdist", "beside coverage.py"],
    )
    def test_every_kind_of_test_is_recorded_alike(tmp_path, arguments):
        probes, monitoring = both_recordings(KINDS, tmp_path, "--doctest-modules", *arguments)
        assert probes.keys() == monitoring.keys()
        assert len(probes) > 20
        for name, row in probes.items():
            assert monitoring[name] == row, name

    def test_coverage_on_sys_monitoring_goes_on_beside_it(tmp_path):
        source = tmp_path / "source"
        shutil.copytree(KINDS, source)
        options = ("--cov=.", "--cov-report=json")
        probes, monitoring = both_recordings(source, tmp_path, *options, COVERAGE_CORE="sysmon")
        assert probes == monitoring
        totals = [json.loads((tmp_path / r / "coverage.json").read_text())["totals"] for r in ("probes", "monitoring")]
        assert totals[0] == totals[1]

    def test_an_installed_package_is_recorded_alike(tmp_path):
        source = tmp_path / "source"
        source.mkdir()
        modules = [f"mpmath.tests.test_{name}" for name in ("division", "convert", "matrices", "str", "pickle")]
        options = ("--suspectra-source=mpmath", "-p", "no:doctest", "--pyargs", *modules)
        probes, monitoring = both_recordings(source, tmp_path, *options)
        assert len(probes) > 30
        assert probes == monitoring

    def test_processes_that_tests_start_are_recorded_alike(tmp_path):
        source = tmp_path / "source"
        source.mkdir()
        (source / "work.py").write_text(
            "def work(n):\n    if n:\n        return n\n    return -1\n\n"
            "def more(n):\n    return n + 1\n\n"
            "if __name__ == '__main__':\n    print(more(1))\n"
        )
        (source / "test_work.py").write_text(
            "import multiprocessing, os, subprocess, sys\nimport work\n"
            "def forked(n):\n"
            "    work.work(1)\n"  # passed by the parent too, before
            "    process = multiprocessing.get_context('fork').Process(target=work.work, args=(n,))\n"
            "    process.start(); process.join(); assert process.exitcode == 0\n"
            "def test_fork_0(): forked(0)\n"
            "def test_fork_1(): forked(1)\n"
            "def test_fork_0_again(): forked(0)\n"
            "def test_spawn():\n"
            "    with multiprocessing.get_context('spawn').Pool(1) as pool: assert pool.map(work.work, [0]) == [-1]\n"
            "def test_script(): subprocess.run([sys.executable, 'work.py'], check=True)\n"
            "def test_alone(): work.more(1)\n"
        )
        probes, monitoring = both_recordings(source, tmp_path)
        assert probes == monitoring
        lines = {name.partition("::")[2]: row[1] for name, row in monitoring.items()}
        assert "work.py:4" in lines["test_fork_0"]
        assert "work.py:4" in lines["test_fork_0_again"]
        assert "work.py:4" not in lines["test_fork_1"]
        assert {"work.py:4"} <= set(lines["test_spawn"])
        assert "work.py:10" in lines["test_script"]
        assert lines["test_alone"] == ["work.py:7"]

    def test_the_recording_decides_how_the_next_is_made(project):
        assert pytest_in(project).returncode == 0
        assert recorders(project) == {"probes"}
        assert pytest_in(project).returncode == 0
        assert "monitoring" in recorders(project)  # 30,000 turns of a loop, and a handful of probes
        assert pytest_in(project, "--suspectra-recorder=probes").returncode == 0
        assert recorded(project)["test_app.py::test_one"][1] == [f"app.py:{line}" for line in (2, 3, 4, 5)]
