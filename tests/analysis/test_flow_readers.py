"""Control flow that other processes read is the one that this process reads, and no process outlives its work."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

from suspectra.base.cancellation import Cancelled, Token, cancellable
from suspectra.program import flow_readers
from suspectra.program.flow_readers import FlowReading, read_flow

SOURCES = [
    b"x = 1\n" * number + b"def f(a):\n    while a and not x:\n        a -= 1\n    return a\n" for number in range(20)
]
SOURCES[7] = b"def"


@pytest.fixture
def helpers(monkeypatch):
    """Every portion is one source, and however little there is, processes help."""
    monkeypatch.setattr(flow_readers, "MIN_BYTES", 0)
    monkeypatch.setattr(flow_readers, "_PORTION", 1)
    monkeypatch.setattr(flow_readers, "_processors", lambda: 2)
    started = []
    start = flow_readers._start
    monkeypatch.setattr(flow_readers, "_start", lambda *files: started.append(start(*files)) or started[-1])
    yield started
    assert started
    for process in started:
        assert process.returncode is not None


def assert_as_read_here(found):
    assert len(found) == len(SOURCES)
    for data, flow in found.items():
        here = read_flow(data)
        if here is None:
            assert flow is None
            continue
        assert (flow.scopes, flow.undecided) == (here.scopes, here.undecided)
        for name in ("ends", "rare", "decides", "scope_of_arc"):
            table, expected = getattr(flow, name), getattr(here, name)
            assert table.dtype == expected.dtype
            np.testing.assert_array_equal(table, expected)


def test_a_process_reads_all_while_this_one_is_busy(helpers, monkeypatch):
    """As while a recording is read: only what no process has answered is read here."""
    reading = FlowReading(SOURCES)
    helpers[0].wait(60)
    monkeypatch.setattr(flow_readers, "read_flow", None)
    found = dict(reading.flows())
    monkeypatch.undo()
    assert_as_read_here(found)
    assert list(reading.flows()) == []


def test_processes_help(helpers, monkeypatch):
    own = []

    def slowly(data):
        own.append(data)
        time.sleep(0.1)  # so that the process has started before all is read; it sends nothing when it has
        return read_flow(data)

    monkeypatch.setattr(flow_readers, "read_flow", slowly)
    assert_as_read_here(dict(FlowReading(SOURCES).flows()))
    assert 0 < len(own) < len(SOURCES)


@pytest.mark.parametrize("program", ["raise SystemExit", "print('no answer'); input()", "import time; time.sleep(600)"])
def test_a_process_that_does_not_answer_is_not_needed(program, helpers, monkeypatch):
    monkeypatch.setattr(flow_readers, "_START", program)
    assert_as_read_here(dict(FlowReading(SOURCES).flows()))


def test_where_no_process_can_start_none_is_needed(monkeypatch):
    monkeypatch.setattr(flow_readers, "MIN_BYTES", 0)
    monkeypatch.setattr(flow_readers, "_processors", lambda: 2)
    monkeypatch.setattr(flow_readers.sys, "executable", "/no/such/program")
    assert_as_read_here(dict(FlowReading(SOURCES).flows()))


def test_who_cancels_does_not_wait_for_a_process(helpers, monkeypatch):
    monkeypatch.setattr(flow_readers, "_START", "import time; time.sleep(600)")
    token = Token()
    with cancellable(token):
        flows = FlowReading(SOURCES).flows()
        next(flows)
        token.cancelled = True
        with pytest.raises(Cancelled):
            next(flows)


def test_a_reading_that_nobody_wants_ends_its_processes(helpers, monkeypatch):
    monkeypatch.setattr(flow_readers, "_START", "import time; time.sleep(600)")
    reading = FlowReading(SOURCES)
    assert helpers[0].poll() is None
    del reading


def test_a_process_ends_with_its_parent():
    """Also when the parent is killed, and can't end what it started."""
    script = """
import sys
from suspectra.program import flow_readers
flow_readers._processors = lambda: 2
def start(*files, start=flow_readers._start):
    process = start(*files)
    print(process.pid, flush=True)
    return process
flow_readers._start = start
reading = flow_readers.FlowReading([b"x = 1\\n" * 1000] * 1000)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
    end = time.monotonic() + 120
    while alive(pid):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_what_lies_in_the_working_folder_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("raise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path)
    with open(os.devnull, "rb") as asked, tempfile.TemporaryFile() as answers:
        assert flow_readers._start(asked, answers).wait(30) == 0


def alive(pid):
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", "rb") as file:  # one that ended may wait to be noticed
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not os.path.isdir("/proc/self")
