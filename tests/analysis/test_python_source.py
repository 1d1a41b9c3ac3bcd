import ast
import re
from pathlib import Path

import numpy as np
import pytest
from coverage.parser import PythonParser
from hypothesis import given
from hypothesis import strategies as st

from suspectra.program.python.source import PythonSource
from suspectra_recorder.instrumentation.source import parse

ZOO = Path(__file__).parents[1] / "fixtures" / "python_source_zoo.py"


def marked_lines(text: str) -> list[int]:
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.endswith("# S above"):
            lines.append(number - 1)
        elif line.endswith("# S"):
            lines.append(number)
    return lines


def test_the_marked_lines_of_the_zoo_are_its_statements():
    data = ZOO.read_bytes()
    assert PythonSource.parse(data).line.tolist() == marked_lines(data.decode())


@pytest.mark.parametrize("path", [ZOO, Path(ast.__file__), Path(re.__file__), Path(pytest.__file__)], ids=str)
def test_statements_and_first_lines_are_those_of_coverage(path):
    text = path.read_text(encoding="utf-8")
    parser = PythonParser(text=text)
    parser.parse_source()
    source = PythonSource.parse(path.read_bytes())
    assert set(source.line.tolist()) == parser.statements
    lines = np.arange(1, text.count("\n") + 1)
    assert source.first_lines(lines).tolist() == [parser.first_line(line) for line in lines.tolist()]
    assert source.first_lines(-lines).tolist() == [parser.first_line(-line) for line in lines.tolist()]


def test_functions_have_qualified_names_and_own_their_statements():
    source = PythonSource.parse(ZOO.read_bytes())
    names = [name for name, _, _ in source.functions]
    assert names == [
        "decorated",
        "one_liner",
        "only_docstring",
        "ellipsis",
        "Outer.Inner.method",
        "Outer.Inner.method.nested",
        "Outer.later",
        "flow",
    ]
    text = ZOO.read_text().split("\n")

    def owner(words: str) -> str:
        line = next(i for i, content in enumerate(text, 1) if words in content)
        function = source.function[source.statements_of(np.array([line]))[0]]
        return names[function] if function >= 0 else ""

    assert owner("def decorated") == "", "a def line runs in the scope around it"
    assert owner("x = 1; y = 2") == "decorated"
    assert owner("def one_liner") == "", "and so does all that is on it"
    assert owner("attribute: int") == "", "a class body is no function"
    assert owner("def nested") == "Outer.Inner.method"
    assert owner("return nonlocal_value") == "Outer.Inner.method.nested"
    assert owner("yield item") == "Outer.later"


def test_statements_and_functions_are_those_of_the_recorder():
    from suspectra_recorder.instrumentation.rewriting import instrument

    data = ZOO.read_bytes()
    source, (_, recorded) = PythonSource.parse(data), instrument(data, str(ZOO), "zoo.py")
    assert [(s.line, s.end_line, s.function) for s in recorded.statements] == list(
        zip(source.line.tolist(), source.end_line.tolist(), source.function.tolist(), strict=True)
    )
    assert [(f.name, f.line, f.end_line) for f in recorded.functions] == list(source.functions)


def test_a_statement_ends_where_its_logical_line_ends():
    source = PythonSource.parse(b"x = [\n  1,\n]\nif (x and\n    x):\n    y = 1\n")
    assert list(zip(source.line.tolist(), source.end_line.tolist(), strict=True)) == [(1, 3), (4, 5), (6, 6)]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n\n# nothing\n", []),
        (b"x = 1\r\ny = (\r\n 2)\r\n", [1, 2]),
        (b"x = 1\ry = 2\r", [1, 2]),
        (b"x = 1\n\x0c\ny = 2\n", [1, 3]),
        (b"# -*- coding: latin-1 -*-\nname = '\xe9'\n", [2]),
        (b"\xef\xbb\xbfx = 1\n", [1]),
        (b"s = '''\x0c\nx\xc2\x85y\xe2\x80\xa8z'''\nt = 1\n", [1, 3]),
        (b"x = 1", [1]),
    ],
)
def test_line_ends_and_encodings(data, lines):
    assert PythonSource.parse(data).line.tolist() == lines


@pytest.mark.parametrize(
    "data",
    [
        b"def f(:\n",
        b"x = '\xff'\n",
        b"x = 1\n\x00\n",
        b"if x:\n\ty\n        z\n",
        b"# coding: nonsense\n",
        b"(" * 5000,
        b"-" * 200_000 + b"1",
    ],
    ids=["syntax", "not utf-8", "null", "tabs", "unknown encoding", "parentheses", "nesting"],
)
def test_what_cannot_be_compiled_is_a_syntax_error(data):
    with pytest.raises(SyntaxError):
        PythonSource.parse(data)


@given(st.binary(max_size=200) | st.text("x=1()[]{}:\n \t\\\"'#;def if lass", max_size=80).map(str.encode))
def test_any_bytes_are_read_or_refused(data):
    try:
        source = PythonSource.parse(data)
    except SyntaxError:
        return
    assert (np.diff(source.line) > 0).all()
    assert (source.line <= source.end_line).all()
    assert len(source.line) == 0 or source.end_line.max() <= source.line_count


class Parsing:
    """Garbage that parses when it is collected."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        ast.parse("a + b")


def test_a_source_is_parsed_while_garbage_is_collected_that_parses_too():
    source = "\n".join(f"x{number} = f(a, b[{number}])" for number in range(2000))
    Parsing()
    assert len(parse(source).body) == 2000
