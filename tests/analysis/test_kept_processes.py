"""Several requests in one process of a machine: when it goes on, and when there is a new one."""

import os
import sys
import time

import pytest

from suspectra.experiments.alterations.switching import switches
from suspectra.experiments.machine import Machine
from suspectra.experiments.repeated_test import RepeatedTest
from suspectra_recorder.experiments import children

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
PLAIN = {"kind": "plain"}
SWITCHED = {"kind": "switch", "file": "cart.py", "number": 0, "instance": 0, "action": "true"}

TESTS = """
import os
import threading
import time
from pathlib import Path

from cart import price

runs = []

def test_few_runs():
    runs.append(os.getpid())
    (Path(__file__).parent / "pids").write_text(str(os.getpid()))
    assert len(runs) < 4

def test_price():
    assert price(20) == 18

def test_ends_later():
    runs.append(1)
    threading.Timer(0.2, os._exit, [3]).start()
    assert len(runs) < 2
"""
CART = """
import os

def price(amount):
    if amount > 20:
        os._exit(7)
    return amount
"""


@pytest.fixture
def machine(tmp_path):
    (tmp_path / "cart.py").write_text(CART)
    (tmp_path / "test_cart.py").write_text(TESTS)
    names = ["test_few_runs", "test_price", "test_ends_later"]
    with Machine(PYTEST, tmp_path, "test_cart.py", [f"test_cart.py::{name}" for name in names]) as started:
        yield started


def outcomes(machine, test, runs, *, keep, job=PLAIN):
    answers = machine.ask(f"test_cart.py::{test}", [job] * runs, steps=1000, seconds=10, keep=keep)
    return [answer["outcome"] for answer in answers]


def test_a_process_goes_on_until_another_is_asked_for(machine):
    assert outcomes(machine, "test_few_runs", 2, keep=True) == ["passed", "passed"]
    assert outcomes(machine, "test_few_runs", 2, keep=True) == ["passed", "failed"]
    assert outcomes(machine, "test_few_runs", 1, keep=False) == ["passed"]
    assert outcomes(machine, "test_few_runs", 4, keep=True) == ["passed"] * 3 + ["failed"]  # the one before has ended
    assert outcomes(machine, "test_price", 1, keep=True) == ["failed"]
    assert outcomes(machine, "test_few_runs", 1, keep=True) == ["passed"]


def test_it_does_not_go_on_for_ever(machine):
    most = children._MAX_RUNS
    assert outcomes(machine, "test_few_runs", most, keep=True).count("failed") == most - 3
    assert outcomes(machine, "test_few_runs", 1, keep=True) == ["passed"]


def test_nothing_is_left_of_it(machine, tmp_path):
    outcomes(machine, "test_few_runs", 1, keep=True)
    pid = int((tmp_path / "pids").read_text())
    os.kill(pid, 0)
    machine.close()
    until = time.monotonic() + 120
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_process_that_has_ended_meanwhile_is_no_crash(machine):
    assert outcomes(machine, "test_ends_later", 1, keep=True) == ["passed"]
    time.sleep(0.5)
    assert outcomes(machine, "test_ends_later", 1, keep=True) == ["passed"]


def test_an_altered_run_that_ends_the_process_is_a_crash_and_others_follow_in_a_new_one(machine):
    assert outcomes(machine, "test_price", 1, keep=True) == ["failed"]
    jobs = [PLAIN, SWITCHED, PLAIN]
    answers = machine.ask("test_cart.py::test_price", jobs, steps=1000, seconds=10, keep=True)
    assert [answer["outcome"] for answer in answers] == ["failed", "crashed", "failed"]
    assert outcomes(machine, "test_price", 2, keep=True, job=SWITCHED) == ["crashed", "crashed"]


CONFTEST = """
import pytest
from cart import price

class Price(pytest.Item):
    def runtest(self):
        amount, expected = map(int, self.path.read_text().split())
        assert price(amount) == expected

class Prices(pytest.File):
    def collect(self):
        yield Price.from_parent(self, name="price")

def pytest_collect_file(file_path, parent):
    return Prices.from_parent(parent, path=file_path) if file_path.suffix == ".price" else None
"""


def test_a_test_that_a_plugin_reads_from_a_file_is_repeated_in_one_process_too(tmp_path):
    (tmp_path / "cart.py").write_text("def price(amount):\n    return 18 if amount > 20 else amount\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "member.price").write_text("20 18")
    with Machine(PYTEST, tmp_path, "member.price", ["member.price::price"]) as machine:
        test = RepeatedTest("member.price::price", machine)
        assert test.repeats
        found = list(test.experiments(switches(test.trace), end=time.monotonic() + 120))
    assert [(one.line, one.action, one.outcome.value) for one in found] == [(2, "true", "passed")]


RATES = """
import os
from pathlib import Path

def rate(country):
    known = Path(__file__).with_name(f"rates{os.getppid()}")
    if not known.exists():
        known.write_text("DE 19")
    return int(known.read_text().split()[1])
"""


def test_a_test_whose_first_run_leaves_a_file_can_be_repeated(tmp_path):
    (tmp_path / "rates.py").write_text(RATES)
    check = "from rates import rate\n\ndef test_rate():\n    assert rate('DE') == 20\n"
    (tmp_path / "test_rates.py").write_text(check)
    test = "test_rates.py::test_rate"
    with Machine(PYTEST, tmp_path, "test_rates.py", [test]) as machine:
        assert RepeatedTest(test, machine).trace.outcomes == {0: {0}}, "that of the runs after the first one"
