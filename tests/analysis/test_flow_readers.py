"""Control flow that other processes read is the one that this process reads, and no process outlives its work."""

from __future__ import annotations

import time

import numpy as np
import pytest

from suspectra.cancellation import Cancelled, Token, cancellable
from suspectra.program import flow_readers
from suspectra.program.flow_readers import read_flow, read_flows

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
    monkeypatch.setattr(flow_readers, "_start", lambda: started.append(start()) or started[-1])
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


def test_a_process_reads_the_same(helpers):
    helper = flow_readers._Helper(SOURCES)
    try:
        for number in range(len(SOURCES)):
            helper.give(range(number, number + 1))
        found, end = {}, time.monotonic() + 60
        while helper.portions and time.monotonic() < end:
            found.update(helper.answers())
        assert helper.works
        assert_as_read_here(found)
    finally:
        helper.stop()


def test_processes_help(helpers, monkeypatch):
    own = []

    def slowly(data):
        own.append(data)
        time.sleep(0.1)  # so that the process has started before all is read
        return read_flow(data)

    monkeypatch.setattr(flow_readers, "read_flow", slowly)
    assert_as_read_here(dict(read_flows(SOURCES)))
    assert 0 < len(own) < len(SOURCES)


@pytest.mark.parametrize("program", ["raise SystemExit", "print('no answer'); input()", "import time; time.sleep(600)"])
def test_a_process_that_does_not_answer_is_not_needed(program, helpers, monkeypatch):
    monkeypatch.setattr(flow_readers, "_START", program)
    assert_as_read_here(dict(read_flows(SOURCES)))


def test_where_no_process_can_start_none_is_needed(monkeypatch):
    monkeypatch.setattr(flow_readers, "MIN_BYTES", 0)
    monkeypatch.setattr(flow_readers, "_processors", lambda: 2)
    monkeypatch.setattr(flow_readers.sys, "executable", "/no/such/program")
    assert_as_read_here(dict(read_flows(SOURCES)))


def test_who_cancels_does_not_wait_for_a_process(helpers, monkeypatch):
    monkeypatch.setattr(flow_readers, "_START", "import time; time.sleep(600)")
    token = Token()
    with cancellable(token):
        flows = read_flows(SOURCES)
        next(flows)
        token.cancelled = True
        with pytest.raises(Cancelled):
            next(flows)


def test_a_process_ends_when_its_input_does():
    with flow_readers._start() as process:
        process.stdin.close()  # as when the process that started it is killed
        assert process.wait(30) == 0


def test_what_lies_in_the_working_folder_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("raise SystemExit(7)\n")
    monkeypatch.chdir(tmp_path)
    with flow_readers._start() as process:
        process.stdin.close()
        assert process.wait(30) == 0
