"""Slices of tests that are really traced, and altered where nothing may change."""

import sys

import pytest

from suspectra.dependences.graph import DependenceKind
from suspectra.dependences.slices import backward, nodes_at
from suspectra.experiments.dependences import KIND, trace_dependences
from suspectra.experiments.machine import Machine

PROGRAM = """\
class Basket:
    def __init__(self):
        self.prices = []
        self.notes = []
        self.discount = 0

    def add(self, price, note=""):
        if note:
            self.notes.append(note)
        if price > 100:
            self.prices.append(price)
        return len(self.notes)

    def __len__(self):
        return len(self.prices)


def cheap(prices, limit):
    for price in prices:
        if price < limit:
            yield price


def total(basket, code):
    seen = 0
    for price in cheap(basket.prices, 1000):
        seen = seen + price
    words = [note.upper() for note in basket.notes if note]
    try:
        basket.discount = int(code)
    except ValueError:
        words.append("bad code")
    unused = " ".join(words) or "none"
    if basket:
        seen = seen - basket.discount
    return seen
"""
TEST = """\
from basket import Basket, total


def test_total():
    basket = Basket()
    basket.add(50, "first")
    basket.add(200)
    assert total(basket, "x7") == 243
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traced").resolve()
    (folder / "basket.py").write_text(PROGRAM)
    (folder / "test_basket.py").write_text(TEST)
    return folder


COMMAND = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
NAME = "test_basket.py::test_total"


@pytest.fixture(scope="module")
def trace(workspace):
    with Machine(COMMAND, workspace, "test_basket.py", [NAME], (KIND,)) as machine:
        return trace_dependences(machine, NAME)


def line(text):
    return PROGRAM.split("\n").index(text) + 1


def test_a_slice_leaves_out_what_the_failure_does_not_depend_on(trace):
    lines = set(backward(trace).lines(tests=False)["basket.py"])
    inside = ["        if price > 100:", "            yield price", "        seen = seen + price", "    if basket:"]
    inside += ["        seen = seen - basket.discount", "        return len(self.prices)", "    seen = 0"]
    outside = ["            self.notes.append(note)", '        words.append("bad code")']
    outside += ['    unused = " ".join(words) or "none"', "        return len(self.notes)"]
    assert [text for text in inside if line(text) not in lines] == []
    assert [text for text in outside if line(text) in lines] == []


def test_calls_depend_on_what_decided_on_them(trace):
    (entered,) = [
        node
        for node in range(len(trace.graph))
        if trace.sites[trace.graph.site[node]].kind == "entry"
        and trace.sites[trace.graph.site[node]].line == line("    def __len__(self):")
    ]
    graph = trace.graph
    kinds = graph.kind[graph.start[entered] : graph.start[entered + 1]].tolist()
    assert DependenceKind.CONTROL in kinds


def test_what_was_not_appended_is_told_by_a_summary_dependence(trace):
    """The price of 50 is not in the basket since the first decision came out false."""
    decisions = nodes_at(trace, "basket.py", line("        if price > 100:")).tolist()
    assert [int(trace.outcome[node]) for node in decisions] == [0, 1]
    members = backward(trace).members
    assert members[decisions[1]]
