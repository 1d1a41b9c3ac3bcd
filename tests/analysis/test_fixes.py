"""Fixes: which candidates there are, which of them need a run, and what is found in programs with faults."""

import copy
import hashlib
import json
import math
import re
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from difflib import unified_diff
from functools import partial
from itertools import count

import numpy as np
import pytest

from suspectra.changes.units import ChangeUnit, FileDifference
from suspectra.cli.main import run
from suspectra.experiments import altered_program
from suspectra.experiments.log import ExperimentLog
from suspectra.fixes import search, waiting
from suspectra.fixes.candidate import together
from suspectra.fixes.candidates import candidates, sites_by_line, stages
from suspectra.fixes.changed_functions import changed_functions
from suspectra.fixes.diff import difference, difference_as_bytes, edited
from suspectra.fixes.executing_tests import ExecutingTests, stays_in_statement
from suspectra.fixes.fix import Fix, in_order
from suspectra.fixes.fix_site import definitions, scopes
from suspectra.fixes.helper_modules import helper_modules
from suspectra.fixes.narrow import is_narrow
from suspectra.fixes.patches import PatchRefused, patched
from suspectra.fixes.results import Alike, EqualResults
from suspectra.fixes.same_meaning import meaning
from suspectra.fixes.undoing import undone
from suspectra.mutation.edit import Edit
from suspectra.mutation.parsed_source import ParsedSource
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome
from suspectra.spectrum import Elements, Spectrum
from suspectra_recorder.experiments.results.evaluator import Evaluator, RaisedInstead, UnknownResult, ast, key_of
from suspectra_recorder.experiments.variants import Choice, Variants
from suspectra_recorder.instrumentation.cell_constants import with_cells

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")
PROGRAM = '''\
"""A program with faults."""
from datetime import date


def total(prices, rate):
    net = 0
    for price in prices:
        net = price
    return net * rate


def spread(values):
    seen = []
    for value in values:
        if value not in seen:
            yield value


class Account:
    def __init__(self, owner):
        self.owner, self.balance = owner, 0

    def close(self):
        self.owner = None


def ends(first: date, last: date):
    if last < first:
        raise ValueError(last)
    return [first, last]
'''


def made(source, line=None):
    parsed = ParsedSource(source.encode())
    wanted = (lambda _: True) if line is None else (lambda number: number == line)
    return [one for scope in scopes(parsed) for one in candidates("program.py", scope, wanted)]


def lines_after(source, line):
    """The lines that candidates make of a line, or insert beside it."""
    changed = (edited(source.encode(), [one]).decode().splitlines() for one in made(source, line))
    before = set(source.splitlines())
    return {one.strip() for after in changed for one in after if one not in before}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (8, "net += price"),  # an operator
        (9, "return rate * net"),  # the order
        (9, "return net"),  # a part less
        (9, "return net * rate + 1"),
        (9, "return net - rate"),
        (15, "if value not in seen and value is not None:"),  # a stronger condition
        (15, "if value in seen:"),
        (16, "seen.append(value)"),  # a statement that the names of the place suggest
        (16, "yield from value"),
        (24, "self.balance = 0"),  # a statement of the class
        (30, "return [first, last + timedelta(days=1)]"),  # another day, with what it imports
        (30, "return [last, first]"),
    ],
)
def test_there_is_a_candidate(line, text):
    assert text in lines_after(PROGRAM, line)


MORE = """\
def shown(price, unit):
    return f"{price:.2f} {unit}"


def found(names, name):
    try:
        return names[name].rstrip(".py")
    except KeyError:
        return None


def actions(names, use):
    return [lambda: use(one) for one in names]


def cell(grid, row, column):
    if row:
        row = sorted(grid)
    return grid[column][row]


def key(text):
    return re.escape(text.casefold())


def lengths(words):
    length = 0
    for word in words:
        next_length = length + 1 + len(word)
        length += len(word)
    return length


import re
"""


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (2, 'return f"{price:.3f} {unit}"'),  # a format
        (30, "length = next_length"),  # what was computed for it
        (2, 'return f"{unit:.2f} {unit}"'),
        (7, 'return names[name].removesuffix(".py")'),  # a method with the same arguments
        (6, "except (KeyError, LookupError):"),
        (13, "return [lambda one=one: use(one) for one in names]"),  # what a variable is now
        (19, "return grid[row][column]"),  # two names
        (18, "row = sorted(grid, reverse=True)"),  # a forgotten argument
        (18, "return row"),  # a forgotten return
        (7, 'return names[name].casefold().rstrip(".py")'),  # a forgotten call
        (19, "return re.escape(grid[column][row])"),
    ],
)
def test_there_is_a_candidate_of_more_kinds(line, text):
    assert text in lines_after(MORE, line)


OTHERS = """\
import re
from dataclasses import dataclass


@dataclass
class Task:
    rank: int

    def renamed(self, name):
        self.name = name
        return self  # as is usual here

    def moved(self, place):
        self.place = place

    async def saved(self, store, *more):
        if not store:
            raise ValueError(store)
        if len(more) > 1:
            value = 0.5
        if 1 < len(more) < 2:
            value = store.load(self, more)
        return value

    def count(self, done):
        self.moves -= 1
        return done


def lines(text, size):
    line = []
    for word in re.split("[a-z]+", text):
        line.append(word)
        if len(line) == size:
            yield line
            line = []


def borrowed(stack, tasks):
    stack.append(sorted(tasks))
    yield stack
    stack.pop()
"""


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (14, "return self"),
        (18, "raise LookupError(store)"),
        (20, "value = 5.0"),
        (21, "elif 1 < len(more) < 2:"),
        (21, "if 1 <= len(more) <= 2:"),  # both comparisons
        (22, "value = await store.load(self, more)"),
        (22, "value = store.load(self, store)"),
        (26, "self.place -= 1"),  # beside what is done with another attribute
        (27, "self.place = done"),
        (27, "return done[1]"),
        (27, "return done.place"),
        (32, 'for word in re.split("[a-zA-Z]+", text):'),
        (32, "if line:"),  # what is left after a loop
        (40, "stack.append(sorted(tasks, key=lambda one: one.rank))"),
        (41, "finally:"),
    ],
)
def test_there_is_a_candidate_for_other_faults(line, text):
    assert text in lines_after(OTHERS, line)


FORMATTED = """\
def framed(text, begin, end):
    return (f"é{{{text[:begin]}}}"
            f"{'[' + text[begin]!r:>4}{text[end:]}")
"""


def test_each_part_of_a_value_in_an_f_string_is_changed():
    """The parser of older versions of Python does not know where it is."""
    texts = [edited(FORMATTED.encode(), [one]).decode() for one in made(FORMATTED, 2) if not one.edit.whole_statement]
    for old, new in (("[:begin]", "[:end]"), ("[end:]", "[end + 1:]"), ("'[' + text[begin]", "text[begin] + '['")):
        assert FORMATTED.replace(old, new) in texts
    for text in texts:
        ast.parse(text)


def test_what_stands_often_in_a_file_comes_before_what_is_near():
    others = "".join(f"    a = {number}\n" for number in range(70))
    text = f"def f(s):\n    own(s)\n\ndef g(s):\n{others}    skip(s)\n\ndef h(s):\n    skip(s)\n"
    first, *_ = scopes(ParsedSource(text.encode()))
    assert list(first.statements)[:3] == ["own(s)", "skip(s)", "a = 0"]


class Seen:
    """A test in which all expressions give the same, but for the one that is there."""

    def results(self, file, functions, expressions, seconds):
        found = [(line, ["old"] + ["new"] * (len(texts) - 1), ["int"] * len(texts)) for line, texts in expressions]
        return {"results": [(line, 1, True, values, values, types) for line, values, types in found]}


def test_equal_results_up_to_the_failure_say_nothing_of_a_test_that_goes_on():
    one, other, third = [one for one in made(PROGRAM, 9) if one.kind == "operator"][:3]
    equal = EqualResults(Seen(), "program.py", [])
    found = equal.sort([one, other], 1.0)
    assert ([alike.members for alike in found.new], found.pruned) == ([[one, other]], 1)
    assert found.new[0].others() == [other]
    found = equal.sort([third], 1.0)
    assert ([alike.members for _, alike in found.later], found.pruned) == ([[third]], 0)


class Calls(Seen):
    """A judge that does not know what the program gives, as it calls a function of its own."""

    def results(self, file, functions, expressions, seconds):
        known = [["", "new"][: len(texts)] for _, texts in expressions]
        found = zip(expressions, known, strict=True)
        return {"results": [(line, 1, True, values, values, ["", "int"]) for (line, _), values in found]}


def test_what_stands_for_a_call_of_the_program_need_not_wait():
    one = next(one for one in made(PROGRAM, 9) if one.kind == "operator")
    assert not EqualResults(Calls(), "program.py", []).sort([one], 1.0).later


HEADS = """\
import functools

class Shop:
    LIMIT = 99

    @functools.lru_cache
    def allowed(self, amount, most=10):
        return amount <= self.LIMIT and amount < most
"""


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("LIMIT = 100", "Shop"),
        ("@functools.lru_cache\ndef allowed(self, amount, most=11):", "Shop"),
        ("def allowed(self, amount, most=10):", "Shop"),  # without its decorator
    ],
)
def test_what_is_outside_of_bodies_is_executed_again(text, owner):
    source = ParsedSource(HEADS.encode())
    found = [
        member
        for scope in definitions(source, {"LIMIT"}, {8})
        for one in candidates("program.py", scope, lambda _: True)
        for member in one.to_json()["members"]
    ]
    assert (owner, text) in [(name, member[: len(text)]) for name, member in found]


def outcomes(function, arguments):
    """What calls give, or the type of what they raise; nothing of those that go on for long."""
    found = []
    for given in arguments:
        left = count(200, -1)

        def step(*_, left=left):
            if next(left) < 0:
                raise TimeoutError
            return step  # called in this round

        sys.settrace(step)
        try:
            result = function(*copy.deepcopy(given))
        except Exception as error:
            result = type(error)
        sys.settrace(None)
        text = "recursion" if result is RecursionError else re.sub("0x[0-9a-f]+", "", repr(result))
        found.append("endless" if result is TimeoutError else text)
    return found


def test_variants_that_are_compiled_together_do_what_each_does_alone():
    parsed = ParsedSource(VARIED.encode())
    (scope,) = scopes(parsed)
    arguments = [(numbers, most) for numbers in ([], [1, 2, 3], [5, -1, "x"]) for most in (0, 2, None)]
    jobs = [one.to_json() for one in candidates("program.py", scope, lambda _: True)]
    tree, choice, names = ast.parse(VARIED), Choice(), ("numbers", "most", "found", "number")
    variants = Variants(tree, VARIED, names, "choice")
    variants.add([tuple(job["edit"]) for job in jobs])
    variants.finish()
    space = {}
    exec(with_cells(compile(tree, "program.py", "exec"), "choice", choice), space)
    assert len(variants.chosen) > 0.8 * len(jobs) > 500
    for job in jobs[::97]:
        choice.number = variants.chosen.get(tuple(job["edit"]), 0)
        if choice.number:
            alone = {}
            exec(Edit(*job["edit"]).apply(VARIED), alone)
            both = zip(outcomes(space["picked"], arguments), outcomes(alone["picked"], arguments), strict=True)
            assert all(one == other for one, other in both if "endless" not in (one, other)), job["edit"]
    choice.number = 0
    exec(VARIED, alone := {})
    assert outcomes(space["picked"], arguments) == outcomes(alone["picked"], arguments)


VARIED = """\
def picked(numbers, most):
    found = []
    for number in numbers:
        if number > most or number in found:
            continue
        found.append(number * 2)
        found = found[:most]
    else:
        most = len(numbers)
    return found, f"{most}"
"""


@pytest.mark.parametrize(
    ("source", "line", "text", "stays"),
    [
        (PROGRAM, 8, "net += price", True),
        (PROGRAM, 8, "pass", True),  # it is assigned elsewhere, too
        (PROGRAM, 15, "if value in seen:", True),
        (PROGRAM, 24, "self.balance = 0", True),
        (PROGRAM, 6, "pass", True),
        (PROGRAM, 13, "pass", False),  # now the only assignment is gone
        (PROGRAM, 9, "yield net * rate", False),
        (PROGRAM, 9, "net = rate", True),
        (PROGRAM, 30, "first = last", True),
        (MORE, 13, "return [lambda one=one: use(one) for one in names]", False),  # it is called later
        (MORE, 6, "except (KeyError, LookupError):", False),
        (HEADS, 4, "LIMIT = 100", False),
    ],
)
def test_a_change_stays_in_its_statement_unless_it_changes_variables_or_definitions(source, line, text, stays):
    parsed = ParsedSource(source.encode())
    found = [*scopes(parsed), *definitions(parsed, {"LIMIT"}, {8})]
    before = set(source.splitlines())
    made = (one for scope in found for one in candidates("program.py", scope, lambda number: number == line))
    for one in made:
        after = edited(source.encode(), [one]).decode().splitlines()
        if [new.strip() for new in after if new not in before] == [text]:
            assert stays_in_statement(one) is stays
            return
    raise AssertionError("there is no such candidate")


def test_passing_tests_judge_that_execute_the_statement():
    lines = np.array([6, 7, 8, 9], np.int32)
    elements = Elements(("program.py",), np.zeros(4, np.int32), lines, lines, np.full(4, -1, np.int32), ())
    hits = [[1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0], [0, 0, 0, 0]]
    executing = ExecutingTests(Spectrum.from_matrix(hits, [True, False, False, False], elements=elements))
    (plus,) = [one for one in made(PROGRAM, 8) if one.edit.text == "net += price"]
    (other,) = [one for one in made(PROGRAM, 9) if one.edit.text == "yield net * rate"]
    assert executing.for_change(plus) == ["t3"]
    assert executing.for_change(other) == executing.for_function(plus) == ["t2", "t3"]


def test_all_candidates_are_programs_and_no_two_are_the_same():
    texts = [edited(PROGRAM.encode(), [one]).decode() for one in made(PROGRAM)]
    assert len(texts) > 1000
    assert len(set(texts)) > 0.99 * len(texts)
    for text in texts:
        ast.parse(text)


def test_what_runs_has_the_lines_of_the_file_around_the_change():
    (one,) = [one for one in made(PROGRAM, 30) if one.said == "`last` is one day later"]
    job = one.to_json()
    assert job["functions"] == [("ends", 27)]
    assert job["source"].splitlines()[29] == "    return [first, last]"
    assert job["edit"] == (30, 19, 30, 23, "last + __import__('datetime').timedelta(days=1)", False)
    others = [other for other in made(PROGRAM, 9) if other.kind == "order"]
    both = together((one, others[0]))
    assert [both["functions"], both["others"][0]["functions"]] == [[("ends", 27)], [("total", 5)]]


@pytest.mark.parametrize(
    "now",
    [
        PROGRAM.replace("net = price", "net += price"),
        PROGRAM.replace("        self.owner = None\n", "        self.owner = None\n        self.balance = 0\n"),
        PROGRAM.replace("    return net * rate\n", "    net *= rate\n    return net\n"),
        PROGRAM.replace("    seen = []\n", ""),
        PROGRAM.replace("raise ValueError(last)", "raise ValueError(\n            first\n        )"),
        PROGRAM.replace("last: date", "last=date.max").replace("[first, last]", "[last, first]"),
    ],
)
def test_what_undoes_a_change_gives_the_text_before_it(now):
    program = ParsedSource(now.encode())
    everywhere = range(len(program.lines) + 1)
    known = [*scopes(program), *definitions(program, set(), everywhere)]
    difference = FileDifference.between("program.py", PROGRAM.encode(), now.encode())
    assert difference.units
    for unit in difference.units:
        before = difference.content([one for one in difference.units if one is not unit]).decode()
        candidate = undone("program.py", unit, known)
        try:
            compile(before, "", "exec")
        except SyntaxError:
            assert candidate is None  # it can't be undone alone
        else:
            assert candidate.edit.apply(now).rstrip("\n") == before.rstrip("\n")


def test_what_undoes_a_change_lies_in_a_function_and_in_this_text():
    difference = FileDifference.between("program.py", PROGRAM.encode(), PROGRAM.replace("datetime", "times").encode())
    known = list(scopes(ParsedSource(PROGRAM.encode())))
    assert undone("program.py", difference.units[0], known) is None  # an import
    unit = ChangeUnit("program.py", 8, 8, "        net += price\n", "        net = 2 * price\n")
    assert undone("program.py", unit, known) is None


def test_edits_with_the_same_effect_are_the_same_candidate():
    lines = PROGRAM.split("\n")
    number, old = next((number, line) for number, line in enumerate(lines, 1) if "net = price" in line)
    whole = Edit(number, 0, number, len(old), old.replace("=", "+="))
    sign = Edit(number, old.index("="), number, old.index("="), "+")
    assert whole.changed_lines(lines) == sign.changed_lines(lines) == (number, 1, ("        net += price",))
    before, after = Edit(number + 1, 0, number + 1, 0, "x = 1\n"), Edit(number, len(old), number, len(old), "\nx = 1")
    assert before.changed_lines(lines) == after.changed_lines(lines) == (number + 1, 0, ("x = 1",))


def test_modules_that_only_tests_import_are_known():
    texts = {
        "shop/__init__.py": "from .sums import total",
        "shop/sums.py": "from unittest import mock\nimport shop.check_tests.run",
        "shop/command.py": "from shop.sums import total",  # nobody imports it, as what a program begins with
        "shop/testing.py": "from shop.sums import total",
        "shop/check_tests/run.py": "",
        "tests_util/__init__.py": "",
        "tests_util/prices.py": "from shop.testing import fill",
        "helpers.py": "import pytest",
        "shop/latest.py": "",
    }
    trees = {path: ast.parse(text) for path, text in texts.items()}
    helpers = {"shop/testing.py", "tests_util/__init__.py", "tests_util/prices.py", "helpers.py"}
    assert helper_modules(trees, [*texts], trees.get) == helpers
    assert helper_modules({path: trees[path] for path in helpers}, [*helpers], trees.get) == set()
    one, two, *_ = made(PROGRAM, 8)
    fixes = [Fix((one,), (), 1, rank=1, for_tests=True), Fix((two,), (), 1, rank=99)]
    assert in_order(fixes) == fixes[::-1]


@pytest.mark.parametrize("unlike", [0, 1, -1], ids=["no line", "the first line", "the last lines"])
def test_a_difference_is_one_that_git_applies(tmp_path, unlike):
    text = PROGRAM.replace("\n", "\r\n").encode() + b"# no end"
    if unlike:  # of lines with other ends than those around
        at = text.find(b"\r\n") if unlike > 0 else text.rfind(b"\r\n", 0, -20)
        text = text[:at] + text[at:].replace(b"\r\n", b"\n", 1 if unlike > 0 else -1)
    (tmp_path / "program.py").write_bytes(text)
    chosen = [one for one in made(text.decode(), 30) if one.said == "`last` is one day later"]
    patch = difference(chosen, lambda file: text).encode()
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, check=True)
    changed = (tmp_path / "program.py").read_bytes()
    assert changed == edited(text, chosen)
    assert b"import date, timedelta\r\n" in changed
    assert changed.count(b"\r") == text.count(b"\r")


class Harmful:
    """An object whose code must not be called."""

    def __init__(self):
        self.kept = 7

    @property
    def asked(self):
        raise AssertionError

    def __eq__(self, other):
        raise AssertionError

    def __hash__(self):
        raise AssertionError

    def __getattr__(self, name):
        raise AssertionError

    __bool__ = __len__ = __iter__ = asked.fget


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("n + 1", 8),
        ("n ** 2 // 3", 16),
        ("one.kept * 2", 14),
        ("items[1:]", [2, 3]),
        ("sorted(items)[-1]", 3),
        ("word.upper().strip()", "AB"),
        ("n in items or word", "ab"),
        ("len(items) if n else None", 3),
        ("one is None", False),
        ("one.asked", UnknownResult),
        ("one.other", UnknownResult),
        ("one == 1", UnknownResult),
        ("not one", UnknownResult),
        ("one in items", UnknownResult),
        ("{one}", UnknownResult),
        ("call(1)", UnknownResult),
        ("items.append(4)", UnknownResult),
        ("items.pop()", UnknownResult),
        ("10 ** 10 ** 10", UnknownResult),
        ("word * 10 ** 9", UnknownResult),
        ("n / 0", RaisedInstead),
        ("items[7]", RaisedInstead),
        ("later", RaisedInstead),
        ("n + word", RaisedInstead),
    ],
)
def test_expressions_are_evaluated_without_calling_the_program(text, result):
    items = [1, 2, 3]
    own = {"n": 7, "items": items, "word": "ab", "one": Harmful()}
    evaluator = Evaluator(own, {"call": lambda _: items.clear()}, frozenset({"later"}))
    node = ast.parse(text, mode="eval").body
    if isinstance(result, type):
        with pytest.raises(result):
            evaluator.value(node)
    else:
        assert evaluator.value(node) == result
    assert items == [1, 2, 3]


@pytest.mark.parametrize("value", ["x" * 10**6, [b"y" * 10**6], 7**10**4, {1: 2**20_000}], ids=type)
def test_results_that_take_much_memory_are_not_known(value):
    evaluator = Evaluator({"value": value}, {}, frozenset())
    for text in ("value", "value[0]", "value + value", "[value]", "str(value)"):
        node = ast.parse(text, mode="eval").body
        try:
            key = key_of(evaluator.value(node), node, evaluator.identity)
        except (UnknownResult, RaisedInstead):
            continue
        assert len(repr(key)) < 100  # the object itself


TABLE = f"""\
def found(name):
    rows = [{", ".join(f"('{number}', {number})" for number in range(300))}]
    for key, value in rows:
        if key == name:
            return key
"""


def test_a_table_does_not_make_more_candidates_than_memory():
    parsed = ParsedSource(TABLE.encode())
    (scope,) = scopes(parsed)
    tracemalloc.start()
    places = sites_by_line(scope, lambda _: True)
    drafts = [draft for several in places.values() for stage in stages("table.py", several) for draft in stage.drafts()]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(drafts) < 30 * 600  # a few for each constant
    assert most < 30 << 20
    texts = {one.edit.text for draft in drafts if (one := draft.write()) is not None and one.line > 2}
    assert "value" in texts


def test_what_is_least_likely_is_forgotten_before_it_takes_much_memory(monkeypatch):
    monkeypatch.setattr(waiting, "MAX_WAITING", 100)
    queue = waiting.WaitingCandidates()
    for cost in range(1000, 0, -1):
        queue.put(cost, partial(Alike, [cost]))
        assert len(queue._heap) <= 100
    assert queue.forgot
    assert [one.members for one in queue.take(30, math.inf)] == [[cost] for cost in range(1, 31)]


def test_a_copy_is_another_result_than_the_object():
    evaluator = Evaluator({"items": [1, 2]}, {}, frozenset())
    keys = [
        key_of(evaluator.value(node := ast.parse(text, mode="eval").body), node)
        for text in ("items", "list(items)", "items[:]")
    ]
    assert keys[0] != keys[1] == keys[2]


SHOP = """\
import functools
import os

LIMIT = 99

@functools.lru_cache
def price(name):
    return {"tea": 3, "milk": 2}[name]

def total(names):
    result = 0
    for name in names:
        result = price(name)
    return result

def save(path, names):
    if os.path.exists(path):
        os.remove(path)
    with open(path, "w") as stream:
        stream.write(str(total(names)))

def allowed(amount):
    return amount <= LIMIT

def forever(n):
    while n != 0:
        n -= 2
    return "done"
"""
TESTS = """\
from shop import allowed, forever, save, total

def test_two():
    assert total(["tea", "milk"]) == 5

def test_three(tmp_path):
    save(tmp_path / "total", ["tea", "tea", "milk"])
    assert (tmp_path / "total").read_text() == "8"

def test_one():
    assert total(["milk"]) == 2

def test_limit():
    assert allowed(100)

def test_above():
    assert not allowed(101)

def test_even():
    assert forever(4) == "done"

def test_tool():
    raise FileNotFoundError("shop")
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A project with a fault that two tests show, recorded."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(SHOP.replace("result = price(name)", "result += price(name)"))
    (folder / "test_shop.py").write_text(TESTS)
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "right"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    (folder / "shop.py").write_text(SHOP)
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST]
    assert subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 1
    return folder


@pytest.mark.slow
def test_the_command_finds_judges_and_writes_a_fix(shop, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr("click.confirm", asked.append)
    asking = ["--format", "json", "--seconds", "120", "--apply", "1"]
    words = ["fix", "--workspace", str(shop), *asking, "*_two", "*_three", "*_limit", "*_tool", "--", *PYTEST]
    assert run(words) == 0
    found = json.loads(capsys.readouterr().out)
    first, *others = found["fixes"]
    assert (first["line"], first["kind"]) == (13, "as before")
    assert "+        result += price(name)\n" in first["diff"]
    assert not any(one["diff"] == first["diff"] for one in others)
    assert sorted(first["mends"]) == ["test_shop.py::test_three", "test_shop.py::test_two"]
    assert first["judged_by"] == 3
    words = "both failing tests pass with this line as it was, and the other that was run still does"
    assert first["said"] == words
    assert "+LIMIT = 100\n" in "".join(one["diff"] for one in found["fixes"])
    assert found["tried"] > 20
    assert found["pruned"] > 20
    assert asked == ["Write fix 1 into shop.py?"]
    assert (shop / "shop.py").read_text() == SHOP  # nobody has agreed
    monkeypatch.setattr("click.confirm", lambda text: True)
    monkeypatch.setattr("suspectra.fixes.search.FixInquiry.steps", None)  # what was found is known
    number = found["fixes"].index(first) + 1
    kept = ["fix", "--workspace", str(shop), "--apply", str(number), "*_two", "*_three", "*_limit", "*_tool"]
    assert run([*kept, "--format", "diff"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == first["diff"].rstrip("\n")
    assert run(kept) == 0
    assert f"Fix {number} is in shop.py. Run the tests again." in capsys.readouterr().err
    assert (shop / "shop.py").read_text() == SHOP.replace(
        "        result = price(name)", "        result += price(name)"
    )
    (shop / "shop.py").write_text(SHOP)


@pytest.mark.slow
def test_the_command_uses_what_experiments_have_shown(tmp_path, capsys):
    (tmp_path / "far.py").write_text("def far(number):\n    most = 5\n    return number > most\n")
    tests = "from far import far\ndef test_near():\n    assert not far(7000)\ndef test_far():\n    assert far(8020)\n"
    (tmp_path / "test_far.py").write_text(tests)
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.glob("*.py")}
    place = ("value", "far.py", 2, 2, 11, "assignment", EVERY, "returned")
    shown = Experiment("test_far.py::test_near", *place, ExperimentOutcome.PASSED, detail="8019")
    with ExperimentLog(tmp_path) as log:
        log.add(shown, digests)
    assert run(["fix", "--workspace", str(tmp_path), "--format", "json", "--seconds", "120", "--", *PYTEST]) == 0
    assert "+    most = 8019\n" in "".join(one["diff"] for one in json.loads(capsys.readouterr().out)["fixes"])


@pytest.mark.slow
def test_for_a_named_test_nothing_is_changed_that_it_does_not_execute(tmp_path, capsys):
    """Its failure group may have other tests, with more to execute."""
    half = (
        "def half(number):\n    return number // 3\ndef quarter(number):\n    return half(half(number)) + nothing(0)\n"
    )
    (tmp_path / "parts.py").write_text(half + "def nothing(number):\n    return number * 5 - 1\n")
    tests = "from parts import half, quarter\ndef test_half():\n    assert half(8) == 4\n"
    (tmp_path / "test_parts.py").write_text(f"{tests}def test_quarter():\n    assert quarter(16) == 4\n")
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    words = ["fix", "test_half", "--workspace", str(tmp_path), "--format", "json", "--seconds", "120", "--", *PYTEST]
    assert run(words) == 0
    assert "+    return number // 2\n" in json.loads(capsys.readouterr().out)["fixes"][0]["diff"]
    log = (tmp_path / ".suspectra/experiments/log.jsonl").read_text().splitlines()
    assert {made["line"] for made in map(json.loads, log) if made.get("file") == "parts.py"} == {2}


@pytest.mark.slow
def test_a_patch_of_several_files_is_tried_whole(tmp_path, capsys):
    right = {
        "a.py": "def one():\n    return 1\n\n\ndef two():\n    return 2\n",
        "b.py": "def three():\n    return 3\n\n\ndef four():\n    return 4\n",
    }
    difference = []
    for name, text in right.items():
        wrong = text.replace("return ", "return -")
        (tmp_path / name).write_text(wrong)
        difference += unified_diff(wrong.splitlines(True), text.splitlines(True), f"a/{name}", f"b/{name}")
    called = "a.one() + a.two() + b.three() + b.four()"
    (tmp_path / "test_all.py").write_text(f"import a\nimport b\n\n\ndef test_all():\n    assert {called} == 10\n")
    (tmp_path / "all.patch").write_text("".join(difference))
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    words = ["try", "--workspace", str(tmp_path), "--format", "json", str(tmp_path / "all.patch"), "--", *PYTEST]
    assert run(words) == 0
    (judged,) = json.loads(capsys.readouterr().out)["changes"]
    assert judged["mends"] == ["test_all.py::test_all"]


@pytest.mark.slow
def test_patches_are_judged_without_touching_a_file(shop, tmp_path, capsys):
    good = patch("-        result = price(name)", "+        result += price(name)")
    texts = {
        "good": good,
        "bad": patch("-        result = price(name)", "+        result = 8"),
        "constant": patch("-        result = price(name)", "+        result += price(name) * RATE", "+RATE = 1"),
        "harm": patch("-        result = price(name)", "+        open('harm', 'w'); result += price(name)"),
        "harmful definition": patch(
            "-        result = price(name)", "+        result += price(name)", "+HARM = open('harm', 'w')"
        ),
        "outside": good.replace("b/shop.py", "b/../shop.py").replace("a/shop.py", "a/../shop.py"),
        "hidden": good.replace("shop.py", "a\u202e/shop.py"),
        "absolute": good.replace("a/shop.py", "/etc/shop.py").replace("b/shop.py", "/etc/shop.py"),
        "renamed": good.replace("+++ b/shop.py", "+++ b/other.py"),
        "rename": "diff --git a/shop.py b/x.py\nrename from shop.py\nrename to x.py\n",
        "new": "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n",
        "binary": "diff --git a/shop.py b/shop.py\nGIT binary patch\nliteral 3\n",
        "huge": good + "#" * 300_000,
        "test": good.replace("shop.py", "test_shop.py"),
        "unknown": good.replace("shop.py", "unknown.py"),
        "link": good.replace("shop.py", "linked.py"),
        "conftest": good.replace("shop.py", "conftest.py"),
        "removal": f"--- a/shop.py\n+++ b/shop.py\n@@ -7,2 +6,0 @@\n-def price(name):\n-{SHOP.splitlines()[7]}\n",
        "misfit": good.replace("for name in names", "for name in others"),
        "short": good.rpartition("\n-")[0],
        "no patch": "result += price(name)",
        "no Python": patch("-        result = price(name)", "+        result +="),
        "parameters": patch(" def total(names):", "+def total(names, rate=1):"),
        "carriage returns": good.replace("\n", "\r\n"),
        "mode": "diff --git a/shop.py b/shop.py\nold mode 100644\nnew mode 100755\n" + good,
        "deletion": good.replace("+++ b/shop.py", "+++ /dev/null"),
        "end": "--- a/shop.py\n+++ b/shop.py\n@@ -32 +32 @@\n-    return 'done'\n+    return 'none'\n",
        "linked folder": good.replace("shop.py", "linked/shop.py"),
    }
    texts["end"] = texts["end"].replace("'", '"') + "\\ No newline at end of file\n"
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "elsewhere.py").write_text(SHOP)
    (shop / "linked.py").symlink_to(tmp_path / "elsewhere.py")
    (shop / "linked").symlink_to(tmp_path)
    files = [str(tmp_path / name) for name in texts]
    assert run(["try", "--workspace", str(shop), "--format", "json", "--seconds", "120", *files, "--", *PYTEST]) == 0
    judged = dict(zip(texts, json.loads(capsys.readouterr().out)["changes"], strict=True))
    for name in ("good", "constant", "carriage returns"):
        assert (len(judged[name]["mends"]), judged[name]["breaks"]) == (2, [])
    assert judged["good"]["said"] == "2 of 4 failing tests pass, and no other test breaks (5 were run)"
    assert judged["bad"]["mends"] == ["test_shop.py::test_three"]
    assert judged["bad"]["breaks"] == ["test_shop.py::test_one"]
    assert judged["harm"]["mends"] == judged["harmful definition"]["mends"] == []
    assert judged["harm"]["breaks"] == []
    assert judged["harm"]["unjudged"] == [f"test_shop.py::test_{which}" for which in ("two", "three", "one")]
    assert judged["harm"]["said"].startswith("refused: altered code may not do what it does: open ")
    assert judged["harm"]["said"].endswith(
        "harm for writing; 3 tests say nothing about it; no failing test passes, and no other test of those that were"
        " run breaks (2 were run)"
    )
    assert not (shop / "harm").exists()
    assert {name for name, one in judged.items() if not one["refused"]} == {
        "good", "bad", "constant", "carriage returns", "end", "parameters", "removal",
    }  # fmt: skip
    assert (judged["end"]["mends"], judged["end"]["breaks"]) == ([], ["test_shop.py::test_even"])
    assert (judged["parameters"]["mends"], judged["parameters"]["breaks"]) == ([], [])
    assert judged["removal"]["breaks"] == ["test_shop.py::test_one"]  # whose function now has the decorator
    assert judged["mode"]["refused"] == "it changes the mode of a file"
    assert judged["deletion"]["refused"] == "it adds or removes a file"
    assert judged["outside"]["refused"] == "it names a place outside of the workspace"
    assert judged["rename"]["refused"] == judged["renamed"]["refused"] == "it renames a file"
    assert judged["binary"]["refused"] == "it contains binary data"
    assert (shop / "shop.py").read_text() == SHOP
    (shop / "linked.py").unlink()
    (shop / "linked").unlink()
    assert (tmp_path / "elsewhere.py").read_text() == SHOP
    assert {path.name for path in shop.glob("*.py")} == {"shop.py", "test_shop.py"}
    assert run(["try", "--workspace", str(shop), *files[:1] * 201]) == 2
    assert "201 changes are more than are tried at a time" in capsys.readouterr().err


CHANGE = "--- a/{0}\n+++ b/{0}\n@@ -{1},2 +{1},2 @@\n x = 1\n-y = 1\n+y = 2\n"


@pytest.mark.parametrize(
    ("source", "patch"),
    [
        (b"x = 1\r\ny = 1\r\n", CHANGE.format("shop.py", 1)),
        (b"x = 1\ny = 1", CHANGE.format("shop.py", 1).replace("\n", "\r\n")),
        (b"x = 1\ny = 1", CHANGE.format("shop.py", 1).replace("-y = 1\n", "-y = 1\n\\ No newline at end of file\n")),
        (b"\xef\xbb\xbfx = 1\ny = 1\n", CHANGE.format("shop.py", 1)),
        (b"# coding: latin-1\nz = '\xe9'\nx = 1\ny = 1\n", CHANGE.format("shop.py", 3)),
        (b"x = 1\ny = 1\n", CHANGE.format("shop.py", 400)),
        (b"x = 1\ny = 1\n", CHANGE.format("shop.py\t2026-01-01", 1)),
        (b"x = 1\ny = 1\n", CHANGE.replace("a/{0}", "w/{0}").format("shop.py", 1)),
        (b"x = 1\ny = 1\n", "rename y, and copy x\n---\n" + CHANGE.format("shop.py", 1) + "-- \n2.39.2\n"),
        (b"x = 1\ny = 1\n", CHANGE.replace("a/{0}", '"a/{0}"').replace("b/{0}", '"b/{0}"').format(r"l\303\240.py", 1)),
    ],
)
def test_a_change_of_any_text_is_read(source, patch):
    (made,) = patched(patch, {"shop.py": source, "là.py": source}.get, set().__contains__).values()
    assert [text.splitlines()[-2:] for text in made] == [["x = 1", "y = 1"], ["x = 1", "y = 2"]]


SMALL_SHOP = """\
import os
LIMIT = 3


class Shop:
    open = True

    def limit(self, more=0):
        return LIMIT + more


def keeping(function):
    known = {}
    return lambda *given: known


@keeping
def price(name):
    return 3
"""


@pytest.mark.parametrize(
    ("old", "new", "is_exchanged"),
    [
        ("LIMIT + more", "LIMIT - more", True),
        ("return 3", "return rate(3)\n\ndef rate(value):\n    return value * RATE\nRATE = 2", True),
        ("import os", "import os\nfrom math import ceil", True),
        ("more=0", "more=1", False),
        ("def price", "async def price", False),
        ("@keeping\n", "", False),
        ("open = True", "open = False", False),
        ("    open = True", "    open = True\n    def rate(self):\n        return 3", False),
        ("class Shop:", "class Shop(dict):", False),
        ("LIMIT = 3", "LIMIT = 4", False),
        ("LIMIT = 3", "LIMIT = 3\nLIMIT += 1", False),
        ("    def limit(self, more=0):\n        return LIMIT + more\n", "", False),
        ("return lambda *given: known", "return lambda *given: known[given]", False),  # it runs at import
    ],
)
def test_a_file_is_imported_anew_where_exchanging_bodies_is_not_the_same(old, new, is_exchanged):
    assert old in SMALL_SHOP
    changed = changed_functions(
        "program.py", SMALL_SHOP, SMALL_SHOP.replace(old, new), at_import={1, 2, 5, 6, 12, 13, 14}
    )
    assert (changed.job is not None) == is_exchanged


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("return 3", "return 3  # three", "it changes nothing that is executed in program.py"),
        ("return 3", "return 3 +", "program.py would be no Python"),
        ("LIMIT = 3", "return 3", "program.py would be no Python"),
    ],
)
def test_a_text_that_does_the_same_or_is_no_python_is_refused(old, new, reason):
    with pytest.raises(PatchRefused, match=f"^{reason}"):
        changed_functions("program.py", SMALL_SHOP, SMALL_SHOP.replace(old, new))


IMPORTED = """\
import functools
from rates import RATE


def logged(function):
    return functools.wraps(function)(lambda *given: function(*given))


class Cart:
    limit = 2

    def __init__(self):
        self.items = []

    def add(self, price):
        if len(self.items) < self.limit:
            self.items.append(price)

    @logged
    def total(self):
        return sum(self.items) * RATE


SQUARES = {n: n * n for n in range(5)}
"""
IMPORTED_TESTS = """\
from store import SQUARES, Cart


def full(count):
    cart = Cart()
    for _ in range(count):
        cart.add(10)
    return cart


def test_limit():
    assert len(full(3).items) == 3


def test_square():
    assert SQUARES[7] == 49


def test_count():
    assert full(2).count() == 2


def test_total():
    assert full(2).total() == 40


def test_one():
    assert len(full(1).items) == 1
"""
AT_IMPORT = {
    "attribute": ("store.py", "limit = 2", "limit = 3", {"limit"}, set()),
    "method": ("store.py", "    @logged", "    def count(self):\n        return 2\n\n    @logged", {"count"}, set()),
    "base": ("store.py", "class Cart:", "class Cart(list):", set(), set()),
    "constant": ("rates.py", "RATE = BASE", "RATE = 2", {"total"}, set()),
    "derived": ("rates.py", "BASE = 1", "BASE = 2", {"total"}, set()),
    "table": ("store.py", "range(5)", "range(50)", {"square"}, set()),
    "parameters": ("store.py", "(self, price)", "(self, price, much)", set(), {"one"}),
    "removed": ("store.py", "SQUARES = {n: n * n for n in range(5)}\n", "", set(), {"one"}),
    "raises": ("store.py", "import functools", "import functools\nraise ValueError", set(), {"one"}),
    "ends": ("store.py", "import functools", "import functools, os\nos._exit(0)", set(), {"one"}),
    "harm": ("store.py", "limit = 2", "limit = 3\n    open('harm', 'w').close()", None, "open .*harm for writing"),
    "worse": (
        "store.py",
        "import functools",
        "import functools, os\nos.remove('store.py')",
        None,
        "os.remove .*store.py",
    ),
    "program": ("store.py", "import functools", "import functools, os\nos.system('true')", None, "os.system .*true"),
}


@pytest.mark.slow
def test_what_runs_at_import_is_judged_with_the_whole_file(tmp_path, capsys, monkeypatch):
    texts = {"store.py": IMPORTED, "rates.py": "BASE = 1\nRATE = BASE\n"}
    shop, patches = tmp_path / "shop", tmp_path / "patches"
    shop.mkdir()
    patches.mkdir()
    for name, text in {**texts, "test_store.py": IMPORTED_TESTS}.items():
        (shop / name).write_text(text)
    # a plugin that does something while it is loaded: the program as it is may do so
    (shop / "conftest.py").write_text("import pathlib\npathlib.Path(__file__).with_name('log').touch()\n")
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST]
    assert subprocess.run(words, cwd=shop, capture_output=True, check=False).returncode == 1
    for name, (file, old, new, _, _) in AT_IMPORT.items():
        before, after = (text.splitlines(True) for text in (texts[file], texts[file].replace(old, new)))
        (patches / name).write_text("".join(unified_diff(before, after, f"a/{file}", f"b/{file}")))
    before = {path: path.read_bytes() for path in shop.glob("*") if path.is_file()}
    files = [str(patches / name) for name in AT_IMPORT]
    starts, run_once = [], altered_program.run_once
    monkeypatch.setattr(altered_program, "run_once", lambda *given: starts.append(given) or run_once(*given))
    assert run(["try", "--workspace", str(shop), "--format", "json", "--seconds", "500", *files, "--", *PYTEST]) == 0
    assert not starts  # no change starts pytest
    judged = dict(zip(AT_IMPORT, json.loads(capsys.readouterr().out)["changes"], strict=True))
    for name, (_, _, _, repaired, broken) in AT_IMPORT.items():
        one = judged[name]
        if repaired is None:
            assert re.search(broken, one["refused"]), name
            assert len(one["unjudged"]) == 5
        else:
            assert not one["refused"]
            assert {test.rpartition("_")[2] for test in one["mends"]} == repaired, name
            assert {test.rpartition("_")[2] for test in one["breaks"]} == broken, name
    assert {path: path.read_bytes() for path in shop.glob("*") if path.is_file()} == before


def test_the_bytes_of_a_change_are_those_of_its_file():
    source = "# coding: latin-1\nz = 'é'\ny = 1\n".encode("latin-1")
    change = "--- a/shop.py\n+++ b/shop.py\n@@ -2,2 +2,2 @@\n-z = 'é'\n+z = 'è'\n y = 1\n".encode("latin-1")
    patch = change.decode(errors="surrogateescape")
    ((_, new),) = patched(patch, {"shop.py": source}.get, set().__contains__).values()
    assert new == "# coding: latin-1\nz = 'è'\ny = 1\n"
    program = "# coding: latin-1\ndef f(a):\n    return 'é' + a\n"
    one, *_ = made(program, 3)
    assert "'é'" in difference([one], lambda file: program.encode("latin-1"))
    assert "'é'".encode("latin-1") in difference_as_bytes([one], lambda file: program.encode("latin-1"))


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        (CHANGE.format("shop.py", 1).replace("1,2 +1,2", "1,1 +1,1"), "a change has more lines than it says"),
        (CHANGE.format("shop.py", 1).replace("1,2 +1,2", "1,9 +1,9"), "a change has fewer lines than it says"),
        (CHANGE.format("shop.py", 1) * 2, "it does not fit shop.py:1"),
        (CHANGE.format("other.py", 1), "no recorded test executes other.py"),
        (CHANGE.format('"shop.py', 1), "it names a place outside of the workspace"),
        (CHANGE.format("shop.py", 1).replace("y = 2", "y = '\ud800'"), "it contains characters that no file can have"),
        ("--- a/shop.py\n+++ b/shop.py\n@@ -9,0 +10 @@\n+y = 2\n", "it does not fit shop.py:9"),
        ("old mode 100644\nnew mode 100755\n", "it changes the mode of a file"),
        (CHANGE.format("test_shop.py", 1), "test_shop.py is test code"),
    ],
)
def test_a_change_that_does_not_fit_is_refused(patch, reason):
    with pytest.raises(PatchRefused, match=f"^{reason}$"):
        patched(patch, {"shop.py": b"x = 1\ny = 1\n"}.get, {"test_shop.py"}.__contains__)


def patch(old, new, *defined):
    """A difference of shop.py: one line instead of another, and lines that define something at the top."""
    body = f" def total(names):\n     result = 0\n     for name in names:\n{old}\n{new}\n     return result\n"
    if old.startswith(" "):
        body = f"-def total(names):\n{new}\n     result = 0\n"
    head = "--- a/shop.py\n+++ b/shop.py\n"
    more = "".join(f"@@ -2,1 +2,2 @@\n import os\n{line}\n" for line in defined)
    count = 2 if old.startswith(" ") else 5
    return f"{head}{more}@@ -10,{count} +10,{count} @@\n{body}"


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        (("if len(a) > 0:", "if len(a) + 1 > 1:", "if len(a) > 1 - 1:", "elif len(a) - 1 > -1:"), 1),
        (("a = b + 1 + 1", "a = b + 2", "a = b + 3 - 1", "a = 1 + b + 1"), 1),
        (("a = b - c - 1", "a = b - 1 - c", "a = b + 1 - c - 2", "a = b - (c + 1)"), 1),
        (("if a < b + 1:", "if a - 1 < b:", "if a <= b:"), 2),
        (("if a or b == c:", "if b == c or a:", "elif b == c or a:"), 1),
        (("while not a and (b or c):", "while (c or b) and not a:"), 1),
        (("if a is None or a.b:", "if a.b or a is None:"), 2),
        (("return a or b", "return b or a"), 2),
        (("if a < b - 1 < 2:", "if a + 1 < b < 2:"), 2),
        (("a = '1' + b", "a = b + '1'", "a = 1 + b", "a = b - c", "a = b + c"), 5),
    ],
)
def test_the_same_calculation_is_known_in_other_words(texts, count):
    assert len({meaning(text).text for text in texts}) == count


def test_another_summary_of_a_container_and_what_a_comprehension_waits_for():
    assert "return sum(one for one in items)" in lines_after("def f(items):\n    return max(one for one in items)\n", 2)
    source = "async def f(items):\n    return [g(one) for one in items], (g(one) for one in items)\n"
    waiting = {one for one in lines_after(source, 2) if "await" in one}
    assert waiting == {"return [await g(one) for one in items], (g(one) for one in items)"}


@pytest.mark.slow
def test_what_a_long_test_had_time_for_counts(tmp_path, capsys):
    program = "import time\ndef slow(number):\n    time.sleep(3)\n    return number - 1\n"
    (tmp_path / "slow.py").write_text(program)
    (tmp_path / "test_slow.py").write_text("from slow import slow\ndef test_slow():\n    assert slow(1) == 2\n")
    words = [sys.executable, "-m", "suspectra", "record", "--", *PYTEST]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    run(["fix", "--workspace", str(tmp_path), "--format", "json", "--seconds", "15", "--", *PYTEST])
    assert json.loads(capsys.readouterr().out)["tried"] > 0


def test_an_item_that_is_asked_for_and_never_stored_is_stored():
    source = "def f(counts, key, kept):\n    if counts[key] < 2:\n        kept.append(key)\n    return kept\n"
    assert {"counts[key] += 1", "counts[key] = kept"} <= lines_after(source, 3)
    stored = source.replace("return", "counts[0] = 1; return")
    assert "counts[key] += 1" not in lines_after(stored, 3)


@pytest.mark.parametrize(
    ("text", "roundabout"),
    [
        ("a = b + 1 - c - 1", True),
        ("if a + 1 > 1:", True),
        ("a = b * 1", True),
        ("if a > b + 1:", False),
        ("a = 2", False),
    ],
)
def test_what_needs_fewer_numbers_is_known(text, roundabout):
    assert meaning(text).roundabout is roundabout


def test_a_condition_is_no_number():
    changes = [one for one in made("def f(a):\n    if isinstance(a, int):\n        return a in (1, 2)\n") if one.old]
    whole = [one.new for one in changes if one.old in ("isinstance(a, int)", "a in (1, 2)")]
    assert "isinstance(a, int) or a is None" in whole
    assert not [text for text in whole if re.search(r"\) [+*-] |-\(|-isinstance|abs\(|\) \*\* ", text)]


LIKELY = """\
def depth(tree):
    return max(depth(tree[1]), depth(tree[2]))

def keep(items={}, *, more=[]):
    kept = items
    others = more
    return kept, others

def columns(rows):
    return [list(column) for column in zip(*rows)]

def product(a, b):
    return [sum(row) for row in b]

def ending(number, known):
    number = str(number)
    if number[-2:] in ("11", "12") or int(number) in (11, 12):
        return "th"
"""


def test_what_is_likely_costs_least():
    def cost(line, text):
        edits = [(one.cost, one.edit.changed_lines(one.source.lines)[2]) for one in made(LIKELY, line)]
        return min(cost for cost, lines in edits if text in "\n".join(lines))

    assert cost(2, "max(depth(tree[1]), depth(tree[2])) + 1") < cost(2, "max(depth(tree[1]), depth(tree[2]) + 1)")
    assert cost(5, "items.copy()") == cost(6, "more.copy()") < cost(7, "kept.copy()")
    assert cost(17, " in (11, 12, 13):") < cost(17, '("11", "12", \'th\')')
    assert cost(13, "for row in columns(b)") < 3 > cost(13, "for row in zip(*b)")


TAKING = """\
def oldest(order, values, limit=3):
    first = order.pop()
    values[first] = limit
    if len(values) > limit:
        return values[first]
    return first
"""


@pytest.mark.parametrize(
    ("line", "old", "text", "is_said"),
    [
        (3, "", "first = order.pop()\n    ", True),
        (3, "first", "order.pop()", True),
        (3, "limit", "0", True),
        (3, "", "first = None\n    ", True),
        (4, "len(values) > limit", "len(values) == first", True),
        (6, "return first", "return None", True),
        (2, "order.pop()", "order.pop(0)", False),
        (4, "len(values) > limit", "len(values) >= limit", False),
        (4, "len(values) > limit", "len(values) == limit", False),
        (5, "values[first]", "values[limit]", False),
        (6, "", "limit += 1\n    ", False),
        (6, "", "order.pop()\n    ", False),
        (4, "", "if not order:\n        return None\n    ", False),
    ],
)
def test_a_change_that_fits_these_tests_alone_is_known(line, old, text, is_said):
    one, *_ = made(TAKING, line)
    column = len("    ") if not old else TAKING.splitlines()[line - 1].index(old)
    edit = Edit(line, column, line, column + len(old), text, whole_statement=not old)
    assert is_narrow(replace(one, edit=edit)) == is_said


def test_the_first_failure_group_gets_half_of_the_time():
    assert [search.share_of_time(*two) for two in ((20.0, 4), (10.0, 3), (5.0, 2), (0.1, 2), (0.1, 1), (-1.0, 1))] == [
        10.0, 5.0, 5.0, 0.0, 0.1, 0.0,
    ]  # fmt: skip


PERIODS = """\
class Period:
    def __init__(self, years=0, months=0):
        self.years, self.months, self.rest = years, months, 0

    def __eq__(self, other):
        return self.years == other.years

    def __neg__(self):
        made = Period(years=-self.years, months=-self.months)
        return made

    def __add__(self, other):
        made = Period(self.years + other.years, self.months + other.months)
        made.rest = self.rest + other.rest
        return made

    def __sub__(self, other):
        if isinstance(other, Period):
            made = Period(self.years - other.years, self.months - other.months)
            return made
        made = Period(self.years, self.months)
        return made
"""


@pytest.mark.parametrize(
    ("line", "text"),
    [(10, "made.rest = -self.rest"), (20, "made.rest = self.rest - other.rest")],
)
def test_a_part_of_a_new_object_is_computed_as_its_others(line, text):
    assert text in lines_after(PERIODS, line)


def test_a_change_of_how_objects_are_compared_comes_behind_others():
    compared = next(one for one in made(PERIODS, 6) if one.kind == "comparison")
    inserted = next(one for one in made(PERIODS, 10) if one.kind == "insertion" and one.cost > compared.cost)
    fixes = [Fix((one,), ("test",), 1, rank=1) for one in (compared, inserted)]
    assert in_order(fixes) == fixes[::-1]


NEGATED = """\
def words(text, whole):
    found = None
    if not whole:
        found = found.split()
    return found
"""


def test_negated_conditions_come_early_and_nothing_may_be_a_variable():
    negated = [one for one in made(NEGATED, 3) if one.edit.apply(NEGATED).split("\n")[2] == "    if whole:"]
    assert min(one.cost for one in negated) == min(one.cost for one in made(NEGATED))
    assert not {"if not not whole:", "if not (not whole):", "if not (not (whole)):"} & lines_after(NEGATED, 3)
    assert "found = text" in lines_after(NEGATED, 2)
