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


def assert_as_read_here():
    found = dict(read_flows(SOURCES))
    assert len(found) == len(SOURCES)
    for data, flow in found.items():
        here = read_flow(data)
        if here is None:
            assert flow is None
            continue
        assert (flow.scopes, flow.undecided) == (here.scopes, here.undecided)
        for name in ("ends", "rare", "decides", "scope_of_arc"):
            found, expected = getattr(flow, name), getattr(here, name)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


def test_a_process_reads_the_same(helpers, monkeypatch):
    monkeypatch.setattr(flow_readers, "_read", lambda sources: pytest.fail("the process was to read all"))
    taken = flow_readers._Together._next

    def answers(together):
        if together.answered:
            return taken(together)
        time.sleep(0.001)
        return ()

    monkeypatch.setattr(flow_readers._Together, "_next", answers)
    assert_as_read_here()


@pytest.mark.parametrize("program", ["raise SystemExit", "print('no answer'); input()"])
def test_a_process_that_does_not_answer_is_not_needed(program, helpers, monkeypatch):
    monkeypatch.setattr(flow_readers, "_START", program)
    taken = flow_readers._Together._next
    over = False

    def afterwards(together):
        nonlocal over
        over = over or bool(helpers and helpers[0].poll() is not None)
        return taken(together) if over else ()

    monkeypatch.setattr(flow_readers._Together, "_next", afterwards)
    assert_as_read_here()


def test_where_no_process_can_start_none_is_needed(monkeypatch):
    monkeypatch.setattr(flow_readers, "MIN_BYTES", 0)
    monkeypatch.setattr(flow_readers, "_processors", lambda: 2)
    monkeypatch.setattr(flow_readers.sys, "executable", "/no/such/program")
    assert_as_read_here()


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
