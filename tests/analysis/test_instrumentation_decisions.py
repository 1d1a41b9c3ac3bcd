"""Sources whose decisions ask a switchboard do what they did, and go the other way where that is asked for."""
# ruff: noqa: E501 - programs of one line each, as a table

import ast
import sys
import traceback
from importlib.abc import SourceLoader

import pytest

from suspectra_recorder.experiments.decisions.rewriting import instrument
from suspectra_recorder.experiments.decisions.switchboard import EVERY, DecisionPoint, StepsSpent, Switchboard
from suspectra_recorder.experiments.loading import ExperimentHook
from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.recorded_files import RecordedFiles

NAME = "__suspectra_board__"


def loaded(source, board=None, path="program.py"):
    """The namespace of an instrumented source, and its board."""
    board = board or Switchboard()
    tree = ast.parse(source, path)
    sites = instrument(tree, NAME, board.sources.next)
    board.sources.add(path, sites)
    names = {"__name__": "program"}
    exec(with_cells(compile(tree, path, "exec"), NAME, board), names)
    return names, board


def kinds(board):
    return [site.kind for source in board.sources.loaded for site in source.points]


# each defines f, and says of which arguments; the kinds of its decisions, in the order of their numbers
SAME = {
    "if": ("def f(x):\n    if x > 1:\n        return 1\n    elif x:\n        return 2\n    return 3", [0, 1, 2], "if if"),
    "while": ("def f(x):\n    n = 0\n    while n < x:\n        n += 1\n    else:\n        n += 10\n    return n", [0, 3], "while"),
    "constant tests": ("def f(x):\n    while True:\n        if 1:\n            return x", [7], ""),
    "for": ("def f(x):\n    out = []\n    for i in x:\n        out.append(i)\n    else:\n        out.append('e')\n    return out", ["", "ab"], "for"),
    "conditional": ("def f(x):\n    return 'a' if x else 'b'", [0, 1], "conditional"),
    "or": ("def f(x):\n    return x or [] or 'c'", [0, 5, "x"], "operand operand"),
    "and": ("def f(x):\n    return x and x[1:] and 'c'", ["", "a", "ab"], "operand operand"),
    "mixed": ("def f(x):\n    return (x and x[0]) or (not x and 'n') or None", ["", "a", "ab"], None),
    "truths": ("def f(x):\n    if x and not x[1:] or x == 'zz':\n        return 1\n    return 2", ["", "a", "zz", "b" * 3], "if operand operand operand"),
    "comprehension": ("def f(x):\n    return [i for i in range(x) if i % 2 if i > 1], {i: 1 for i in 'ab' if i}", [0, 6], "comprehension comprehension comprehension"),
    "match": ("def f(x):\n    match x:\n        case [a, *_] if a:\n            return a\n        case 0 | 1:\n            return 'few'\n        case _:\n            return x", [[0], [5], 1, "other"], "case case case"),
    "walrus": ("def f(x):\n    if (n := x + 1) > 2 and (m := n):\n        return n, m\n    return [y for i in range(x) if (y := i)], n", [0, 3], None),
    "class": ("class C:\n    a = 0 or 2\n    b = [i for i in range(3) if i] and 'b'\ndef f(x):\n    return C.a, C.b", [0], None),
    "mangled": ("class C:\n    def __init__(self, x):\n        self.__x = x or 3\n    def get(self):\n        return self.__x if self.__x else super().__init__\ndef f(x):\n    return C(x).get()", [0, 1], None),
    "generator": ("def g(x):\n    got = (yield x) or 'nothing'\n    yield got\ndef f(x):\n    i = g(x)\n    return next(i), i.send(x)", [0, 1], None),
    "lambda": ("f = lambda x: x and (lambda y: y or x)(0)", [0, 4], None),
    "strings": ("def f(x):\n    return f'{x or 2} {\"a\" if x else \"b\"}'", [0, 1], "operand conditional"),
    "async": ("async def items(x):\n    for i in range(x):\n        yield i\nasync def g(x):\n    return [i async for i in items(x) if i] or (await h(x) and 'h')\nasync def h(x):\n    async for i in items(x):\n        return i\nimport asyncio\ndef f(x):\n    return asyncio.run(g(x))", [0, 3], None),
    "assert": ("def f(x):\n    try:\n        assert x and x > 1, x or 'none'\n    except AssertionError as error:\n        return error.args\n    return 'fine'", [0, 1, 2], None),
    "future": ("'doc'\nfrom __future__ import annotations\ndef f(x: int or None) -> 3 if x else 4:\n    return f.__annotations__, x or __doc__", [0], "operand"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_a_program_does_what_it_did(name):
    source, arguments, expected = SAME[name]
    plain = {"__name__": "program"}
    exec(source, plain)
    names, board = loaded(source)
    if expected is not None:
        assert kinds(board) == expected.split()
    for argument in arguments:
        board.limit(1_000)
        board.note()
        assert names["f"](argument) == plain["f"](argument)
        board.leave()
    assert not any(board._kept.values())


class Asked:
    """A truth that counts how often it is asked for."""

    def __init__(self, truth):
        self.truth, self.times = truth, 0

    def __bool__(self):
        self.times += 1
        return self.truth


@pytest.mark.parametrize("expression", ["1 if x else 2", "x or 2", "x and 2", "[1 for _ in 'a' if x]", "not x"])
def test_a_truth_is_asked_for_once(expression):
    for truth in (True, False):
        asked = Asked(truth)
        value = loaded(f"def f(x):\n    return {expression}")[0]["f"](asked)
        assert asked.times == 1
        other = eval(expression, {"x": Asked(truth)})
        assert value is asked or value == other


# source of f, argument, decision, instance, and what comes of it then
SWITCHED = [
    ("def f(x):\n    if x > 1:\n        return 'high'\n    return 'low'", 5, 0, EVERY, "low"),
    ("def f(x):\n    if x > 1:\n        return 'high'\n    return 'low'", 0, 0, EVERY, "high"),
    ("def f(x):\n    return [i for i in range(x) if i % 2]", 5, 0, EVERY, [0, 2, 4]),
    ("def f(x):\n    return [i for i in range(x) if i % 2]", 5, 0, 3, [1, 2, 3]),
    ("def f(x):\n    n = 0\n    while n < x:\n        n += 1\n    return n", 3, 0, 4, 4),
    ("def f(x):\n    n = 0\n    while n < x:\n        n += 1\n    return n", 3, 0, 2, 1),
    ("def f(x):\n    return sum(i for i in x)", (1, 2), 0, EVERY, 3),  # there is none to switch
    ("def f(x):\n    n = 0\n    for i in x:\n        n += i\n    return n", (1, 2, 4), 0, EVERY, 0),
    ("def f(x):\n    n = 0\n    for i in x:\n        n += i\n    return n", (1, 2, 4), 0, 3, 3),
    ("def f(x):\n    return x or 'default'", "", 0, EVERY, ""),
    ("def f(x):\n    return x or 'default'", "a", 0, EVERY, "default"),
    ("def f(x):\n    return x and 'rest'", "", 0, EVERY, "rest"),
    ("def f(x):\n    return x and 'rest'", "a", 0, EVERY, False),
    ("def f(x):\n    return x > 1 and x < 3", 2, 0, EVERY, False),
    ("def f(x):\n    return x > 1 and x < 3 and x", 2, 1, EVERY, False),
    ("def f(x):\n    return x > 1 or x < 0", 0, 0, EVERY, True),
    ("def f(x):\n    return (x > 1 or x == 0) and x < 3", 0, 0, EVERY, False),
    ("def f(x):\n    return (x > 1 or x == 0) and x < 3", 0, 1, EVERY, True),
    ("def f(x):\n    if x and x > 2:\n        return 1\n    return 2", 1, 2, EVERY, 1),
    ("def f(x):\n    return 1 if not x else 2", 1, 0, EVERY, 1),
    ("def f(x):\n    match x:\n        case 1:\n            return 'one'\n        case _:\n            return 'rest'", 1, 0, 1, "rest"),
    ("def f(x):\n    match x:\n        case 1 if x > 3:\n            return 'one'\n        case _:\n            return 'rest'", 1, 0, 1, "one"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "argument", "number", "instance", "expected"), SWITCHED)
def test_a_decision_comes_out_the_other_way(source, argument, number, instance, expected):
    names, board = loaded(source)
    board.limit(1_000)
    board.switch([DecisionPoint("program.py", number, instance)])
    assert names["f"](argument) == expected
    board.leave()
    plain = {}
    exec(source, plain)
    assert names["f"](argument) == plain["f"](argument)


@pytest.mark.parametrize(
    ("action", "expected", "times"), [("true", [0, 1, 2, 3], 2), ("false", [], 2), ("other", [0, 2], 4)]
)
def test_a_decision_comes_out_one_way_every_time(action, expected, times):
    names, board = loaded("def f(x):\n    return [i for i in range(x) if i % 2]")
    board.limit(1_000)
    point = DecisionPoint("program.py", 0, EVERY, action)
    switched = board.switch([point])
    assert (names["f"](4), switched().times) == (expected, times)
    noted = []
    board.listen(noted.append)
    turned = board.turn([point])
    assert (names["f"](4), turned()) == (expected, times)
    assert [decision % 2 for decision in noted] == [number in expected for number in range(4)]
    board.limit(1_000)
    forked = board.fork([point], lambda job: True)
    assert (names["f"](4), forked()) == (expected, True)


def test_decisions_are_noted_in_their_order():
    names, board = loaded(SAME["truths"][0])
    board.limit(100)
    noted = board.note()
    names["f"]("")
    names["f"]("zz")
    assert [(decision // 2, decision % 2) for decision in noted] == [
        *[(1, 0), (3, 0), (0, 0)],
        *[(1, 1), (2, 0), (3, 1), (0, 1)],
    ]


def test_a_source_that_is_loaded_later_is_switched_too():
    board = Switchboard()
    board.limit(1_000)
    switched = board.switch([DecisionPoint("program.py", 0, EVERY)])
    names, _ = loaded("def f(x):\n    return 1 if x else 2", board)
    assert (names["f"](True), switched().times) == (2, 1)


def test_an_endless_loop_ends_after_some_steps_and_may_clean_up():
    names, board = loaded("def f(x):\n    while x:\n        pass\ndef g(x):\n    return x or 1")
    board.limit(100)
    board.switch([DecisionPoint("program.py", 0, EVERY)])
    with pytest.raises(StepsSpent):
        names["f"](False)
    assert board.stopped
    assert names["g"](0) == 1


def test_tracebacks_are_what_they_were(tmp_path):
    source = (
        "class Odd:\n    def __bool__(self):\n        raise LookupError('odd')\n"
        "def f(x):\n    if (x\n            or Odd()):\n        pass\n"
        "def g(x):\n    return (x and\n            Odd() or 2)\n"
        "def h(x):\n    for i in x:\n        if i:\n            1 / 0\n"
    )
    path = tmp_path / "program.py"
    path.write_text(source)
    names, _ = loaded(source, path=str(path))
    plain = {"__name__": "program"}
    exec(compile(source, str(path), "exec"), plain)

    def shown(function, argument):
        with pytest.raises((LookupError, ZeroDivisionError)) as caught:
            function(argument)
        frames = traceback.extract_tb(caught.value.__traceback__)
        return [(frame.filename, frame.lineno, frame.name) for frame in frames[1:]]

    for name, argument in (("f", 0), ("g", 1), ("h", [0, 1])):
        assert shown(names[name], argument) == shown(plain[name], argument)


def test_lines_are_executed_in_the_same_order():
    source = (
        SAME["truths"][0]
        + "\n"
        + SAME["match"][0].replace("def f", "def g")
        + "\n"
        + SAME["while"][0].replace("def f", "def h")
    )
    plain = {"__name__": "program"}
    exec(compile(source, "program.py", "exec"), plain)

    def lines(names, name, argument):
        found = []

        def trace(frame, event, _):
            if frame.f_code.co_filename == "program.py" and event == "line" and found[-1:] != [frame.f_lineno]:
                found.append(frame.f_lineno)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            names[name](argument)
        finally:
            sys.settrace(before)
        return found

    names, _ = loaded(source)
    for name, argument in (("f", "a"), ("g", 1), ("g", [0]), ("h", 2)):
        assert lines(names, name, argument) == lines(plain, name, argument)


def test_guards_are_known():
    source = "def f(x):\n    if x:\n        raise ValueError\n    if x and not x:\n        y = 1\n    else:\n        raise KeyError\n    if x:\n        x = 1"
    _, board = loaded(source)
    assert [site.guard for site in board.sources.loaded[0].points] == [2, 1, 1, 1, 0]


def test_operands_come_to_an_exception_as_their_condition_does():
    source = (
        "def f(a, b, c):\n    if a or not (b and not c):\n        raise ValueError\n"
        "    if a and b:\n        raise ValueError\n    else:\n        raise KeyError\n"
    )
    _, board = loaded(source)
    # the first condition and its operands a, not (…), b and not c; then the second and its operands
    assert [site.guard for site in board.sources.loaded[0].points] == [2, 2, 2, 1, 1, 3, 3, 3]


class InMemory(SourceLoader):
    """Loads what it is given, whatever is in the file."""

    def __init__(self, path, source):
        self.path, self.source = str(path), source

    def get_filename(self, fullname):
        return self.path

    def get_data(self, path):
        return self.source


def test_a_source_that_differs_from_its_file_is_not_instrumented(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("x = 1 if __name__ else 2\n")
    board = Switchboard()
    hook = ExperimentHook(RecordedFiles(str(tmp_path), include_tests=True), [board])
    hook.install()
    try:
        InMemory(path, b"x = 3 if __name__ else 4\n").get_code("program")
        assert not board.sources.loaded
        InMemory(path, path.read_bytes()).get_code("program")
        assert [source.path for source in board.sources.loaded] == ["program.py"]
    finally:
        hook.uninstall()
