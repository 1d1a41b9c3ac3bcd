"""Slices of tests that are really traced, and altered where nothing may change."""

import os
import sys
import time

import numpy as np
import pytest

from suspectra.dependences.graph import DependenceKind
from suspectra.dependences.slices import backward
from suspectra.experiments.dependences import KIND, trace_dependences
from suspectra.experiments.machine import Machine
from suspectra.experiments.repeated_test import RepeatedTest

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
    basket.add(150, "first")
    basket.add(200)
    assert total(basket, "x7") == 343
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


def test_what_is_outside_of_a_slice_changes_nothing_if_it_is_altered(trace, workspace, altered):
    members = backward(trace).members
    outside = [made for node in range(len(trace.graph)) if not members[node] and (made := altered(trace, node))]
    inside = [made for node in range(len(trace.graph)) if members[node] and (made := altered(trace, node))]
    assert len(outside) >= 8
    with Machine(COMMAND, workspace, "test_basket.py", [NAME], ("switch", "value")) as machine:
        test = RepeatedTest(NAME, machine)
        as_before = (test.trace.answer.outcome, test.trace.answer.exception, test.trace.answer.message)
        answers = list(test.answers([*outside, *inside], time.monotonic() + 120))
    ends = [(answer.outcome, answer.exception, answer.message) for _, answer in answers]
    assert len(ends) == len(outside) + len(inside)
    assert ends[: len(outside)] == [as_before] * len(outside)
    assert any(end != as_before for end in ends[len(outside) :])


ROUNDS = """\
def long_words(text, least):
    return [word for word in text.split() if len(word) > least]


def upper(words):
    found = []
    for word in words:
        found.append(word.upper())
    return found


def first(words, letter):
    for word in words:
        if word[0] == letter:
            return word
    return None


def until(words, last):
    found = []
    for word in words:
        found.append(word)
        if word == last:
            break
    else:
        found = []
    return found


async def awaited(words):
    found = []
    async for word in words:
        found.append(word)
    return found
"""
ROUNDS_TEST = """\
import asyncio

from words import awaited, first, long_words, until, upper


def copied(words):
    found = []
    for word in words:
        found.append(word)
    return found


async def each(words):
    for word in words:
        yield word


def test_a_result_that_stayed_empty():
    assert upper(long_words("word", 4)) == ["WORD"]


def test_an_end_without_a_return():
    assert first(long_words("some long words", 4), "l") == "long"


def test_a_helper_of_the_test():
    assert copied(long_words("word", 4)) == ["word"]


def test_an_else_that_should_not_be_reached():
    assert until(long_words("a word", 4), "word") == ["word"]


def test_an_asynchronous_loop():
    assert asyncio.run(awaited(each(long_words("word", 4)))) == ["word"]


def test_a_loop_that_is_broken_off():
    assert until(["a", "b", "c"], "b") == ["a"]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "loop"),
    [
        ("test_a_result_that_stayed_empty", ("words.py", 7)),
        ("test_an_end_without_a_return", ("words.py", 13)),
        ("test_a_helper_of_the_test", ("test_words.py", 8)),
        ("test_an_else_that_should_not_be_reached", ("words.py", 21)),
        ("test_an_asynchronous_loop", ("words.py", 32)),
    ],
)
def test_what_a_loop_did_not_do_depends_on_what_it_went_through(tmp_path, test, loop):
    found = backward(traced(tmp_path, test))
    ends = [step for step in map(found.step, np.flatnonzero(found.members)) if step.kind == "end"]
    assert (*loop, "false") in [(step.file, step.line, step.result) for step in ends]
    assert 2 in found.lines()["words.py"]  # where the words were left out


def test_a_loop_that_is_broken_off_has_no_end(tmp_path):
    run = traced(tmp_path, "test_a_loop_that_is_broken_off")
    assert "end" not in {run.sites[site].kind for site in run.graph.site if run.sites[site].file == "words.py"}


FIRST = """

async def first_words(words, count):
    count = count + 1
    for word in words:
        if count == 0:
            return
        yield word
        count = count - 1


async def listed(words, count):
    return [word async for word in first_words(words, count)]
"""
FIRST_TEST = """

def test_an_asynchronous_generator_that_returns():
    from words import listed

    assert asyncio.run(listed("one two three".split(), 1)) == ["one"]
"""


def test_a_file_with_an_asynchronous_generator_that_returns_is_traced(tmp_path):
    found = backward(traced(tmp_path, "test_an_asynchronous_generator_that_returns", FIRST, FIRST_TEST))
    lines = FIRST.splitlines()
    above = len(ROUNDS.splitlines()) + 1
    assert {above + lines.index(f"{' ' * 4}count = count + 1"), above + lines.index(f"{' ' * 8}if count == 0:")} <= set(
        found.lines()["words.py"]
    )


LONG = """

def kind(word, least):
    if (
        word
        and len(word) > least
    ):
        return "long"
    return (
        "short"
        if word
        else "none"
    )
"""
LONG_TEST = """

def test_a_test_below_its_if():
    from words import kind

    assert kind("word", 4) == "long"
"""


def test_decisions_are_known_where_their_test_is_below_what_asks_for_it(tmp_path):
    found = backward(traced(tmp_path, "test_a_test_below_its_if", LONG, LONG_TEST))
    first = len(ROUNDS.splitlines()) + LONG.splitlines().index(f"{' ' * 4}if (") + 1
    decisions = [step for step in map(found.step, np.flatnonzero(found.members)) if step.kind == "decision"]
    assert {
        (step.line - first, step.column, step.operand, step.result) for step in decisions if step.file == "words.py"
    } == {
        (1, 8, "word", "true"),
        (2, 12, "len(word) > least", "false"),
        (1, 8, "word and len(word) > least", "false"),
        (7, 11, "word", "true"),
    }


def traced(folder, test, more="", more_tests=""):
    (folder / "words.py").write_text(ROUNDS + more)
    (folder / "test_words.py").write_text(ROUNDS_TEST + more_tests)
    name = f"test_words.py::{test}"
    with Machine(COMMAND, folder, "test_words.py", [name], (KIND,)) as machine:
        return trace_dependences(machine, name)


def test_what_options_of_pytest_import_is_traced(tmp_path):
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\nfilterwarnings = ignore::words.LateWarning\n")
    late = "\n\nclass LateWarning(UserWarning):\n    pass\n"
    run = traced(tmp_path, "test_a_result_that_stayed_empty", more=late)
    assert "words.py" in {site.file for site in run.sites}


def test_a_sitecustomize_and_modules_that_hide_those_of_python_do_no_harm(tmp_path, monkeypatch):
    for name in ("hashlib", "resource"):
        (tmp_path / f"{name}.py").write_text("VAT = 20\n")
    (tmp_path / "sitecustomize.py").write_text(f"open({str(tmp_path / 'began')!r}, 'a').write('once ')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([".", str(tmp_path)]))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # other plugins use these modules
    run = traced(tmp_path, "test_a_result_that_stayed_empty")
    assert "words.py" in {site.file for site in run.sites}
    assert (tmp_path / "began").read_text() == "once "


GIVEN = """\
def big(numbers, limit):
    for number in numbers:
        if number > limit:
            yield number


def passed_on(numbers, limit):
    yield from big(numbers, limit)


def listed(numbers, limit):
    return list(big(numbers, limit))


def summed(numbers, limit):
    return sum(
        number
        for number in numbers
        if number > limit
    )


def collected(numbers, limit):
    found = []
    for number in big(numbers, limit):
        found.append(number)
    return found
"""
GIVEN_TEST = """\
import given


def test_nothing_listed():
    assert given.listed([1, 3], 4) == [3]


def test_nothing_summed():
    assert given.summed([1, 3], 4) == 3


def test_nothing_collected():
    assert given.collected([1, 3], 4) == [3]


def test_the_last_one_missing():
    assert given.listed([5, 3], 4) == [5, 3]


def test_the_first_one_missing():
    assert next(given.big([3, 5], 4)) == 3


def test_nothing_passed_on():
    assert list(given.passed_on([1, 3], 4)) == [3]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "line", "instance"),
    [
        ("test_nothing_listed", 3, 2),
        ("test_nothing_summed", 19, 2),
        ("test_nothing_collected", 3, 2),
        ("test_the_last_one_missing", 3, 2),
        ("test_the_first_one_missing", 3, 1),
        ("test_nothing_passed_on", 3, 2),
    ],
)
def test_what_a_generator_gives_depends_on_what_it_left_out(tmp_path, test, line, instance):
    (tmp_path / "given.py").write_text(GIVEN)
    (tmp_path / "test_given.py").write_text(GIVEN_TEST)
    name = f"test_given.py::{test}"
    with Machine(COMMAND, tmp_path.resolve(), "test_given.py", [name], (KIND,)) as machine:
        found = backward(trace_dependences(machine, name))
    steps = [found.step(node) for node in np.flatnonzero(found.members)]
    decided = [(step.line, step.instance) for step in steps if step.outcome is False and step.kind == "decision"]
    assert (line, instance) in decided
