"""Conditions inside expressions: values and questions stay, and counts are those of an interpreter."""

import ast
import asyncio
import sys
import traceback
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.loaded_file import LoadedFile
from suspectra_recorder.instrumentation.probes import Kind
from suspectra_recorder.instrumentation.rewriting import instrument

CELLS = "__suspectra_condition_cells__"


class Value:
    """A value that says when it is asked for its truth."""

    def __init__(self, name, truth, log):
        self.name, self.truth, self.log = name, truth, log

    def __bool__(self):
        self.log.append(("asked", self.name))
        if self.truth is None:
            raise ValueError(self.name)
        return self.truth

    def __repr__(self):
        return self.name


def probed(source):
    """Code with probes, and what reads the conditions' counts: place and outcome, how often."""
    tree, module_map = instrument(source.encode(), "generated.py", CELLS, counting=True)
    cells = [0] * module_map.cells

    def counts():
        found = Counter()
        for probe in module_map.probes:
            if probe.kind in (Kind.FALSE, Kind.TRUE) and cells[probe.cell]:
                c = module_map.conditions[probe.target]
                found[c.line, c.column, c.end_line, c.end_column, probe.kind is Kind.TRUE] += cells[probe.cell]
        return found

    code = compile(tree, "generated.py", "exec", dont_inherit=True)
    return with_cells(code, CELLS, LoadedFile("generated.py", "", cells, b"")), counts


def run(code, truths):
    """What a program asked and called, and how it ended."""
    log = []

    def v(number, *_):
        log.append(("called", number))
        return Value(f"v{number}", truths[number % len(truths)], log)

    names = {"v": v, "log": log, "items": lambda *_: [v(n) for n in (1, 2, 3)]}
    try:
        exec(code, names)
    except (ValueError, AssertionError) as error:
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "generated.py"
        ]
        return log, (type(error).__name__, str(error), lines)
    return log, [str(names.get(name)) for name in ("a", "b", "c")]


# programs out of expressions

FORMS = (
    "({} and {})",
    "({} or {})",
    "({} or {} or {})",
    "({} and {} and {})",
    "(not {})",
    "({} if {} else {})",
    "(a := {})",
    "[a for b in items() if {} if {}]",
    "v(4, {})",
    "(lambda: {})()",
    "({} is {})",
)
STATEMENTS = (
    "c = {}",
    "assert {}, 'told'",
    "if {}:\n    log.append('then')\nelse:\n    log.append('else')",
    "while {}:\n    break",
    "match 1:\n    case 1 if {}: log.append('one')\n    case _: log.append('other')",
)


@st.composite
def programs(draw):
    """A few statements; deeper expressions are rarer."""
    form = st.sampled_from(FORMS)
    leaf = st.integers(0, 7)

    def expression(depth):
        if depth == 0 or draw(st.integers(0, 3)) == 0:
            return f"v({draw(leaf)})"
        chosen = draw(form)
        return chosen.format(*(expression(depth - 1) for _ in range(chosen.count("{}"))))

    lines = [draw(st.sampled_from(STATEMENTS)).format(expression(3)) for _ in range(draw(st.integers(1, 2)))]
    return "a = b = c = None\n" + "\n".join(lines) + "\n"


PROGRAM = programs()
TRUTHS = st.lists(st.sampled_from([True, False, False, True, None]), min_size=1, max_size=8)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(PROGRAM, TRUTHS)
def test_values_calls_and_questions_are_the_same(source, truths):
    plain = compile(source, "generated.py", "exec", dont_inherit=True)
    code, _ = probed(source)
    assert run(code, truths) == run(plain, truths)


# an interpreter of its own


class Interpreter:
    """Evaluates generated programs by their syntax tree, and counts how conditions come out."""

    def __init__(self, truths):
        self.truths, self.counts = truths, Counter()
        self.names = {"a": None, "b": None, "c": None}

    def run(self, tree):
        try:
            for statement in tree.body:
                self.statement(statement)
        except (ValueError, AssertionError):
            pass
        return self.counts

    def statement(self, node):
        match node:
            case ast.Assign(value=value):
                self.value(value)
            case ast.Assert(test=test):
                if not self.truth(test):
                    raise AssertionError
            case ast.If(test=test) | ast.While(test=test):
                self.truth(test, decides=True)
            case ast.Match(cases=[ast.match_case(guard=guard), _]):
                self.truth(guard)

    def value(self, node):
        match node:
            case ast.BoolOp(op=op, values=values):
                for value in values[:-1]:
                    found, ends = self.value(value), isinstance(op, ast.Or)
                    truth = ends if found is not None and getattr(found, "truth", 0) is None else self.ask(found)
                    if not isinstance(value, (ast.BoolOp, ast.IfExp)):
                        self.count(value, truth)  # one that raises when it is asked ends the expression too
                    if self.ask(found) == ends:
                        return found
                return self.value(values[-1])
            case ast.UnaryOp(operand=operand):
                return not self.ask(self.value(operand))
            case ast.Constant(value=value):
                return value
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if self.truth(test) else orelse)
            case ast.NamedExpr(value=value):
                return self.value(value)
            case ast.ListComp(generators=[ast.comprehension(ifs=ifs)]):
                return [0 for _ in range(3) if all(self.truth(test) for test in ifs)]
            case ast.Call(func=ast.Name(id="v"), args=[number, *rest]):
                for argument in rest:
                    self.value(argument)
                return Value("", self.truths[number.value % len(self.truths)], [])
            case ast.Call(func=ast.Lambda(body=body)):
                return self.value(body)
            case ast.Compare(left=left, comparators=[right]):
                return self.value(left) is self.value(right)  # one truth is another, the values of calls never are
        raise TypeError(ast.dump(node))

    def truth(self, node, *, decides=False):
        match node:
            case ast.BoolOp(op=op, values=values):
                truth = isinstance(op, ast.And)
                for value in values:
                    truth = self.truth(value, decides=isinstance(value, ast.BoolOp))
                    if truth == isinstance(op, ast.Or):
                        break
            case ast.UnaryOp(operand=operand):
                truth = not self.truth(operand, decides=True)
            case _:
                truth = self.ask(self.value(node))
        if not decides:
            self.count(node, truth)
        return truth

    def ask(self, value):
        return bool(value)

    def count(self, node, truth):
        self.counts[node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, truth] += 1


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(PROGRAM, TRUTHS)
@example("a = b = c = None\nassert (v(0) and ((not v(0)) is (v(0) is v(0)))), 'told'\n", [True])
def test_counts_are_those_of_an_interpreter(source, truths):
    code, counts = probed(source)
    run(code, truths)
    assert counts() == Interpreter(truths).run(ast.parse(source))


# what generated programs do not have


def outcomes(source, **names):
    code, counts = probed(source)
    exec(code, names)
    lines = source.split("\n")
    return names, {(lines[line - 1][start:end], true): n for (line, start, _, end, true), n in counts().items()}


def test_each_kind_of_condition():
    source = (
        "x = [n for n in range(6) if n % 2 if n > 1 or n == 0]\n"
        "y = 'é' and x or 0\n"
        "z = [1 if n > 3 else 2 for n in x]\n"
        "w = 1 < 2 < 0 or 7\n"
        "u = {n: n for n in x if n}\n"
        "t = all(n for n in x if not n > 3)\n"
    )
    names, found = outcomes(source)
    assert (names["x"], names["y"], names["z"], names["w"]) == ([3, 5], [3, 5], [2, 1], 7)
    assert found == {
        ("n % 2", True): 3,
        ("n % 2", False): 3,
        ("n > 1 or n == 0", True): 2,
        ("n > 1 or n == 0", False): 1,
        ("n > 1", True): 2,
        ("n > 1", False): 1,
        ("n == 0", False): 1,
        ("n > 3", True): 1,
        ("n > 3", False): 1,
        ("1 < 2 < 0", False): 1,
        ("n", True): 2,
        ("not n > 3", True): 1,
        ("not n > 3", False): 1,
    }


def test_what_the_compiler_knows_is_no_condition():
    _, found = outcomes("x = 1 if __debug__ else 2\nwhile True and x:\n    break\ny = None or 3\nassert 1\n")
    assert found == {("x", True): 1}


def test_await_yield_and_scopes_stay():
    source = (
        "import asyncio\n"
        "async def later(x):\n    await asyncio.sleep(0)\n    return x\n"
        "async def work():\n"
        "    a = await later(0) or await later(2)\n"
        "    b = [n async for n in numbers() if await later(n > 1)]\n"
        "    return a, b, 1 if await later(True) else 2\n"
        "async def numbers():\n    for n in range(4): yield n\n"
        "def ask():\n    got = (yield 1) or (yield 2)\n    return got if (yield 3) else None\n"
        "class C:\n    limit = 2\n    ok = limit > 1 and 'yes'\n"
        "    def f(self, x): return super().__init__() or (x and __class__)\n"
        "def walrus(xs):\n    return [y for x in xs if (y := x) and y > 1], y\n"
    )
    names, _ = outcomes(source)
    assert asyncio.run(names["work"]()) == (2, [2, 3], 1)
    generator = names["ask"]()
    assert [next(generator), generator.send(0), generator.send(5)] == [1, 2, 3]
    with pytest.raises(StopIteration) as ended:
        generator.send(True)
    assert ended.value.value == 5
    assert (names["C"].ok, names["C"]().f(1)) == ("yes", names["C"])
    assert names["walrus"]([0, 1, 2, 3]) == ([2, 3], 3)
    assert set(names["walrus"].__code__.co_varnames + names["walrus"].__code__.co_cellvars) >= {"xs", "y"}


def test_arrays_are_not_asked_more_than_before():
    names, _ = outcomes("x = a is None or a\ny = a if len(a) else None\n", a=np.zeros(3))
    assert names["x"] is names["a"] is names["y"]


def test_a_traceback_points_to_the_same_place():
    source = "def f(x):\n    return (x and\n            1 / x.missing) if x else 0\nf(3)\n"
    seen = []
    for code in (compile(source, "generated.py", "exec"), probed(source)[0]):
        with pytest.raises(AttributeError) as caught:
            exec(code, {})
        frames = traceback.extract_tb(caught.value.__traceback__)[1:]
        seen.append(
            [(f.lineno, *((f.end_lineno, f.colno, f.end_colno) if sys.version_info >= (3, 11) else ())) for f in frames]
        )
    assert seen[0] == seen[1]


def test_annotations_and_patterns_are_left_alone():
    source = (
        "def f(x: 1 if 2 else 3 = 4 or 5) -> (6 and 7):\n"
        "    match x:\n        case 4 | 5 if x > 4 or x == 4: return 'four'\n"
        "y: 'a' if 0 or 1 else 'b' = f()\n"
    )
    names, found = outcomes(source)
    assert names["y"] == "four"
    assert names["f"].__annotations__ == {"x": 1, "return": 7}
    assert found == {
        ("x > 4 or x == 4", True): 1,
        ("x > 4", False): 1,
        ("x == 4", True): 1,
    }


def test_asserts_stay_for_those_who_take_them_apart():
    tree, module_map = instrument(b"assert x or y\nz = x or y\n", "a.py", CELLS, counting=True, asserts=False)
    assert ast.unparse(tree.body[1] if isinstance(tree.body[1], ast.Assert) else tree.body[2]) == "assert x or y"
    assert [condition.line for condition in module_map.conditions] == [2]


def test_without_counts_there_are_no_conditions():
    _, module_map = instrument(b"x = 1 if y else 2\n", "a.py", CELLS)
    assert module_map.conditions == []


def test_long_chains_nest_no_deeper():
    code, counts = probed("x = " + " or ".join(["y"] * 900 + ["1"]) + "\n")
    exec(code, names := {"y": 0})
    assert (names["x"], set(counts().values()), len(counts())) == (1, {1}, 900)
