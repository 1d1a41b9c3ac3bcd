"""Sources whose values are observed do what they did; predicates are counted without calling the program."""

import sys
import types
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suspectra_recorder.experiments.decisions.switchboard import Switchboard
from suspectra_recorder.experiments.values.observations import MAX_TIMES, Observations
from suspectra_recorder.experiments.values.observed_places import MAX_NAMES
from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.source import parse

NAME, BOARD = "__suspectra_observations__", "__suspectra_board__"
ZOO = Path(__file__).parents[1] / "fixtures" / "recording" / "zoo"


def loaded(source, path="program.py"):
    """The namespace of a source whose values are observed from now on, and what gives the observations."""
    observations, board = Observations(), Switchboard()
    tree = parse(source if isinstance(source, bytes) else source.encode(), path)
    added = [
        observations.insert(tree, path, NAME, asserts=True),
        board.insert(tree, path, BOARD, asserts=True),
    ]
    code = compile(tree, path, "exec")
    for add in added:
        add()
    observe = observations.observe()
    module = types.ModuleType("program")
    exec(with_cells(with_cells(code, NAME, observations), BOARD, board), module.__dict__)
    return vars(module), observe


def observed(source, *arguments):
    """How often which site of f had which outcome, by line."""
    names, observe = loaded(source)
    names["f"](*arguments)
    found = {}
    for _, line, _, sites in observe():
        for kind, left, right, outcomes in sites:
            for outcome, times in outcomes.items():
                found.setdefault(line, {})[" ".join(filter(None, (kind, left, right, outcome)))] = times
    return found


SIMPLE = """\
def f(first, last, items):
    'doc'
    total = last - first
    for item in items:
        total += item
    return total
"""


def test_two_numbers_and_lengths_are_compared():
    found = observed(SIMPLE, 3, 1, [5, 7])
    assert found[3]["pair first last >"] == found[3]["pair first len(items) >"] == 1, "on entry"
    assert found[3]["sign total <"] == found[3]["pair total last <"] == 1
    assert found[4] | {"pair item total >": 2, "last item >": 1, "pair item len(items) >": 2} == found[4]
    assert found[5] | {"sign total >": 2, "last total >": 1, "type total int": 2} == found[5]
    assert found[6]["pair the return value first >"] == 1


def test_definitions_reach_their_uses():
    found = observed(SIMPLE, 3, 1, [5, 7])
    assert found[5] | {"definition total 3": 1, "definition total 5": 1} == found[5]
    assert found[6]["definition total 5"] == 1
    assert observed(SIMPLE, 3, 1, [])[6]["definition total 3"] == 1
    loop = "def f(n):\n    while n > 0:\n        n = n - 2\n    return n"
    found = observed(loop, 3)
    assert found[2] | {"definition n 0": 1, "definition n 3": 2} == found[2]
    recursive = "def f(n):\n    if n:\n        n = n - 1\n        f(n)\n    return n"
    assert observed(recursive, 2)[5] == {
        "definition n 0": 1,
        "definition n 3": 2,
        "type the return value int": 3,
        "sign the return value =": 2,
        "sign the return value >": 1,
        "pair the return value n =": 3,
        "last the return value =": 1,
        "last the return value >": 1,
    }


VALUES = [
    (None, {"type x NoneType"}),
    (True, {"type x bool", "truth x true"}),
    ("", {"type x str", "length x 0"}),
    (["a"], {"type x list", "length x 1"}),
    ({1: 2, 3: 4}, {"type x dict", "length x more"}),
    (-0.5, {"type x float", "sign x <"}),
    (float("nan"), {"type x float"}),
    (Decimal("0.0"), {"type x Decimal", "sign x ="}),
    (date(2020, 7, 15), {"type x date"}),
]


@pytest.mark.parametrize(("value", "expected"), VALUES)
def test_values_have_types_signs_truths_and_lengths(value, expected):
    assert set(observed("def f(x):\n    return None", value)[2]) - {"type the return value NoneType"} == expected


PAIRS = [
    (1, 2.5, "pair x y <"),
    (Decimal(1), 1, "pair x y ="),
    ("a", "a", "pair x y ="),
    ("a", "b", "pair x y ≠"),
    ("abc", 2, "pair len(x) y >"),
    ([1], (2, 3), "pair len(x) len(y) <"),
    (date(2020, 7, 15), date(2020, 7, 14), "pair x y >"),
    (date(2020, 7, 15), 3, None),
    (date(2020, 7, 15), datetime(2020, 7, 14, tzinfo=timezone.utc), None),
    (float("nan"), 1, None),
    (True, 1, None),
    (None, None, None),
]


@pytest.mark.parametrize(("x", "y", "expected"), PAIRS)
def test_what_has_an_order_is_compared(x, y, expected):
    found = observed("def f(x, y):\n    pass", x, y)[2]
    assert [one for one in found if one.startswith("pair")] == ([expected] if expected else [])


class Loud:
    """Whatever is done to it is noticed."""

    def __getattribute__(self, name):
        raise AssertionError(name)

    def loud(self, *_):
        raise AssertionError("called")

    __eq__ = __lt__ = __gt__ = __len__ = __bool__ = __hash__ = __repr__ = __str__ = __float__ = __index__ = loud


class LoudNumber(int):
    __eq__ = __lt__ = __gt__ = __bool__ = __hash__ = __repr__ = Loud.loud


class LoudType(type):
    def __getattribute__(cls, name):
        raise AssertionError(name)

    __eq__ = __hash__ = Loud.loud


class LoudList(list, metaclass=LoudType):
    __len__ = __iter__ = __eq__ = Loud.loud


def test_nothing_of_a_value_is_called():
    source = "def f(x, y, z):\n    a = x\n    for c in (z, x):\n        d = c\n    g(z)\n    return y\ndef g(x):\n    x"
    found = observed(source, Loud(), LoudNumber(3), LoudList())
    assert {"type x Loud", "type y LoudNumber", "type z LoudList"} == set(found[2]) - {"type a Loud"}


def test_objects_live_as_long_as_they_did():
    body = "x = C()\n    ref = weakref.ref(x)\n    x = 1\n    return ref() is None"
    names, _ = loaded(f"import weakref\nclass C: pass\ndef f():\n    {body}")
    assert names["f"]()


def test_work_is_bounded():
    many = ", ".join(f"x{number}" for number in range(30))
    names, observe = loaded(f"def f({many}):\n    for i in range(5_000):\n        y = i\n    return y")
    names["f"](*range(30))
    for _, _, _, sites in observe():
        for _, _, _, outcomes in sites:
            assert sum(outcomes.values()) <= MAX_TIMES
        compared = {(left, right) for kind, left, right, _ in sites if kind == "pair"}
        assert len(compared) <= MAX_NAMES * (MAX_NAMES + 1) / 2


def test_no_value_is_reported():
    found = observed("def f(password, n):\n    key = password + '!'\n    return key, n * 7", "hunter2", 123456)
    assert "hunter2" not in str(found)
    assert "123456" not in str(found)


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(ZOO.glob("*.py")) if not path.stem.partition("_py3")[2]],
    ids=lambda path: path.stem,
)
def test_programs_do_what_they_did(path):
    plain = types.ModuleType("program")
    source = path.read_bytes()
    exec(compile(source, str(path), "exec"), plain.__dict__)
    names, observe = loaded(source, str(path))
    for case in [name for name in names if name.startswith("case_")]:
        assert end_of(names[case]) == end_of(vars(plain)[case])
    observe()


def end_of(function, *arguments):
    """How a call ends, in a form that can be compared."""
    try:
        found = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    comparable = type(found) in (int, str, bool, list, tuple, type(None)) and "0x" not in repr(found)
    return found if comparable else type(found).__name__


# functions over a few variables, any of which may be unbound wherever it is read

EXPRESSIONS = st.sampled_from(
    ["a", "b", "c", "a + b", "c - 1", "[a for a in range(b)]", "(d := a) + 1", "len([c])", "7"]
)
SIMPLE_STATEMENTS = st.one_of(
    st.builds("{} = {}".format, st.sampled_from("abcd"), EXPRESSIONS),
    st.builds("a, b = {}, {}".format, EXPRESSIONS, EXPRESSIONS),
    st.builds("{} += {}".format, st.sampled_from("abcd"), EXPRESSIONS),
    st.builds("del {}".format, st.sampled_from("cd")),
    st.builds("return {}".format, EXPRESSIONS),
    st.builds("out.append({})".format, EXPRESSIONS),
    st.sampled_from(["raise KeyError(1)", "pass", "import math as c", "d: int"]),
)


def indented(statements):
    return "\n".join(f"    {line}" for statement in statements for line in statement.split("\n"))


def compound(inner):
    block = st.lists(inner, min_size=1, max_size=3).map(indented)
    return st.one_of(
        st.builds("if x:\n{}\nelse:\n{}".format, block, block),
        st.builds("for {} in range(x):\n{}\nelse:\n{}".format, st.sampled_from("abc"), block, block),
        st.builds("while tick():\n{}\n    break\n".format, block),
        st.builds("while tick():\n{}".format, block),
        st.builds("try:\n{}\nexcept KeyError as c:\n{}\nfinally:\n    out.append(9)".format, block, block),
        st.builds("try:\n{}\nexcept Exception:\n{}\nelse:\n{}".format, block, block, block),
        st.builds("with suppress(Exception) as {}:\n{}".format, st.sampled_from("abc"), block),
        st.builds("match x:\n    case 0:\n{}\n    case b:\n{}".format, block.map(deeper), block.map(deeper)),
        st.builds("def g():\n    nonlocal b\n    b = 3\ng()\n{}".format, st.just("b = x")),
    )


def deeper(block):
    return "\n".join(f"    {line}" for line in block.split("\n"))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.recursive(SIMPLE_STATEMENTS, compound, max_leaves=8), min_size=1, max_size=5), st.integers(0, 2))
def test_no_variable_is_read_that_may_be_unbound(statements, argument):
    body = indented(statements)
    source = (
        "from contextlib import suppress\nout, left = [], [0] * 5\n"
        "def tick():\n    return bool(left and not left.pop())\n"
        f"def f(x, a=1):\n{body}\n    return 'end'"
    )
    plain = {}
    try:
        exec(source, plain)
    except SyntaxError:  # nonlocal without a binding, and the like
        return
    names, observe = loaded(source)
    assert end_of(names["f"], argument) == end_of(plain["f"], argument)
    assert names["out"] == plain["out"]
    observe()


def test_frames_that_look_at_their_variables_see_the_same():
    source = (
        "import sys\ndef f(x):\n    y = x\n    y += 1\n    return sorted(locals()), sorted(sys._getframe().f_locals)"
    )
    names, _ = loaded(source)
    assert names["f"](1) == (["x", "y"], ["x", "y"])
    assert names["f"].__code__.co_varnames == ("x", "y")
    assert sys.getrefcount(names) < 10
