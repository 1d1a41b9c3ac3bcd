"""Causes, slices and paths in projects as they are: tests of unittest, long texts, objects."""

import json
import subprocess
import sys

import pytest

from suspectra.cli.main import run

CALC = """\
def double(number):
    result = number + number
    if number > 2:
        result = result + 1
    return result
"""
TESTS = {
    "in the test": """\
from unittest import TestCase
import calc

class TestCalc(TestCase):
    def test_one(self):
        self.assertEqual(calc.double(1), 2)

    def test_three(self):
        self.assertEqual(calc.double(3), 6)
""",
    "in a method of another class": """\
from tests import Base

class TestCalc(Base):
    def test_one(self):
        self.check(1, 2)

    def test_three(self):
        self.check(3, 6)
""",
    "in a function that raises": """\
from unittest import TestCase
from tests import check

class TestCalc(TestCase):
    def test_one(self):
        check(1, 2)

    def test_three(self):
        check(3, 6)
""",
    "in a subtest": """\
from unittest import TestCase
import calc

class TestCalc(TestCase):
    def test_one(self):
        with self.subTest(number=1):
            self.assertEqual(calc.double(1), 2)

    def test_three(self):
        with self.subTest(number=3):
            self.assertEqual(calc.double(3), 6)
""",
    "in a subtest of a helper": """\
from tests import Base

class TestCalc(Base):
    def check(self, number, expected):
        with self.subTest(number=number):
            super().check(number, expected)

    def test_one(self):
        self.check(1, 2)

    def test_three(self):
        self.check(3, 6)
""",
    "in a subtest of pytest": """\
import calc

def test_one(subtests):
    with subtests.test("1"):
        assert calc.double(1) == 2

def test_three(subtests):
    with subtests.test("3"):
        assert calc.double(3) == 6
""",
}
SHARED = """\
from unittest import TestCase
import calc

class Base(TestCase):
    def check(self, number, expected):
        result = calc.double(number)
        self.assertEqual(result, expected)

def check(number, expected):
    if calc.double(number) != expected:
        raise ValueError(number)
"""
PAGE = """\
class Page:
    def __init__(self, text):
        self.lines = text.split("|")
        self.width = 3

def tight(page):
    found = True
    for line in page.lines:
        if not line:
            found = False
    return found

def render(text):
    page = Page(text)
    mark = "li" if tight(page) else "p"
    found = []
    for line in page.lines:
        found.append("<" + mark + ">" + line + "</" + mark + ">")
    return "".join(found), page
"""
TEST_PAGE = """\
import page

def test_render():
    lines = ["a rather long line of text"] * 5
    expected = "".join(f"<li>{line}</li>" for line in [*lines, ""])
    assert page.render("|".join(lines) + "|")[0] == expected

def test_short():
    assert page.render("a")[0] == "<li>a</li>"
"""


def record(folder, files, failed=1):
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "suspectra", "record", "--", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert f"{failed} failed" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("tests", TESTS)
def test_failures_of_unittest_have_causes_slices_and_transitions(tmp_path, capsys, tests):
    record(tmp_path, {"calc.py": CALC, "tests/__init__.py": SHARED, "tests/test_calc.py": TESTS[tests]})
    assert run(["causes", "--workspace", str(tmp_path), "*_three", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["complete"]
    assert found["alterations"] > 0
    assert {state["file"] for state in found["roots"]} == {"calc.py"}
    assert run(["slice", "--workspace", str(tmp_path), "--failure", "--test", "*_three"]) == 0
    assert "calc.py:4" in capsys.readouterr().out
    compare = ["paths", "--workspace", str(tmp_path), "*_three", "--technique", "cause-transitions"]
    assert run([*compare, "--format", "json"]) == 0
    assert {place["file"] for place in json.loads(capsys.readouterr().out)["report"]} == {"calc.py"}


PRICE = """\
def price(parts, percent):
    net = sum(parts)
    tax = net * percent / 100
    whole = net - tax
    return round(whole, 2)
"""
TEST_PRICE = """\
from price import price

def test_taxed():
    assert price([100, 50], 10) == 165

def test_free():
    assert price([20, 5], 0) == 25

def test_nothing():
    assert price([], 10) == 0
"""


@pytest.mark.slow
@pytest.mark.parametrize("technique", ["mdfs", "bisection"])
def test_a_change_tells_which_of_many_values_is_at_fault(tmp_path, capsys, technique):
    """In code that computes, values before the fault can be set so that the test passes; no change there suits all."""
    record(tmp_path, {"price.py": PRICE, "test_price.py": TEST_PRICE}, failed=1)
    command = ["causes", "--workspace", str(tmp_path), "taxed", "--technique", technique, "--seconds", "12"]
    assert run([*command, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["roots"][0]["line"] == 4
    assert found["change"]["line"] == 4
    assert "+    whole = net + tax" in found["change"]["diff"]
    assert run(command) == 0
    out = capsys.readouterr().out
    assert "Why the first one: a change there repairs the test and breaks none" in out
    assert "+ whole = net + tax" in out


@pytest.mark.slow
def test_values_that_can_not_be_written_down_are_not_taken_for_right(tmp_path, capsys):
    """The text is too long, and of the page only a number is known; the fault is in what decides the text."""
    record(tmp_path, {"page.py": PAGE, "test_page.py": TEST_PAGE})
    assert run(["causes", "--workspace", str(tmp_path), "test_page.py::test_render", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["complete"]
    assert {state["line"] for state in found["roots"]} <= {7, 8, 9, 10, 11, 15}  # what decides, and its result
    assert found["roots"]


EXPORT = """\
SUFFIX = ".txt"


def write(name, number):
    with open(name + SUFFIX, "w") as out:
        out.write(str(number))


def more(number):
    result = number + 1
    return result
"""


@pytest.mark.slow
@pytest.mark.parametrize("concerned", [False, True])
def test_only_modules_that_led_to_the_failure_are_said_to_be_left_alone(tmp_path, capsys, concerned):
    """Every run executes what a module does while it is imported."""
    calc = f"import export\n\n\n{CALC}"
    if concerned:
        calc = calc.replace("result + 1", "export.more(result)")
    test = "from calc import double\n\n\ndef test_three():\n    assert double(3) == 6\n"
    record(tmp_path, {"export.py": EXPORT, "calc.py": calc, "test_calc.py": test})
    assert run(["causes", "--workspace", str(tmp_path), "*_three"]) == 0
    said = capsys.readouterr()
    assert ("export.py" in said.err) == concerned, said.err


RAISING = {
    "before a call": "if number > 2:\n        data = []\n    data.append(number)",
    "in an attribute": "number.missing.call()",
    "in an item": "{}[number].append(1)",
    "in an expression": "{}[number]",
    "in an argument": "print(missing)",
    "in a comprehension": "[one.missing for one in [number]]",
    "in a comprehension within another": "return [[two.missing for two in [one]] for one in [number]]",
    "in a condition of a comprehension": "return [one for one in [number] if one.missing]",
    "in a comprehension that is passed on": "print([one.missing for one in [number]])",
    "in a generator": "list(one.missing for one in [number])",
    "in a decorator": "@missing\n    def inner(): pass",
    "in a default": "def inner(one=missing): pass",
    "in a class": "class Inner(missing): pass",
    "in an import": "import missing_module",
    "in a deletion": "del {}[number]",
    "in unpacking": "one, two = number",
    "in a loop": "for one in number: pass",
    "in a context": "with number: pass",
    "in a pattern": "match number.missing:\n        case 1: pass",
}


@pytest.fixture(scope="module")
def raising(tmp_path_factory):
    """A recording of a failing test for each thing that raises, and the line where each of their functions begins."""
    folder = tmp_path_factory.mktemp("raising")
    programs = "".join(f"def f{n}(number):\n    {body}\n    return 0\n\n" for n, body in enumerate(RAISING.values()))
    tests = "".join(f"def test_{n}():\n    raising.f{n}(1)\n\n" for n in range(len(RAISING)))
    record(folder, {"raising.py": programs, "test_raising.py": f"import raising\n\n{tests}"}, len(RAISING))
    return folder, [number for number, line in enumerate(programs.splitlines(), 1) if line.startswith("def f")]


@pytest.mark.slow
@pytest.mark.parametrize("what", RAISING)
def test_every_failure_has_a_place(raising, capsys, what):
    """Whatever raises: the failure is where the traceback says, not at another function's definition."""
    folder, begins = raising
    number, body = list(RAISING).index(what), RAISING[what]
    chosen = ["--failure", "--test", f"test_raising.py::test_{number}", "--format", "json"]
    assert run(["slice", "--workspace", str(folder), *chosen]) == 0
    place = json.loads(capsys.readouterr().out)["tree"][0]
    assert place["file"] == "raising.py"
    assert place["line"] - begins[number] == (1 if body.startswith("match") else body.count("\n") + 1)


IN_A_THREAD = """\
import threading
from collections import deque


def total(prices):
    found = deque()

    def work():
        found.append("-" * 100)  # too long to be altered

    one = threading.Thread(target=work)
    one.start()
    one.join()
    return found[0]
"""


def test_a_refusal_says_what_was_left_out(tmp_path, capsys):
    source = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 'none'\n"
    record(tmp_path, {"shop.py": IN_A_THREAD, "test_shop.py": source}, 1)
    assert run(["causes", "--workspace", str(tmp_path), "*_total"]) == 2
    err = capsys.readouterr().err
    assert "depends on no decision and no assigned value that can be altered" in err
    assert "1 other thread executes code that is left out" in err


RECORDS = """\
def cleaned(record):
    return {name: value for name, value in record.items()}


def merged(records):
    found = {}
    for record in records:
        part = cleaned(record)
        found.update(part)
    return {"names": sorted(found), "values": found}
"""
TEST_RECORDS = """\
from records import merged


def test_merged():
    expected = {"names": ["id", "name"], "values": {"id": "x", "name": "y"}}
    assert merged([{"id": "x"}, {" name": "y"}]) == expected


def test_one():
    assert merged([{"name": "y"}]) == {"names": ["name"], "values": {"name": "y"}}
"""


@pytest.mark.slow
def test_dictionaries_are_causes(tmp_path, capsys):
    record(tmp_path, {"records.py": RECORDS, "test_records.py": TEST_RECORDS})
    assert run(["causes", "--workspace", str(tmp_path), "*_merged", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["complete"]
    assert [(state["file"], state["line"]) for state in found["roots"]] == [("records.py", 2)]
