"""Traces of dependences by real processes of pytest, and what is said where there can be none."""

import sys

import numpy as np
import pytest

from suspectra.base.errors import EvidenceError
from suspectra.experiments.dependences import KIND, read_columns, trace_dependences
from suspectra.experiments.machine import Machine

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")
MODULE = "tests/test_shop.py"
FILES = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "shop.py": """\
import subprocess
import sys
import threading


def total(prices, discount=0):
    result = 0
    for price in prices:
        result += price
    return result - discount


def in_thread(prices):
    found = []
    thread = threading.Thread(target=lambda: found.append(total(prices)))
    thread.start()
    thread.join()
    return found[0]


def in_process():
    return subprocess.run([sys.executable, "-c", "print(3)"], capture_output=True, text=True).stdout


def quick():
    one = 1
    return one


def busy(rounds):
    count = 0
    for _ in range(rounds):
        count += 1
    return count
""",
    "tests/test_shop.py": """\
import os
import pytest
from shop import busy, in_process, in_thread, quick, total


@pytest.fixture
def prices():
    return [3, 4]


@pytest.fixture
def broken(prices):
    return total(prices, "x")


def test_sum(prices):
    assert total(prices, 1) == 7


def test_thread(prices):
    assert in_thread(prices) == 8


def test_process():
    assert in_process() == "4"


def test_set_up(broken):
    pass


def test_raises(prices):
    with pytest.raises(ValueError):
        total(prices)


def test_busy():
    assert busy(1_000) == quick()


def test_passes(prices):
    assert total(prices) == 7


def test_skipped():
    pytest.skip("no")


def test_alone():
    assert 1 == 2


def test_missing(no_such_fixture):
    pass


def test_chance():
    path = os.path.join(os.path.dirname(__file__), "runs")
    with open(path, "a") as stream:
        stream.write("x")
    if os.path.getsize(path) % 2:
        assert total([1]) == 2
    raise ValueError(total([2]))


def test_hangs(prices):
    while total(prices):
        pass
""",
}
TESTS = [line[4 : line.index("(")] for line in FILES[MODULE].splitlines() if line.startswith("def test_")]


def name_of(test):
    return f"{MODULE}::{test}"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dependences")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    with Machine(PYTEST, folder, MODULE, [name_of(test) for test in TESTS], (KIND,)) as machine:
        yield machine


def slice_of(trace):
    """The lines of the program that led to the failure."""
    nodes = np.flatnonzero(trace.graph.backward([trace.failure]) & ~trace.is_test)
    return sorted({trace.sites[trace.graph.site[node]].line for node in nodes})


def test_a_failing_test_is_traced(machine):
    trace = trace_dependences(machine, name_of("test_sum"))
    failure = trace.sites[trace.graph.site[trace.failure]]
    assert (failure.file, failure.kind, failure.line) == (MODULE, "assert", 17)
    assert slice_of(trace) == [6, 7, 8, 9, 10]
    assert trace.left_out == ()
    fixture = trace.graph.backward([trace.failure]) & trace.is_test
    assert {trace.sites[site].line for site in trace.graph.site[fixture]} >= {8, 17}
    again = trace_dependences(machine, name_of("test_sum"))
    for name in ("site", "instance", "start", "source"):
        assert np.array_equal(getattr(trace.graph, name), getattr(again.graph, name))
    assert list(trace.value) == list(again.value)


def test_only_some_functions_are_traced(machine):
    trace = trace_dependences(machine, name_of("test_sum"), only=[("shop.py", 8)])
    assert slice_of(trace) == [6, 7, 8, 9, 10]
    with pytest.raises(EvidenceError, match="no code of the workspace besides test code is traced"):
        trace_dependences(machine, name_of("test_sum"), only=[("shop.py", 26)])


def test_threads_and_processes_are_left_out_by_name(machine):
    assert trace_dependences(machine, name_of("test_thread")).left_out == (
        "1 other thread executes code that is left out.",
    )
    (left_out,) = trace_dependences(machine, name_of("test_process")).left_out
    assert left_out.startswith("Other processes are left out (")
    assert "subprocess.Popen" in left_out


def test_a_failure_in_the_set_up_is_traced(machine):
    trace = trace_dependences(machine, name_of("test_set_up"))
    failure = trace.sites[trace.graph.site[trace.failure]]
    assert (failure.file, failure.line) == ("shop.py", 10)
    assert trace.left_out == ("The test fails in its set-up.",)


def test_an_exception_that_is_missing_is_at_the_end_of_its_block(machine):
    trace = trace_dependences(machine, name_of("test_raises"))
    failure = trace.sites[trace.graph.site[trace.failure]]
    assert (failure.kind, failure.line) == ("with", 33)
    assert 9 in slice_of(trace)


def test_a_long_run_is_limited_to_the_suspects(machine):
    with pytest.raises(EvidenceError, match=r"more than 1,000 nodes.*trace only the suspects"):
        trace_dependences(machine, name_of("test_busy"), most=1_000)
    with pytest.raises(EvidenceError, match="even with the suspects' functions alone"):
        trace_dependences(machine, name_of("test_busy"), suspects=[("shop.py", 33)], most=1_000)
    trace = trace_dependences(machine, name_of("test_busy"), suspects=[("shop.py", 26)], most=1_000)
    assert slice_of(trace) == [25, 26, 27]
    assert trace.left_out == (
        "Only the functions of the suspects are traced, since the run is too long for a whole trace.",
    )


def test_a_test_that_hangs_is_not_traced(machine):
    with pytest.raises(EvidenceError, match="test_hangs takes more than 1 s") as raised:
        trace_dependences(machine, name_of("test_hangs"), seconds=1)
    cure = "choose a test that does less; if this one has many cases, let a test have only those that fail"
    assert raised.value.problem.cure == cure
    assert trace_dependences(machine, name_of("test_sum")).failure >= 0  # nothing is left in the way of the next one


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("test_passes", "passes when it runs alone"),
        ("test_skipped", "is skipped when it runs alone"),
        ("test_alone", "no code of the workspace besides test code is traced"),
        ("test_missing", "in its set-up where no code of the workspace is executed"),
        ("test_chance", "two runs of .* differ: it ends as failed"),
    ],
)
def test_what_can_not_be_traced_is_said(machine, test, message):
    with pytest.raises(EvidenceError, match=message) as raised:
        trace_dependences(machine, name_of(test))
    assert "Fix: " in str(raised.value)


def test_what_a_stopped_process_wrote_is_read_as_far_as_it_is_whole(tmp_path):
    ints = np.arange(3, dtype=np.int32)
    whole = np.array([0, ints.nbytes], "<u4").tobytes() + ints.tobytes()
    for cut in range(len(whole)):
        (tmp_path / "columns").write_bytes(whole + whole[:cut])
        assert read_columns(tmp_path / "columns")["site"].tolist() == [0, 1, 2]
