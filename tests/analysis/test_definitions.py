"""Definitions outside of functions: where names are found without a syntax tree, and what tests read."""

import ast
import codecs
import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.program import Program
from suspectra.program.python.definitions import Definitions
from suspectra.program.python.source import PythonSource
from suspectra.spectrum import Elements, Function, Spectrum, is_only_read
from suspectra.techniques import make_technique
from suspectra.techniques.definition_uses import with_uses

EVIDENCE = make_technique("evidence")

STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))
MODULES = [
    "_compat_pickle.py",
    "ast.py",
    "calendar.py",
    "codecs.py",
    "copy.py",
    "dis.py",
    "enum.py",
    "http/server.py",
    "inspect.py",
    "ipaddress.py",
    "json/decoder.py",
    "locale.py",
    "mimetypes.py",
    "pickle.py",
    "pickletools.py",
    "plistlib.py",
    "random.py",
    "shelve.py",
    "ssl.py",
    "string.py",
    "tarfile.py",
    "tokenize.py",
    "typing.py",
    "uuid.py",
    "xml/dom/minidom.py",
]


def elements_of(**sources):
    """The statements of some sources, by the names of their modules."""
    parsed = {f"{name}.py": PythonSource.parse(source) for name, source in sources.items()}
    functions, file, line, end, function = [], [], [], [], []
    for number, source in enumerate(parsed.values()):
        function += [at + len(functions) if at >= 0 else -1 for at in source.function.tolist()]
        functions += [Function(number, *one) for one in source.functions]
        file += [number] * len(source.line)
        line += source.line.tolist()
        end += source.end_line.tolist()
    columns = (np.array(column, np.int32) for column in (file, line, end, function))
    return Elements(tuple(parsed), *columns, tuple(functions))


def definitions_of(**sources):
    elements = elements_of(**sources)
    return elements, Definitions.from_elements(elements, lambda path: sources[path.removesuffix(".py")])


def read(*statements, **sources):
    """The definitions that some statements read, each as (module, line)."""
    elements, found = definitions_of(**sources)
    row = np.array(sorted(elements.at(f"{module}.py", line) for module, line in statements), np.int32)
    places = [elements.location(int(element)) for element in found.element[found.read_by(row)]]
    return [(place.file.removesuffix(".py"), place.line) for place in places]


def targets(node):
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=value, attr=name):
            yield from (name, *targets(value))
        case ast.Subscript(value=value) | ast.Starred(value=value):
            yield from targets(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            yield from (name for part in parts for name in targets(part))


def in_tree(body):
    """The same by the syntax tree: (line, name), with statements behind `if x:` on the same line left out."""
    for node in body:
        match node:
            case ast.Assign(targets=several):
                yield from ((node.lineno, name) for target in several for name in targets(target))
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target, value=ast.expr()):
                yield from ((node.lineno, name) for name in targets(target))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=value))):
                yield from ((node.lineno, name) for name in [*targets(value)][-1:])
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                pass
            case _:
                blocks = [block for _, block in ast.iter_fields(node) if isinstance(block, list)]
                for inner in (inner for block in blocks for inner in block):
                    if isinstance(inner, ast.stmt) and inner.lineno > node.lineno:
                        yield from in_tree([inner])
                    elif isinstance(inner, ast.excepthandler | ast.match_case):
                        yield from in_tree(inner.body)


@pytest.mark.parametrize("module", MODULES)
def test_finds_what_the_syntax_tree_finds(module):
    source = (STANDARD_LIBRARY / module).read_bytes()
    elements, found = definitions_of(m=source)
    expected = {line for line, _ in in_tree(ast.parse(source).body)}
    assert {int(line) for line in elements.line[found.element]} == expected


TABLE = b"RATES = {'a': 1}\n"
READING = b"def rate(key):\n    return RATES[key]\n"


class TestReading:
    def test_a_name_of_the_module(self):
        assert read(("m", 3), m=TABLE + READING) == [("m", 1)]

    def test_not_a_parameter_of_that_name(self):
        assert read(("m", 3), m=TABLE + READING.replace(b"key", b"RATES")) == []

    def test_not_a_variable_of_the_function(self):
        source = TABLE + b"def rate(key):\n    RATES = make()\n    return RATES[key]\n"
        assert read(("m", 4), m=source) == []

    def test_nor_what_is_only_text(self):
        source = TABLE + b"def rate(key):\n    return 'RATES' + key  # RATES\n"
        assert read(("m", 3), m=source) == []

    def test_but_in_a_formatted_text(self):
        source = TABLE + b"def rate(key):\n    return f'RATES: {RATES[key]}'\n"
        assert read(("m", 3), m=source) == [("m", 1)]
        assert read(("m", 3), m=source.replace(b"{RATES[key]}", b"{key}")) == []

    def test_an_attribute_of_a_class(self):
        source = b"class Rate:\n    base = 19\n    def rate(self):\n        return self.base\n"
        assert read(("m", 4), m=source) == [("m", 2)]
        assert read(("m", 4), m=source.replace(b"self.base", b"base")) == []

    def test_not_an_attribute_that_is_set(self):
        source = b"class Rate:\n    base = 19\n    def set(self, base):\n        self.base = base\n"
        assert read(("m", 4), m=source) == []
        for several in (b"self.name, self.base = base", b"self.name = self.base = 7", b"self.base: int = 7"):
            assert read(("m", 4), m=source.replace(b"self.base = base", several)) == []
        for reading in (b"self.base += 1", b"self.base[0] = 1", b"self.base.rate = 7", b"self.name = self.base"):
            assert read(("m", 4), m=source.replace(b"self.base = base", reading)) == [("m", 2)]

    def test_what_another_module_imports(self):
        for other in (b"from m import RATES\n", b"from m import *\n", b"from m import (\n    RATES,\n)\n"):
            line = other.count(b"\n") + 2
            assert read(("other", line), m=TABLE, other=other + READING) == [("m", 1)]
        assert read(("other", 3), m=TABLE, other=b"import m\n" + READING) == []

    def test_what_another_module_names_with_it(self):
        other = b"import m\n" + READING.replace(b"RATES", b"m.RATES")
        assert read(("other", 3), m=TABLE, other=other) == [("m", 1)]

    def test_a_definition_that_is_read_by_another_one(self):
        source = b"BASE = 19\nLOW = [BASE]\nRATES = {'a': LOW}\n" + READING
        assert read(("m", 5), m=source) == [("m", 1), ("m", 2), ("m", 3)]

    def test_definitions_that_read_each_other_end(self):
        source = b"A = 1\nB = A\nA = B\ndef f():\n    return A\n"
        assert read(("m", 5), m=source) == [("m", 1), ("m", 2), ("m", 3)]

    def test_what_changes_a_table_later(self):
        source = TABLE + b"RATES['b'] = 2\nRATES.update(c=3)\nif RATES:\n    RATES |= {}\n" + READING
        assert read(("m", 7), m=source) == [("m", 1), ("m", 2), ("m", 3), ("m", 5)]

    def test_several_names(self):
        source = b"LOW, HIGH = NONE = 7, 19\ndef f():\n    return HIGH\ndef g():\n    return NONE\n"
        assert read(("m", 5), m=source) == [("m", 1)]
        assert read(("m", 3), m=source) == [("m", 1)]

    @pytest.mark.parametrize("decorator", [b"cache", b"functools.lru_cache(maxsize=1)  # once", b"lru_cache\n@traced"])
    def test_what_a_function_without_parameters_computes_once(self, decorator):
        source = TABLE + b"@%s\ndef rates():\n    low = min(RATES)\n    return low\n" % decorator
        source += b"def rate():\n    return rates()\n"
        below = decorator.count(b"\n")
        assert read(("m", 7 + below), m=source) == [("m", 1), ("m", 4 + below), ("m", 5 + below)]

    @pytest.mark.parametrize(
        "function",
        [
            b"@cache\ndef rates(year):\n    return year\n",
            b"@cached\ndef rates():\n    return 1\n",
            b"def make():\n    @cache\n    def rates():\n        return 1\n    return rates\n",
        ],
    )
    def test_not_what_may_be_computed_several_times(self, function):
        source = function + b"def rate():\n    return rates()\n"
        assert read(("m", source.count(b"\n")), m=source) == []

    def test_the_first_line_behind_a_byte_order_mark(self):
        assert read(("m", 3), m=codecs.BOM_UTF8 + TABLE + READING) == [("m", 1)]

    def test_nothing_without_a_source(self):
        found = Definitions.from_elements(elements_of(m=TABLE + READING), lambda path: None)
        assert len(found.element) == len(found.reader) == 0


@given(st.lists(st.sampled_from([b"a", b"b", b"=", b".", b",", b"(", b"[", b"]", b"'", b'"', b"f", b"{", b"\\", b" ",
                                 b"\n", b"#", b"from", b"import", b"*", b"class ", b":", b"\xff"])))  # fmt: skip
def test_any_text_can_be_read(parts):
    source = b"".join(parts)
    lines = np.arange(1, 9, dtype=np.int32)
    elements = Elements(
        ("m.py",), lines * 0, lines, lines, lines % 3 - 1, (Function(0, "f", 1, 4), Function(0, "g", 5, 9))
    )
    found = Definitions.from_elements(elements, lambda path: source)
    assert set(found.read.tolist()) <= set(range(len(found.element)))


ROWS = st.lists(st.lists(st.integers(0, 9), unique=True).map(sorted), min_size=1, max_size=6)


@st.composite
def spectra(draw):
    rows = [np.array(row, np.int32) for row in draw(ROWS)]
    failed = np.array(draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    return Spectrum(tuple(map(str, range(len(rows)))), failed, ELEMENTS, tuple(rows), np.ones(10, bool))


LINES = np.arange(1, 11, dtype=np.int32)
ELEMENTS = Elements(("m.py",), LINES * 0, LINES, LINES, LINES * 0 - 1, ())
READS = {4: [0], 6: [0, 2], 7: [1], 9: [2]}  # statements, and the numbers of the definitions that they read
DEFINED = [0, 1, 5]
MANY = Definitions(
    np.array(DEFINED),
    np.array(list(READS)),
    np.cumsum([0, *map(len, READS.values())]),
    np.array([number for numbers in READS.values() for number in numbers]),
)


def expected(spectrum):
    """The tests of each element: that execute it, or that read what it defines where no failing test executes it."""
    tests = [{test for test, row in enumerate(spectrum.rows) if element in row} for element in range(10)]
    failing = set(np.flatnonzero(spectrum.failed).tolist())
    for number, element in enumerate(DEFINED):
        reading = {test for reader, numbers in READS.items() if number in numbers for test in tests[reader]}
        if element in READS:
            continue
        if reading & failing and not tests[element] & failing:
            tests[element] = tests[element] | reading
    return tests, failing


@given(spectra(), spectra(), st.data())
def test_counts_are_those_of_the_tests_that_read(first, second, data):
    kept = data.draw(st.sets(st.integers(0, 5)))
    rows = tuple(first.rows[i] if i in kept and i < len(first.rows) else row for i, row in enumerate(second.rows))
    second = Spectrum(second.tests, second.failed, ELEMENTS, rows, second.candidates)
    before = with_uses(first, MANY)
    for spectrum, found in (
        (first, before),
        (second, with_uses(second, MANY, before)),
        (second, with_uses(second, MANY)),
    ):
        tests, failing = expected(spectrum)
        assert found.counts.ef.tolist() == [len(those & failing) for those in tests]
        assert found.failing_tests_of(range(10)) == [
            tuple(sorted(str(test) for test in those & failing)) for those in tests
        ]
        for element in np.flatnonzero(found.counts.ef > 0).tolist():
            assert found.counts.ep[element] == len(tests[element] - failing)
            assert set(found.tests_executing(element).tolist()) == tests[element]


def test_rows_that_did_not_change_stay_the_same_objects():
    spectrum = Spectrum.from_matrix([[0, 0, 0, 0, 1, 0, 0, 0, 0, 0], [0] * 10], failed=[True, False], elements=ELEMENTS)
    before = with_uses(spectrum, MANY)
    after = with_uses(spectrum.with_rows(("t1",), spectrum.failed[:1], spectrum.rows[:1]), MANY, before)
    assert after.rows[0] is before.rows[0]
    assert is_only_read(after, 0)
    assert not is_only_read(after, 1)


SHOP = {
    "shop.py": b"import re\n\nPRICE = re.compile(r'\\d+')\nNAME = re.compile(r'\\w+')\nCURRENCY = 'EUR'\n\n\n"
    b"def price(text):\n    found = PRICE.search(text)\n    return found[0]\n\n\n"
    b"def name(text):\n    found = NAME.search(text)\n    return found[0] + CURRENCY\n",
    "test_shop.py": b"import shop\n\ndef test_price():\n    assert shop.price('cost 12.50') == '12.50'\n\n"
    b"def test_name():\n    assert shop.name('tea 3') == 'teaEUR'\n",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A recorded project whose fault is in a regular expression, which runs at import."""
    folder = tmp_path_factory.mktemp("shop")
    for name, source in SHOP.items():
        (folder / name).write_bytes(source)
    suspectra(folder, "record", "--", "pytest", "-q", "-p", "no:cacheprovider")
    return folder


def suspectra(folder, *arguments):
    command = [sys.executable, "-m", "suspectra", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120).stdout


class TestRanking:
    def test_a_definition_ranks_with_those_that_read_it_and_behind_them(self, shop):
        suspects = json.loads(suspectra(shop, "rank", "--format", "json"))["suspects"]
        found = [(one["line"], one["ef"], one["ep"], one["only_read"], one["score"]) for one in suspects if one["ef"]]
        assert found == [(10, 1, 0, False, 1.0), (9, 1, 0, False, 1.0), (3, 1, 0, True, 1.0)]
        assert [one["ep"] for one in suspects if one["line"] in (4, 5)] == [0, 0]  # no failing test reads them
        table = " ".join(
            suspectra(shop, "rank", "--verbose", "--lines", "--top", "3").split()
        )  # sentences are broken at the terminal's width
        assert "Ahead of equal scores: tests execute it, and at most read what the next ones define." in table
        assert "perhaps read by 1 failing test: test_shop.py::test_price" in table

    def test_it_says_that_it_runs_at_import(self, shop):
        text = suspectra(shop, "explain", "shop.py:3")
        assert "It runs once for all tests; the failing test may read what it defines, no passing one may." in text
        assert "Failing tests that may read what it defines:\n    test_shop.py::test_price" in text

    def test_formulas_count_what_is_executed(self, shop):
        suspects = json.loads(suspectra(shop, "rank", "--technique", "ochiai", "--format", "json"))["suspects"]
        assert {one["line"] for one in suspects if one["ef"]} == {9, 10}

    def test_no_experiment_is_made_there(self, shop):
        made = json.loads(suspectra(shop, "investigate", "--seconds", "5", "--format", "json"))
        assert {one["line"] for one in made["experiments"]} <= {9, 10}
        assert [one["line"] for one in made["suspects"]][:3].count(3) == 1

    def test_what_only_the_first_test_computes_counts_for_those_that_use_it(self):
        source = b"@cache\ndef rates():\n    return {}\ndef rate():\n    return rates()\n"
        elements = elements_of(program=source)
        at = {line: number for number, line in enumerate(elements.line.tolist())}
        matrix = np.zeros((3, len(elements)), int)
        matrix[0, [at[3], at[5]]] = matrix[1, at[5]] = 1
        spectrum = Spectrum.from_matrix(matrix, failed=[False, True, False], elements=elements)
        report = EVIDENCE.localize(spectrum, Program((), source_of=lambda path: source))
        suspect = report.suspect_of(at[3])
        assert (suspect.only_read, suspect.ef, suspect.ep) == (True, 1, 1)

    def test_a_definition_that_a_test_executes_counts_as_before(self):
        source = b"RATE = 19\ndef vat():\n    return RATE\n"
        program = Program((), source_of=lambda path: source)
        matrix = [[1, 0, 1], [0, 0, 1]]
        spectrum = Spectrum.from_matrix(matrix, failed=[True, False], elements=elements_of(program=source))
        report = EVIDENCE.localize(spectrum, program)
        assert report.spectrum is spectrum
        assert not report.suspect_of(0).only_read

    def test_an_update_is_what_a_new_ranking_is(self):
        source = b"LOW = 7\nHIGH = 19\ndef low():\n    return LOW\ndef high():\n    return HIGH\n"
        program = Program((), source_of=lambda path: source)
        elements = elements_of(program=source)
        first = Spectrum.from_matrix([[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1]], failed=[True, False], elements=elements)
        report = EVIDENCE.localize(first, program)
        second = first.with_rows(first.tests, ~first.failed, first.rows)
        after, anew = EVIDENCE.localize(second, program, report), EVIDENCE.localize(second, program)
        assert [one.location.line for one in report.suspects() if one.ef] == [4, 1]
        assert [one.location.line for one in after.suspects() if one.ef] == [6, 2]
        assert after.suspects() == anew.suspects()
