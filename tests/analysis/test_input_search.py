"""Inputs with which a failing test passes: real runs of pytest and Z3, one machine for all cases."""

import json
import subprocess
import sys
import time

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.paths.inputs import search as search_module
from suspectra.paths.inputs.search import InputSearch
from suspectra.paths.inputs.transitions import InputTransitions
from suspectra.paths.searches.recorded_paths import Paths
from suspectra.paths.searches.search import PathOptions, PathSearchLimits, PathSetting

SHOP = """\
VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def fee(weight, distance):
    base = 500
    if weight > 20:
        base += (weight - 20) * 30
    if distance > 1150:
        return base + 1
    return base + 2


def reference(weight, distance):
    return 501 + max(0, weight - 20) * 30


def roman(text):
    total = previous = 0
    for letter in reversed(text):
        if letter not in VALUES:
            raise ValueError(letter)
        value = VALUES[letter]
        if value <= previous:
            total -= value
        else:
            total += value
            previous = value
    return total


def inc(text):
    if not text.isdigit():
        raise ValueError(text)
    number = int(text)
    if number % 10 == 9:
        return number + 2
    return number + 1


def parse(text):
    key, _, value = text.strip().partition("=")
    if value.startswith("-"):
        raise RuntimeError("negative")
    return key.upper(), value


def is_large(numbers, strict):
    if strict:
        return sum(numbers) > 20
    return sum(numbers) >= 21


def size(thing):
    if thing.width > 3:
        return 1
    return 0


def sqrt(number):
    if number < 0:
        raise ValueError(number)
    if 0 < number < 0:
        return 1
    return 2


import functools
import os


def gross(net):
    if net > 100:
        return net + rate("de")
    return net + rate("de") + 1


@functools.lru_cache
def rate(country):
    return 19 if country == "de" else 20


def doubled(number):
    return 2 * number if type(number) is int else 0


def noise(number):
    return sum(1 for byte in os.urandom(64) if byte > 127) and number


class Cart:
    total = 0

    def __init__(self, count=3):
        self.count = count

    @property
    def discount(self):
        return 1 / self.count

    @discount.setter
    def discount(self, percent):
        self.count = percent - 5 if percent > 4 else 1

    def add(self, price):
        if price > 10:
            return
        self.total += price

    def sum(self, tax=2, *, rounded=True):
        return self.total + tax if rounded else self.total

    def prices(self, count):
        for number in range(count):
            if number > 1:
                raise IndexError(number)
            yield number
"""
TESTS = """\
import collections
import unittest

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from shop import Cart, doubled, fee, gross, inc, is_large, noise, parse, reference, roman, size, sqrt


@pytest.mark.parametrize("weight, distance", [(25, 154)])
def test_fee(weight, distance):
    assert fee(weight, distance) == reference(weight, distance)


@pytest.mark.parametrize("weight, expected", [(25, 651)])
def test_a_fee(weight, expected):
    assert fee(weight, 3) == expected


@given(st.text(alphabet="IVXLC", max_size=6))
def test_roman(text):
    assert roman(text + "I") == roman(text) + 1


class TestProperties:
    @given(st.integers(3, 100), st.integers(0, 2000), st.just(2))
    def test_fee(self, weight, distance, factor):
        assume(weight != 20)
        assert factor * fee(weight, distance) == 2 * reference(weight, distance)

    @given(st.builds(collections.OrderedDict))
    def test_objects(self, thing):
        assert not isinstance(thing, dict)


def test_inc():
    assert inc("129") == 130


def test_parse():
    assert parse("a=-3") == ("A", "-3")


def test_large():
    assert is_large([19, 1], True)


def test_size():
    assert size(type("Thing", (), {"width": 1})) == 1


@pytest.mark.parametrize("number", [3])
def test_sqrt(number):
    assert sqrt(number) == abs(number) - 1 + reference(0, 0)


@pytest.mark.parametrize("net", [5])
def test_gross(net):
    assert gross(net) == net + 19


@pytest.mark.parametrize("number", [3])
def test_doubled(number):
    assert doubled(number) == number + number + 1


@pytest.mark.parametrize("number", [3])
def test_noise(number):
    assert noise(number) == number + 1


def test_cart():
    cart = Cart()
    cart.add(5)
    assert cart.total == 6


def test_sum():
    cart = Cart()
    assert cart.sum(7) == 8


def test_default():
    assert Cart().sum() == 3


def test_discount():
    cart = Cart()
    cart.discount = 5
    assert cart.discount == 1


def test_first_price():
    prices = Cart().prices(2)
    assert next(prices) == 1


def test_all_prices():
    assert list(Cart().prices(3)) == [0, 1]


def test_expected_error():
    with pytest.raises(ValueError) as caught:
        inc("1x")
    assert caught.value.args == ("1",)


def test_reported_error():
    try:
        inc("1x")
    except ValueError:
        pytest.fail("no number")


class TestCase(unittest.TestCase):
    def test_parse(self):
        self.assertEqual(parse("a=-3"), ("A", "-3"))


def test_nothing():
    assert not 1


def test_fine():
    assert inc("1") == 2
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TESTS)
    return folder


@pytest.fixture(scope="module")
def tests(workspace):
    names = ["test_fee[25-154]", "test_a_fee[25-651]", "TestProperties::test_fee", "TestProperties::test_objects"]
    names += ["test_sqrt[3]", "test_gross[5]", "test_doubled[3]", "test_noise[3]"]
    names += [f"test_{name}" for name in ("roman", "inc", "parse", "cart", "large", "size", "nothing", "fine")]
    names += [f"test_{name}" for name in ("sum", "default", "discount", "first_price", "all_prices")]
    names += ["test_expected_error", "test_reported_error", "TestCase::test_parse"]
    failing = [FailingTest(f"test_shop.py::{name}", "test_shop.py") for name in names]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    running = RepeatedTests(command, workspace, failing, kinds=["input"])
    yield running, Paths(workspace)
    running.close()


def search(tests, name, ask=None, seconds=60, **limits):
    """The last report."""
    setting = PathSetting(FailingTest(f"test_shop.py::{name}", "test_shop.py"), *tests, (), PathOptions(ask=ask))
    *_, last = InputSearch(setting).search(PathSearchLimits(time.monotonic() + seconds, **limits))
    return last


def in_words(report):
    return [(one.location.line, one.kind, one.instance, one.outcome, one.wanted) for one in report.report]


def refusal(tests, name):
    with pytest.raises(EvidenceError) as error:
        search(tests, name)
    return error.value.problem


def test_a_reference_function_judges_other_inputs_and_the_nearest_is_found(tests):
    report = search(tests, "test_fee[25-154]")
    name = "test_shop.py::test_fee[25-154]"
    assert report.summary == f"{name} fails with distance = 154, and passes from distance = 1151."
    assert in_words(report) == [(8, "if", 1, False, True)]
    assert report.other == "weight=25, distance=1151"
    assert (report.technique, report.candidates, report.complete) == ("apg-inputs", 1, True)


def test_a_function_that_keeps_its_results_takes_the_same_path_in_each_run(tests):
    report = search(tests, "test_gross[5]")
    assert report.other == "net=101"
    assert in_words(report) == [(72, "if", 1, False, True)]


def test_a_property_judges_inputs_that_its_strategies_draw(tests):
    report = search(tests, "test_roman")
    assert in_words(report) == [(23, "if", 2, True, False)]
    (letter,) = report.other.removeprefix("text='").removesuffix("'")
    assert letter in "IVXLC"  # the failing text is the one to which Hypothesis shrinks
    assert report.summary.startswith("test_shop.py::test_roman fails with text = 'I', and passes with text = ")


def test_bounds_and_assumptions_of_a_property_are_kept(tests):
    report = search(tests, "TestProperties::test_fee")
    assert in_words(report) == [(8, "if", 1, False, True)]
    assert report.other == "weight=3, distance=1151, factor=2"
    assert "factor is drawn by just(2), so it stays as it is." in report.notes


def test_an_exception_that_is_gone_needs_no_judge(tests):
    report = search(tests, "test_parse")
    assert in_words(report) == [(42, "if", 1, True, False)]
    assert report.summary.startswith("parse fails with text = 'a=-3', and passes with text = 'a=")


def test_an_exception_is_known_through_other_runners_and_reports(tests):
    assert in_words(search(tests, "TestCase::test_parse")) == [(42, "if", 1, True, False)]
    reported = search(tests, "test_reported_error")
    assert in_words(reported) == [(32, "if", 1, True, False)]
    assert reported.summary.startswith("inc fails with text = '1x', and passes with text = '1")


def test_a_generator_is_judged_by_its_exceptions_alone(tests):
    report = search(tests, "test_all_prices")
    assert (report.found, report.candidates) == (False, 0)  # no input changes its decisions but how far a loop goes
    assert refusal(tests, "test_first_price").cause == (
        "Cart.prices returns nothing that shows whether another input is right"
    )


def test_the_input_of_an_earlier_call_counts_where_a_later_one_raises(tests):
    report = search(tests, "test_discount")
    assert in_words(report) == [(102, "conditional", 1, True, False)]
    assert report.summary.startswith("Cart.discount fails with percent = 5, and passes ")


def test_values_that_a_call_leaves_to_their_defaults_stay(tests):
    asked = []
    report = search(tests, "test_sum", lambda question: asked.append(question) or False)
    assert not report.found
    assert report.complete
    assert asked == []  # rounded is True by default, and what tax is takes part in no decision
    assert refusal(tests, "test_default").cause == (
        "test_shop.py::test_default calls no function of the program with a number or a text: "
        "Cart.__init__ and Cart.sum get values of other types, or default values alone"
    )


def test_an_exception_that_the_test_expects_is_no_failure(tests):
    asked = []
    assert not search(tests, "test_expected_error", lambda question: asked.append(question) or False).found
    assert asked
    assert "inc(text='1x')" not in "".join(asked)
    assert all(" gives " in question or question.endswith("which the test catches: right?") for question in asked)


def test_the_user_judges_where_no_test_can(tests):
    asked = []

    def ask(question):
        asked.append(question)
        return "raises" not in question

    report = search(tests, "test_inc", ask)
    assert asked == ["inc(text='128') gives 129: right?"]
    assert report.summary == "inc fails with text = '129', and passes with text = '128'."
    assert in_words(report) == [(35, "if", 1, True, False)]
    for no in (False, None):
        asked.clear()
        nothing = search(tests, "test_inc", lambda question, no=no: asked.append(question) or no)
        assert not nothing.found
        assert 2 <= len(asked) <= search_module.MAX_QUESTIONS
        assert len(set(asked)) == len(asked)
    listed = search(tests, "test_a_fee[25-651]", lambda question: "gives 502" in question)
    assert listed.other == "weight=20, distance=3"


def test_lists_and_truths_are_part_of_an_input(tests):
    report = search(
        tests, "test_large", lambda question: question == "is_large(numbers=[19, 1], strict=False) gives True"
    )
    assert not report.found
    report = search(tests, "test_large", lambda question: "strict=False" in question)
    assert report.other == "numbers=[19, 1], strict=False"


def test_it_says_how_many_decisions_no_input_changes(tests):
    report = search(tests, "test_sqrt[3]")
    assert not report.found
    assert report.complete
    assert report.notes == ("1 of 2 decisions can't be changed by any input that goes the same way.",)


def test_refusals_name_cause_and_cure(tests, monkeypatch):
    assert refusal(tests, "test_inc").cause == "no test knows what is right for another input of inc"
    assert refusal(tests, "test_expected_error").cause == "no test knows what is right for another input of inc"
    assert refusal(tests, "test_cart").cause == "Cart.add returns nothing that shows whether another input is right"
    assert "--ask" in refusal(tests, "test_a_fee[25-651]").cure
    assert refusal(tests, "test_size").cause == (
        "test_shop.py::test_size calls no function of the program with a number or a text: "
        "size gets values of other types, or default values alone"
    )
    assert "calls no function of the program" in refusal(tests, "test_nothing").cause
    assert refusal(tests, "test_fine").cause == "test_shop.py::test_fine passes when it runs alone"
    doubled = refusal(tests, "test_doubled[3]")
    assert doubled.cause == (
        "test_shop.py::test_doubled[3] takes another path from shop.py:83 on when its input can be changed"
    )
    assert "isinstance" in doubled.cure
    assert refusal(tests, "test_noise[3]").cause == (
        "two runs of test_shop.py::test_noise[3] take different paths, from shop.py:87 on"
    )
    assert "draws values that can't be written down" in refusal(tests, "TestProperties::test_objects").cause
    monkeypatch.setattr(search_module, "is_available", lambda: False)
    missing = refusal(tests, "test_fee[25-154]")
    assert missing.cause == "inputs are found by a solver that is not installed"
    assert missing.cure == "pip install 'suspectra[smt]'"


def test_limits_leave_the_search_incomplete(tests):
    assert not search(tests, "test_sqrt[3]", seconds=0).complete
    report = search(tests, "test_sqrt[3]", candidates=1)
    assert not report.complete
    assert "The first 1 paths were tried, and there are more: it may be another one." in report.notes


@pytest.mark.slow
def test_the_command_asks_on_the_terminal(workspace):
    command = [sys.executable, "-m", "suspectra"]
    pytest_ = ["--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "test_inc"]
    subprocess.run([*command, "record", *pytest_], cwd=workspace, capture_output=True, check=False)
    options = ["--technique", "apg-inputs", "--ask", "--format", "json", "--seconds", "300"]  # on a busy machine, too
    paths = [*command, "paths", "test_shop.py::test_inc", *options, "--python", sys.executable]
    found = subprocess.run(paths, cwd=workspace, capture_output=True, text=True, input="y\n", check=False)
    assert json.loads(found.stdout)["with"] == "text='128'"
    assert "inc(text='128') gives 129: right?" in found.stderr


@pytest.fixture(scope="module")
def states(workspace):
    names = ["test_fee[25-154]", "test_inc", "test_sqrt[3]", "TestProperties::test_fee"]
    failing = [FailingTest(f"test_shop.py::{name}", "test_shop.py") for name in names]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    running = RepeatedTests(command, workspace, failing, kinds=["statements", "input"])
    yield running, Paths(workspace)
    running.close()


def transitions(states, name, **options):
    setting = PathSetting(FailingTest(f"test_shop.py::{name}", "test_shop.py"), *states, (), PathOptions(**options))
    *_, last = InputTransitions(setting).search(PathSearchLimits(time.monotonic() + 120))
    return last


def test_another_input_is_the_passing_side_of_cause_transitions(states):
    report = transitions(states, "test_fee[25-154]")
    assert (report.technique, report.other) == ("cause-transitions-inputs", "weight=25, distance=1151")
    assert [str(step) for step in report.transitions] == [
        "`distance` is 154, not 1151, before shop.py:5",
        "the test fails after shop.py:14",
    ]
    assert report.notes[0] == (
        "test_shop.py::test_fee[25-154] fails with distance = 154, and passes from distance = 1151."
    )
    of_property = transitions(states, "TestProperties::test_fee")
    assert str(of_property.transitions[0]).startswith("`distance` is ")


@pytest.mark.slow
def test_an_outcome_that_the_user_judged_is_the_passing_side_too(states):
    report = transitions(states, "test_inc", ask=lambda question: "gives 129" in question or None)
    assert report.other == "text='128'"
    assert str(report.transitions[0]) == "`text` is '129', not '128', before shop.py:32"
    assert "`number` is 129, not 128, since shop.py:34" in [str(step) for step in report.transitions]
    nothing = transitions(states, "test_sqrt[3]")
    assert (nothing.technique, nothing.found) == ("cause-transitions-inputs", False)
