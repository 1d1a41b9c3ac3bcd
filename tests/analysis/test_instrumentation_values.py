"""Sources whose values go through `AssignedValues` do what they did; values are noted and replaced without calling them."""
# ruff: noqa: E501 - programs of one line each, as a table

import json
import sys
import traceback
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra_recorder.experiments.decisions.switchboard import EVERY, Switchboard
from suspectra_recorder.experiments.values.assigned_values import AssignedValues, ReplacedValue
from suspectra_recorder.experiments.values.inner_numbers import UNCHANGED, changed, numbers
from suspectra_recorder.experiments.values.literals import as_number, from_text, shown, to_text
from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.source import parse

NAME, BOARD = "__suspectra_values__", "__suspectra_board__"


def loaded(source, values=None, path="program.py"):
    """The namespace of an instrumented source, and its values. Decisions are instrumented too, as in a machine."""
    values, board = values or AssignedValues(), Switchboard()
    tree = parse(source.encode(), path)
    added = [
        values.insert(tree, path, NAME, asserts=True),
        board.insert(tree, path, BOARD, asserts=True),
    ]
    code = compile(tree, path, "exec")
    for add in added:
        add()
    names = {"__name__": "program"}
    exec(with_cells(with_cells(code, NAME, values), BOARD, board), names)
    return names, values


def assigned(values):
    return [assignment for source in values.sources.loaded for assignment in source.points]


# each defines f, and says of which arguments; the names of what gets values, in the order of their numbers
SAME = {
    "assignments": ("def f(x):\n    y = z = x\n    a, b = y, z + 1\n    c, *d = 1, 2, 3\n    e: int = 4\n    return a, b, c, d, e", [1], "y = z, a, b, c, *d, e, the return value"),
    "augmented": ("class C:\n    n = 1\ndef f(x):\n    c, d = C(), [1]\n    x += 1\n    c.n -= x\n    d[0] *= 3\n    return x, c.n, d", [1], "c, d, x, c.n -=, d[…] *=, the return value"),
    "walrus": ("def f(x):\n    if (n := x + 1) > 2:\n        return n, [y for i in range(x) if (y := i)]\n    return None", [0, 3], "n, y, the return value, the return value"),
    "arguments": ("def f(x):\n    out = []\n    out.append(x)\n    out.extend(*[[2]])\n    out.sort(key=str, reverse=bool(x))\n    return out", [1], "out, argument 1 of out.append, argument key of out.sort, argument reverse of out.sort, the return value"),
    "generator": ("def g(x):\n    got = yield x\n    yield got\ndef f(x):\n    i = g(x)\n    return next(i), i.send(x)", [0, 1], "the yielded value, got, the yielded value, i, the return value"),
    "lambda": ("f = lambda x: (lambda y: y or x)(0)", [0, 4], "the return value, the return value"),
    "comparisons": ("def f(x):\n    return 1 < x, 1 < x < 3, x in (1, 2), x is None, not x != 2", [0, 2], "the return value"),
    "nonlocal": ("def f(x):\n    def g():\n        nonlocal x\n        x += 1\n    g()\n    return x", [1], "x, the return value"),
    "class": ("total = 0\nclass C:\n    a = 1\n    def __init__(self, x):\n        self.__x = x\n    def get(self):\n        return self.__x, super().__init__ is not None, __class__ is C\ndef f(x):\n    return C(x).get()", [0, 1], "self.__x, the return value, the return value"),
    "async": ("import asyncio\nasync def h(x, out):\n    out.append(await g(x))\n    await g(x)\n    return out\nasync def g(x):\n    return x + 1\ndef f(x):\n    return asyncio.run(h(x, []))", [0], "argument 1 of out.append, argument 1 of g, the return value, the return value, the return value"),
    "blocks": ("def f(x):\n    try:\n        with open('/missing'):\n            y = 1\n    except OSError as error:\n        y = 2\n    else:\n        y = 3\n    finally:\n        z = 4\n    for i in range(x):\n        y += i\n    match x:\n        case 1:\n            z += 1\n    return y, z", [0, 1, 3], None),
    "strings": ("def f(x):\n    return f'{(n := x)} {x > 1} {n!r:>{x + 2}}'", [0, 2], None),
    "no code": ("def f(x):\n    'doc'\n    y: int\n    x\n    ...\n    return\nf.__doc__", [1], ""),
    "future": ("'doc'\nfrom __future__ import annotations\ndef f(x: 1 < 2, y=(lambda: 3)) -> 3 > 2:\n    return f.__annotations__, __doc__, y()", [0], "the return value, the return value"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_a_program_does_what_it_did(name):
    source, arguments, expected = SAME[name]
    plain = {"__name__": "program"}
    exec(source, plain)
    names, values = loaded(source)
    if expected is not None:
        assert ", ".join(one.name for one in assigned(values)) == expected
    for argument in arguments:
        assert names["f"](argument) == plain["f"](argument)
        values.note()
        assert names["f"](argument) == plain["f"](argument)
        values.leave()


# source of f, argument, assignment, instance, part, new value, and what comes of it then
REPLACED = [
    ("def f(x):\n    y = x + 1\n    return y * 2", 1, 0, EVERY, (), 5, 10),
    ("def f(x):\n    y = x + 1\n    return y * 2", 1, 1, 1, (), "n", "n"),
    ("def f(x):\n    n = 0\n    for i in range(x):\n        n += i\n    return n", 4, 1, 2, (), 10, 15),
    ("def f(x):\n    n = 0\n    for i in range(x):\n        n += i\n    return n", 4, 1, EVERY, (), 10, 10),
    ("def f(x):\n    n = 0\n    for i in range(x):\n        n += i\n    return n", 4, 1, 9, (), 10, 6),
    ("def f(x):\n    out = []\n    out.append(x)\n    return out", 4, 1, 1, (), None, [None]),
    ("def f(x):\n    d = {}\n    d[x] = 0\n    d[x] += 5\n    return d", "k", 2, 1, (), 6, {"k": 6}),
    ("def f(x):\n    a, b = x, x\n    return a, b", 1, 1, 1, (), 2, (1, 2)),
    ("def f(x):\n    return [y for i in x if (y := i)]", (1, 2), 0, 2, (), 7, [1, 7]),
    ("def f(x):\n    y = [1, (2, x)]\n    return y", 3, 0, 1, ("[1]", "[1]"), 9, [1, (2, 9)]),
    ("class C:\n    def __init__(self, x):\n        self.x = x\ndef f(x):\n    c = C({'k': x})\n    return c.x", 3, 1, 1, (".x", "['k']"), 9, {"k": 9}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "argument", "number", "instance", "part", "new", "expected"), REPLACED)
def test_another_value_is_assigned(source, argument, number, instance, part, new, expected):
    names, values = loaded(source)
    answer = values.replace([ReplacedValue("program.py", number, instance, list(part), to_text(new))])
    assert names["f"](argument) == expected
    assert answer()["reached"] == (0 if instance == 9 else answer()["reached"])
    values.leave()
    plain = {}
    exec(source, plain)
    assert names["f"](argument) == plain["f"](argument)


def test_a_source_that_is_loaded_later_is_altered_too():
    values = AssignedValues()
    answer = values.replace([ReplacedValue("program.py", 0, EVERY, [], "i3")])
    names, _ = loaded("def f(x):\n    return x", values)
    assert (names["f"](1), answer()["reached"]) == (3, 1)


def test_values_and_comparisons_are_noted_in_their_order():
    names, values = loaded(
        "class C:\n    def __init__(self, n):\n        self.n = n\n"
        "def f(x):\n    y = x + 1\n    c = C(y)\n    return y > 3, c, c == C(9)\n"
    )
    noted = values.note()
    names["f"](1)
    answer = noted()
    json.dumps(answer)
    texts = [answer["texts"][index] for index in answer["values"][1::2]]
    assert texts == ["i2", "i2", 'o[[[".n"], "i2"]]', "i9", 'o[[["[1]", ".n"], "i2"]]']
    assert answer["distances"] == {"0 1 ": -1.0, "1 1 .n": -7.0}


def test_distances_are_noted_once_the_value_was_replaced():
    names, values = loaded("def f(x):\n    a = x > 1\n    y = x\n    return a, y > 3")
    answer = values.replace([ReplacedValue("program.py", 1, 1, [], "i5")], compare=True)
    assert names["f"](2) == (True, True)
    assert answer()["distances"] == {"1 1 ": 2.0}


def test_tracebacks_are_what_they_were(tmp_path):
    source = "def f(x):\n    y = (x +\n        1 / x)\n    return (y\n            < g(x))\ndef g(x):\n    x.append(\n        1, key=len(\n            x))\n"
    path = tmp_path / "program.py"
    path.write_text(source)
    plain = {"__name__": "program"}
    exec(compile(source, str(path), "exec"), plain)
    names, _ = loaded(source, path=str(path))

    def shown_by(function, argument):
        with pytest.raises((ZeroDivisionError, AttributeError)) as caught:
            function(argument)
        frames = traceback.extract_tb(caught.value.__traceback__)
        return [(frame.filename, frame.lineno, frame.name) for frame in frames[1:]]

    for argument in (0, 1):
        assert shown_by(names["f"], argument) == shown_by(plain["f"], argument)


# values


SAME_TYPE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**255), 2**255),
    st.floats(allow_nan=False),
    st.text(max_size=80),
    st.binary(max_size=80),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
)


@given(st.one_of(SAME_TYPE, st.lists(SAME_TYPE, max_size=8).map(tuple)))
def test_a_value_is_the_same_after_it_was_written_down(value):
    text = to_text(value)
    assert text or isinstance(value, (tuple, Fraction, Decimal)) or value.fold, "too long, or not in the text"
    if text:
        again = from_text(json.loads(json.dumps(text)))
        assert again == value
        assert type(again) is type(value)
        assert len(shown(again)) <= 40


class Hostile:
    """Anything that is asked of it, it answers with an error."""

    def _refuse(self, *_):
        raise AssertionError("code of the program was called")

    __eq__ = __ne__ = __lt__ = __repr__ = __str__ = __bool__ = __len__ = __iter__ = __getattribute__ = _refuse
    __hash__ = __float__ = __int__ = __index__ = __format__ = __copy__ = __deepcopy__ = __reduce__ = _refuse
    __sub__ = __rsub__ = __setattr__ = __class_getitem__ = __dir__ = __sizeof__ = __getstate__ = _refuse


class Meta(type):
    """A class of classes that can't be hashed, compared or shown."""

    def _refuse(cls, *_):
        raise AssertionError("code of the program was called")

    __hash__ = __eq__ = __repr__ = __getattribute__ = __instancecheck__ = __subclasscheck__ = _refuse


class Odd(metaclass=Meta):
    pass


class Zone(tzinfo):
    def utcoffset(self, when):
        raise AssertionError("code of the program was called")

    dst = tzname = utcoffset


class Word(str):
    __slots__ = ()
    __eq__ = __hash__ = __repr__ = __len__ = Hostile._refuse


class Slots:
    __slots__ = ("n", "unset")

    def __init__(self, n):
        self.n = n

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


class Final:
    def __init__(self):
        self.n = 1

    def __del__(self):
        self.n = 0


def recursive():
    found = [1]
    found.append(found)
    return found


HOSTILE = {
    "object": Hostile,
    "class": lambda: Odd,
    "instance of an odd class": lambda: object.__new__(Odd),
    "string of its own class": lambda: Word("a"),
    "huge integer": lambda: 10**10_000,
    "long text": lambda: "x" * 10_000,
    "long Decimal": lambda: Decimal("1" * 10_000),
    "NaN": lambda: float("nan"),
    "signalling NaN": lambda: Decimal("sNaN"),
    "huge Decimal": lambda: Decimal("1e999999"),
    "recursive list": recursive,
    "deep tuple": lambda: ((((1,),),),),
    "odd key": lambda: {Slots(1): 2},
    "time in a zone of its own": lambda: datetime(2020, 1, 1, tzinfo=Zone()),
    "generator": lambda: (i for i in "ab"),
    "function": lambda: recursive,
    "module": lambda: sys,
    "closes what it has": Final,
    "hostile in a list": lambda: [Hostile(), 1],
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_a_value_is_called(name):
    value = HOSTILE[name]()
    names, values = loaded("def f(x):\n    y = x\n    return g(y, x)\ndef g(y, x):\n    x = (y, x)\n    return x")
    noted = values.note()
    found = names["f"](value)
    assert found[0] is value
    values.left(0, value)
    values.right(0, value)
    values.failed.append((value, value))
    json.dumps(noted())
    values.leave()
    for part in ((".n",), ("[0]",), ("[1]", "[0]"), ("['x']",)):
        changed(value, part, 5)
    as_number(value)


def test_numbers_are_found_and_changed_where_they_are_stored():
    slots = Slots(3)
    assert numbers(slots) == {(".n",): 3}
    other = changed(slots, (".n",), 4)
    assert (type(other), other.n, slots.n, hasattr(other, "unset")) == (Slots, 4, 3, False)
    assert numbers([1, [2, [3]], True, None]) == {("[0]",): 1, ("[1]", "[0]"): 2}
    assert len(numbers(list(range(100)))) == 8
    assert changed({"a": 1, "b": 2}, ("['b']",), 3) == {"a": 1, "b": 3}
    assert changed(5, ("[0]",), 3) is UNCHANGED
    assert changed(Final(), (".n",), 3) is UNCHANGED
    assert numbers(date(1, 1, 2)) == {(): date(1, 1, 2)}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2020, 1, 2, 3, tzinfo=timezone.utc), "2020-01-02 03:00:00+00:00"),
        (time(3, 4), "03:04:00"),
        (timedelta(1), "1 day, 0:00:00"),
        (Decimal("1.50"), "1.50"),
        ("a\x1b[31m", "'a\\x1b[31m'"),
        ((1, "a"), "(1, 'a')"),
    ],
)
def test_values_are_shown_as_people_read_them(value, text):
    assert shown(from_text(to_text(value))) == text


@pytest.mark.parametrize("text", ["", "x", "iabc", "m--", "d2020-13-01", "u[", 'u["q"]', "l1 x", "r1/0"])
def test_a_text_that_is_no_value_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        from_text(text)
