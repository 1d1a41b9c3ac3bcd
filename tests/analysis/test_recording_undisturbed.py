"""Tests that replace what a recorder needs, or look for what it leaves behind, end as they do without one."""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from suspectra.evidence.recording import RecordingSource
from suspectra_recorder.log.compaction import MAX_LOGS
from suspectra_recorder.log.frames import FrameKind, pack_rows, with_json
from suspectra_recorder.log.writer import LogWriter
from suspectra_recorder.recorded_outcome import TestRecord

FIXTURE = Path(__file__).parents[1] / "fixtures" / "disturbing"
RECORDERS = ["probes", "monitoring"] if sys.version_info >= (3, 12) else ["probes"]
MODULES = 400
HANGING_S = 120  # then a test shows where it is
PLUGINS = Path(sys.prefix) / "plugins"
REQUIREMENTS = Path(__file__).parents[1] / "plugins.txt"


@pytest.fixture
def work(tmp_path):
    work = tmp_path / "work"
    shutil.copytree(FIXTURE, work)
    late = work / "late"
    template = (late / "template.txt").read_text()
    for name in ("small", "child", *(f"module_{n}" for n in range(MODULES))):
        (late / f"{name}.py").write_text(template)
    for text in late.glob("*.txt"):  # no Python that tools should look at
        if text.stem != "template":
            text.rename(text.with_suffix(".py"))
    return work


def outcomes(work, command):
    assert PLUGINS.is_dir(), f"{sys.executable} -m pip install --no-deps --target {PLUGINS} -r {REQUIREMENTS}"
    environment = os.environ | {"PYTHONPATH": str(PLUGINS)}
    results = work.parent / "results.xml"
    words = [*command, sys.executable, "-B", "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    words += ["-o", f"faulthandler_timeout={HANGING_S}", f"--junitxml={results}"]
    try:
        done = subprocess.run(
            words, cwd=work, env=environment, capture_output=True, text=True, timeout=2 * HANGING_S, check=False
        )
    except subprocess.TimeoutExpired as hanging:
        pytest.fail(f"it hangs: {hanging.stdout!r} {hanging.stderr!r}")  # with the stacks of all threads
    found = {
        (case.get("classname"), case.get("name")): [child.tag for child in case if child.tag != "properties"]
        for case in ET.parse(results).iter("testcase")
    }
    assert not any(found.values()), done.stdout[-6000:] + done.stderr[-2000:]
    return found


@pytest.mark.slow
def test_without_a_recorder_they_pass(work):
    assert len(outcomes(work, [])) > 80


@pytest.mark.slow
@pytest.mark.parametrize("recorder", RECORDERS)
def test_recorded_they_pass_and_late_modules_are_known(work, recorder):
    command = [sys.executable, "-m", "suspectra", "record", "--recorder", recorder, "--"]
    found = outcomes(work, command)
    evidence = RecordingSource(work).read()
    assert len(evidence.tests) == len(found)
    known = {path for path in evidence.elements.files if path.startswith("late/module_")}
    assert len(known) > len(found) // 2
    causes = [(p.file, p.cause) for p in evidence.problems]
    assert [cause for file, cause in causes if ".suspectra/children" in file] == [
        "a process that a test started could not record itself: Too many open files"
    ], causes


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_what_a_test_never_puts_back_does_not_hide_how_the_run_ended(tmp_path, runner):
    (tmp_path / "test_replacing.py").write_text(
        "import json, os, unittest\n\n\ndef refuse(*_, **__):\n    raise ValueError\n\n\n"
        "class TestReplacing(unittest.TestCase):\n"
        "    def test_a(self):\n"
        "        json.dumps = json.loads = os.urandom = os.replace = refuse\n\n"
        "    def test_b(self):\n        pass\n"
    )
    (tmp_path / "progress").touch()
    command = [sys.executable, "-m", "suspectra", "record", "--progress", "progress", "--", sys.executable, "-B", "-m"]
    command += ["pytest", "-p", "no:cacheprovider"] if runner == "pytest" else ["unittest"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "suspectra: recorded 2 tests in" in done.stdout + done.stderr
    seen = [json.loads(line) for line in (tmp_path / "progress").read_text().splitlines()]
    assert seen == [{"tests": 2}, {"failed": False}, {"failed": False}]
    assert not RecordingSource(tmp_path).read().problems


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_what_a_test_never_puts_back_does_not_keep_logs_from_being_merged(tmp_path, runner):
    logs = tmp_path / ".suspectra" / "recording"
    logs.mkdir(parents=True)
    rows = pack_rows([], b"")
    for number in range(MAX_LOGS):
        log = LogWriter(str(logs / f"{number:020d}-1.log"))
        log.write(FrameKind.RUN, json.dumps({"run": str(number), "started": number}).encode())
        log.write(FrameKind.TEST, with_json(TestRecord(f"test_{number}", "passed").head(number), rows))
        log.close()
    (tmp_path / "test_replacing.py").write_text(
        "import builtins, hashlib, json, os, re, struct, time, unittest, zlib\n\n\n"
        "def refuse(*_, **__):\n    raise ValueError\n\n\n"
        "class TestReplacing(unittest.TestCase):\n"
        "    def test_a(self):\n"
        "        json.dumps = json.loads = os.listdir = os.unlink = os.open = os.replace = refuse\n"
        "        os.path.islink = os.urandom = struct.pack = time.time_ns = zlib.compress = refuse\n"
        "        zlib.decompressobj = hashlib.sha256 = re.compile = builtins.open = refuse\n"
    )
    command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-B", "-m"]
    command += ["pytest", "-p", "no:cacheprovider"] if runner == "pytest" else ["unittest"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (merged,) = logs.iterdir()
    assert merged.name.endswith("-merged.log")
    evidence = RecordingSource(tmp_path).read()
    assert not evidence.problems
    assert len(evidence.tests) == MAX_LOGS + 1


@pytest.mark.slow
def test_the_compiler_warns_again_of_what_is_in_the_cache(tmp_path):
    (tmp_path / "doubtful.py").write_text("x = 1 is 1\n")
    (tmp_path / "test_doubtful.py").write_text(
        "import pytest\n\ndef test_it():\n    with pytest.warns(SyntaxWarning):\n        import doubtful\n"
    )
    recorder = [sys.executable, "-m", "suspectra", "record", "--"]
    for command in ([], recorder, recorder):
        words = [*command, sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
