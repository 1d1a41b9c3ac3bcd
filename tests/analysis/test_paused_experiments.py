"""What a runner executes to describe a failure is no part of a test's path, and no decision of it is switched."""

import sys
import textwrap
from array import array
from base64 import b64decode

import pytest

from suspectra.experiments.alterations.switching import SwitchedDecision
from suspectra.experiments.machine import Machine
from suspectra.paths.searches.recorded_paths import Paths
from suspectra.runs.experiment import EVERY, ExperimentOutcome

APP = """
    import threading

    explaining, worked = threading.Event(), threading.Event()

    class Price:
        def __init__(self, euros):
            self.euros = 0 if euros < 0 else euros  # init

        def __eq__(self, other):
            return True if self.euros == other.euros else False  # eq

        def __repr__(self):
            return "free" if self.euros == 0 else f"{self.euros} euros"  # repr

    class Slow:
        def __repr__(self):
            explaining.set()
            return str(worked.wait(60)) if worked else ""  # slow

    def work(number):
        worked.set()
        return 1 if number else 2  # work

    def tidy(prices):
        return [price for price in prices if price.euros]  # tidy

    def report():
        return "reported" if explaining else ""  # report
"""
LATE = """
    limit = 1 if __name__ == "late" else 2  # module

    def late(number):
        return limit if number else 2  # late
"""
CONFTEST = """
    import pytest
    from app import report

    def pytest_assertrepr_compare(left):
        return [report(), repr(left)]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport():
        report()
        yield
        report()

    def pytest_runtest_logreport():
        report()

    def pytest_exception_interact():
        report()
"""
# the comment names the lines of the decisions that the test makes
TESTS = """
    import threading
    import unittest
    from unittest.mock import Mock
    import pytest
    import app
    from app import Price, Slow, tidy, work

    def test_comparison():  # init init eq
        assert Price(1) == Price(2)

    def test_lists():  # init init eq
        assert [Price(1)] == [Price(2)]

    def test_local():  # init
        price = Price(0)
        assert price is None

    def test_message():  # init
        assert False, Price(1)

    def test_own_message():  # init repr
        assert False, repr(Price(1))

    def test_goes_on():  # init init eq tidy repr
        one, two = Price(1), Price(2)
        with pytest.raises(AssertionError):
            assert one == two
        tidy([one])
        assert repr(one) == "free"

    def test_cleans_up():  # init tidy
        price = Price(1)
        try:
            assert price is None
        finally:
            tidy([price])

    def test_mock():  # init init eq
        mock = Mock()
        mock(Price(1))
        mock.assert_called_with(Price(2))

    def test_thread():  # work
        thread = threading.Thread(target=lambda: app.explaining.wait(60) and work(1))
        thread.start()
        try:
            assert Slow() is None
        finally:
            thread.join()

    def test_late():  # late
        from late import late

        assert late(1) == 2

    def test_reload():  # module late
        import importlib
        import late

        assert importlib.reload(late).late(1) == 2

    class TestPrice(unittest.TestCase):
        def test_equal(self):  # init init eq
            self.assertEqual(Price(1), Price(2))
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prices")
    for name, text in (("app.py", APP), ("late.py", LATE), ("conftest.py", CONFTEST), ("test_app.py", TESTS)):
        (folder / name).write_text(textwrap.dedent(text).strip("\n") + "\n")
    return folder


def cases():
    """The tests, and the decisions that each makes."""
    names, prefix = {}, ""
    for line in map(str.strip, TESTS.splitlines()):
        if line.startswith("class "):
            prefix = "TestPrice::"
        if line.startswith("def test"):
            name, _, made = line[4:].partition("  # ")
            names[f"test_app.py::{prefix}{name.partition('(')[0]}"] = made.split()
    return names


@pytest.fixture(scope="module")
def machine(workspace):
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--showlocals")
    with Machine(
        command, workspace, "test_app.py", list(cases()), kinds=("path", "lines", "statements", "observe")
    ) as machine:
        yield machine


@pytest.fixture(scope="module")
def tag(workspace):
    lines = {name: (workspace / name).read_text().splitlines() for name in ("app.py", "late.py")}
    return lambda line, name="app.py": lines[name][line - 1].rpartition("# ")[2]


@pytest.mark.parametrize(("test", "made"), cases().items())
def test_explanations_are_no_part_of_a_path(machine, workspace, tag, test, made):
    paths = Paths(workspace)
    path = paths.record(machine, test, 60).path
    places = [paths.places[statement] for statement in path.statement.tolist()]
    assert [tag(place.location.line, place.location.file) for place in places if not place.function] == made
    called = {place.function for place in places} - {""}
    assert "report" not in called
    assert "Slow.__repr__" not in called
    assert ("Price.__repr__" in called) == ("repr" in made)


def test_no_decision_of_an_explanation_is_switched(machine, tag):
    trace = machine.traces("test_app.py::test_own_message", 1, 60)[0]
    of_repr = next(place for place in trace.places if place.file == "app.py" and tag(place.line) == "repr")
    tests = ("test_own_message", "test_comparison")
    answers = [
        machine.alter(f"test_app.py::{test}", [SwitchedDecision(of_repr, EVERY)], steps=1_000, seconds=60)[0][0]
        for test in tests
    ]
    assert [answer.outcome for answer in answers] == [ExperimentOutcome.FAILED, ExperimentOutcome.NOT_REACHED]


def last_line(machine, kind, test):
    (found,) = machine.ask(f"test_app.py::{test}", [{"kind": kind}], steps=1_000, seconds=60)
    if kind == "lines":
        return found["files"], array("i", b64decode(found["lines"]))[-2]
    ((path, first, statements),) = found["statements"]
    return [path], statements[array("i", b64decode(found["executed"]))[-1] - first][0]


@pytest.mark.parametrize("kind", ["lines", "statements"])
def test_nothing_is_executed_after_the_comparison_that_fails(machine, tag, kind):
    for test, expected in (("test_comparison", "eq"), ("test_own_message", "repr")):
        files, line = last_line(machine, kind, test)
        assert (files, tag(line)) == (["app.py"], expected)


@pytest.mark.slow
def test_values_of_explanations_are_not_observed(machine, tag):
    for test, reached in (("test_comparison", False), ("test_own_message", True)):
        (found,) = machine.ask(f"test_app.py::{test}", [{"kind": "observe"}], steps=1_000, seconds=60)
        assert ("repr" in {tag(line) for _, line, _, _ in found["observed"]}) == reached
