"""Slices with decisions because of which other functions left something as it was."""

import sys
import time

import pytest

from suspectra.dependences.graph import DependenceKind
from suspectra.dependences.slice_tree import slice_tree
from suspectra.dependences.slices import backward
from suspectra.experiments.dependences import KIND, trace_dependences
from suspectra.experiments.machine import Machine
from suspectra.experiments.repeated_test import RepeatedTest

PROGRAM = """\
limit = 3


class Series:
    def __init__(self, values):
        self.values = list(values)
        self.closed = False
        self.notes = {}
        self.title = ""

    def add(self, value):
        self.values.append(value)

    def close(self):
        self.closed = True

    @property
    def name(self):
        if len(self.values) > 5:
            self.title = "long"
        return self.title


def pad(series, length):
    while len(series.values) < length:
        series.add(0)


def finish(series, done):
    if done:
        series.close()


def annotate(series, text):
    notes = series.notes
    if text:
        notes["text"] = text


def raise_limit(high):
    global limit
    if high:
        limit = 9


def remembering(function):
    known = {}

    def call(argument):
        if argument in known:
            return known[argument]
        known[argument] = function(argument)
        return known[argument]

    return call


def unlike(count):
    if count > 7:
        count = 0
    return count
"""
TEST = """\
import series as tested
from series import Series, annotate, finish, pad, raise_limit, remembering, unlike


def test_series():
    series = Series([1])
    same = series.values
    seen = []
    call = remembering(lambda number: seen.append(number) or number)
    call(1)
    call(1)
    pad(series, 1)
    finish(series, False)
    annotate(series, "")
    raise_limit(False)
    unlike(2)
    assert (same, series.closed, series.notes, series.name, seen, tested.limit) == ()
"""


COMMAND = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
NAME = "test_series.py::test_series"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("series").resolve()
    (folder / "series.py").write_text(PROGRAM)
    (folder / "test_series.py").write_text(TEST)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "decision",
    [
        "while len(series.values) < length:",
        "if done:",
        "if text:",
        "if high:",
        "if argument in known:",
        "if len(self.values) > 5:",
    ],
)
def test_what_another_function_left_as_it_was_depends_on_its_decisions(workspace, decision):
    with Machine(COMMAND, workspace, "test_series.py", [NAME], (KIND,)) as machine:
        found = trace_dependences(machine, NAME)
    lines = {number: text.strip() for number, text in enumerate(PROGRAM.split("\n"), 1)}
    inside = {lines[number] for number in backward(found).lines(tests=False)["series.py"]}
    assert decision in inside
    assert "if count > 7:" not in inside


def test_what_another_function_did_not_change_is_shown_last(workspace):
    with Machine(COMMAND, workspace, "test_series.py", [NAME], (KIND,)) as machine:
        (failure,) = slice_tree(backward(trace_dependences(machine, NAME))).roots
    kinds = [branch.why for branch in failure.branches]
    assert DependenceKind.SUMMARY in kinds
    assert DependenceKind.FLOW in kinds
    assert DependenceKind.FLOW not in kinds[kinds.index(DependenceKind.SUMMARY) :]


@pytest.mark.slow
def test_what_is_outside_of_a_slice_changes_nothing(workspace, altered):
    with Machine(COMMAND, workspace, "test_series.py", [NAME], (KIND,)) as machine:
        found = trace_dependences(machine, NAME)
    members = backward(found).members
    outside = [made for node in range(len(found.graph)) if not members[node] and (made := altered(found, node))]
    assert outside
    with Machine(COMMAND, workspace, "test_series.py", [NAME], ("switch", "value")) as machine:
        test = RepeatedTest(NAME, machine)
        answers = [answer for _, answer in test.answers(outside, time.monotonic() + 120)]
    assert len(answers) == len(outside)
    assert {(one.exception, one.message) for one in answers} == {("AssertionError", test.trace.answer.message)}


NOTHING = """\
def rate(country, codes):
    if country in codes:
        return 19
    for code in codes:
        if code > country:
            return 0


def checked(country, codes):
    with open("rates.txt", "w"):
        if country not in codes:
            return
        return 19
"""


@pytest.mark.parametrize("function", ["rate", "checked"])
def test_that_a_function_gives_nothing_depends_on_its_decisions(tmp_path, function):
    (tmp_path / "rates.py").write_text(NOTHING)
    test = f"from rates import {function}\n\n\ndef test_rate():\n    assert 100 + {function}('FR', ['DE']) == 119\n"
    (tmp_path / "test_rates.py").write_text(test)
    name = "test_rates.py::test_rate"
    with Machine(COMMAND, tmp_path, "test_rates.py", [name], (KIND,)) as machine:
        found = trace_dependences(machine, name)
    members = backward(found).members
    decided = [node for node in range(len(found.graph)) if found.outcome[node] >= 0]
    assert decided
    assert members[decided].all()
    (given,) = [node for node in range(len(found.graph)) if found.value[node] == "None" and not found.is_test[node]]
    assert members[given]
