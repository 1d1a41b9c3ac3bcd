"""What the tree of a slice says of a step is true: real runs of small programs."""

import sys
from io import StringIO

import pytest

from suspectra.dependences.slices import backward
from suspectra.evidence.sources import Sources
from suspectra.experiments.dependences import KIND, trace_dependences
from suspectra.experiments.machine import Machine
from suspectra.output.slices import write_slice

BAGS = """\
class Bag:
    def __init__(self):
        self.items = []

    def put(self, item):
        self.items.append(item)


def collected(numbers, least):
    found = []
    for number in numbers:
        if number > least:
            found.append(number)
    return len(found)


def filled(numbers):
    bag = Bag()
    for number in numbers:
        if number > 1:
            bag.put(number)
    return bag


def below(limit):
    def check(age):
        return age < limit

    return check


def check(strict):
    if strict:
        found = below(6)
    else:
        found = below(9)
    return found


def total(price):
    return price * 2


def label(price):
    return f"wrong: {price}"
"""
TESTS = """\
import unittest

from bags import check, collected, filled, label, total


def test_collected():
    assert collected([1, 2], 1) == 2


def test_filled():
    assert filled([1, 2]).items == [1, 2]


def test_constant():
    is_child = check(True)
    assert is_child(6)


class TestTotal(unittest.TestCase):
    def test_message(self):
        price = total(3)
        self.assertEqual(price, 7, label(price))

    def test_named_message(self):
        price = total(3)
        self.assertTrue(price == 7, msg=label(price))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bags")
    (folder / "bags.py").write_text(BAGS)
    (folder / "test_bags.py").write_text(TESTS)
    names = ["test_collected", "test_filled", "test_constant", "TestTotal::test_message"]
    names = [f"test_bags.py::{name}" for name in (*names, "TestTotal::test_named_message")]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    with Machine(command, folder, "test_bags.py", names, (KIND,)) as machine:

        def tree(test, limit=200):
            out = StringIO()
            write_slice(
                backward(trace_dependences(machine, f"test_bags.py::{test}")), "", Sources(folder).line, limit, out
            )
            return out.getvalue()

        yield tree


def line(text):
    return f"bags.py:{BAGS[: BAGS.index(text)].count(chr(10)) + 1}  {text}"


@pytest.mark.parametrize(
    ("test", "decision"), [("test_collected", "if number > least:"), ("test_filled", "if number > 1:")]
)
def test_a_decision_that_led_to_a_call_of_a_method_did_change_the_object(tree, test, decision):
    found = tree(test)
    assert f"not changed by {line(decision)} → false" in found
    assert f"changed after {line(decision)}  (the 2nd time) → true" in found
    assert f"not changed by {line(decision)}  (the 2nd time)" not in found


def test_a_decision_about_a_constant_argument_is_no_reason_for_what_reads_it(tree):
    found = tree("test_constant").splitlines()
    at = next(number for number, text in enumerate(found) if line("def below(limit):") in text)
    assert found[at].endswith(f"from {line('def below(limit):')}")
    assert found[at + 1].endswith(f"└─ decided by {line('if strict:')} → true")
    assert found[at + 1].index("└─") > found[at].index("from") - 1  # of the argument
    assert sum("if strict:" in text for text in found) == 1


@pytest.mark.parametrize("test", ["TestTotal::test_message", "TestTotal::test_named_message"])
def test_the_message_of_an_assertion_is_no_reason_for_a_failure(tree, test):
    found = tree(test)
    assert line("return price * 2") in found
    assert "return f" not in found
    assert "'wrong: 6'" not in found


def test_it_is_said_that_only_the_nearest_steps_are_shown(tree):
    assert tree("test_collected", 4).splitlines()[-1].endswith("; the nearest 4 are shown: --top shows more")
    assert "are shown" not in tree("test_collected")
