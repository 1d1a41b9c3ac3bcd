"""Slices, causes and observations that are cancelled while a test refuses to end: all processes end soon."""

import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from suspectra.base.cancellation import Cancelled, Token, cancellable
from suspectra.causes.inquiry import CauseInquiry
from suspectra.cli.rerun import failing_tests
from suspectra.evidence.discovery import find_source
from suspectra.evidence.logs.failure_slices import SLICES
from suspectra.evidence.logs.observations import OBSERVATIONS
from suspectra.experiments import dependences
from suspectra.experiments.inquiry import RerunSetup
from suspectra.experiments.machine import Machine
from suspectra.experiments.suspicion import Suspicion
from suspectra.experiments.trace_inquiry import TraceInquiry
from suspectra.experiments.value_inquiry import ValueInquiry
from suspectra.processes.watchdog import END_TIMEOUT_S, end_all

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from cancelling import CODE, PYTEST, TESTS, descendants

FIRST, STUBBORN = "test_long.py::test_long", "test_long.py::test_does_not_end"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cancelled").resolve()
    (folder / "long_code.py").write_text(CODE)
    (folder / "test_long.py").write_text(TESTS.replace("ROUNDS", "10"))
    record = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST]
    subprocess.run(record, cwd=folder, capture_output=True, check=False)
    return folder


def traces(folder, tests, suspicion):
    yield from TraceInquiry(RerunSetup(folder, PYTEST), tests, suspicion).steps()


def causes(folder, tests, suspicion):
    yield from CauseInquiry(RerunSetup(folder, PYTEST), tests[-1], suspicion).steps()


def observations(folder, tests, suspicion):
    yield from ValueInquiry(setup=RerunSetup(folder, PYTEST), tests=tests, suspects=suspicion, seconds=60.0).steps()


@pytest.mark.slow
def test_a_trace_is_not_read_to_its_end_when_that_is_cancelled(folder, monkeypatch):
    """Millions of nodes take seconds."""
    token, read = Token(), dependences.read_columns

    def read_and_cancel(path):
        token.cancelled = True
        return read(path)

    monkeypatch.setattr(dependences, "read_columns", read_and_cancel)
    with (
        Machine(PYTEST, folder, "test_long.py", [FIRST], (dependences.KIND,)) as machine,
        cancellable(token),
        pytest.raises(Cancelled),
    ):
        dependences.trace_dependences(machine, FIRST)


@pytest.mark.parametrize(("work", "log"), [(traces, SLICES), (causes, None), (observations, OBSERVATIONS)])
def test_work_that_is_cancelled_keeps_what_is_known_and_leaves_no_process(folder, monkeypatch, work, log):
    monkeypatch.setenv("SUSPECTRA_WAITS", str(folder / work.__name__))
    evidence = find_source(folder, edges=True).read()
    tests = [failing_tests(evidence, [name])[name] for name in (FIRST, STUBBORN)]
    suspicion, token, before = Suspicion(evidence, everywhere=True), Token(), descendants()
    cancelled = threading.Event()

    def run():
        with cancellable(token), closing(work(folder, tests, suspicion)) as steps:
            try:
                for _ in steps:
                    pass
            except Cancelled:
                cancelled.set()

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive() and not (folder / work.__name__).exists():  # it has begun to refuse
        time.sleep(0.01)
    token.cancelled, began = True, time.monotonic()
    thread.join()
    assert cancelled.is_set()
    assert time.monotonic() - began < END_TIMEOUT_S
    while descendants() - before and time.monotonic() - began < END_TIMEOUT_S:
        time.sleep(0.01)
    assert descendants() <= before
    if log is not None:
        assert FIRST in {one.test for one in log.read(folder)[0]}


def test_a_machine_that_collects_and_does_not_listen_ends_at_once(tmp_path):
    """It is killed: a project may be imported for a minute, and an interrupt may be ignored."""
    begun = tmp_path / "begun"
    (tmp_path / "test_imports.py").write_text(f"from long_code import waits\n\nwaits({str(begun)!r})\n")
    (tmp_path / "long_code.py").write_text(CODE)
    token, cancelled, before = Token(), threading.Event(), descendants()

    def start():
        with cancellable(token):
            try:
                Machine(PYTEST, tmp_path, "test_imports.py", ["test_imports.py::test"])
            except Cancelled:
                cancelled.set()

    thread = threading.Thread(target=start)
    thread.start()
    while thread.is_alive() and not begun.exists():
        time.sleep(0.01)
    token.cancelled, began = True, time.monotonic()
    thread.join()
    assert cancelled.is_set()
    assert time.monotonic() - began < END_TIMEOUT_S  # after which one that was asked to end would be killed
    while descendants() - before and time.monotonic() - began < END_TIMEOUT_S:
        time.sleep(0.01)
    assert descendants() <= before


@pytest.mark.parametrize("mark", ["", "x", "00", "0" * 23, "0" * 26])
def test_no_process_ends_for_what_is_not_a_mark(mark):
    with pytest.raises(ValueError, match="not a mark"):
        end_all(mark, ask=True)
