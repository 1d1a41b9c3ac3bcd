"""The difference of two texts as units: what they are, and that any part of them gives a text."""

from __future__ import annotations

import ast
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.changes.baselines import Baseline
from suspectra.changes.definitions import ChangeOrder
from suspectra.changes.local_names import local_needs
from suspectra.changes.units import FileDifference

OLD = """\
import os

RATE = 20


def total(prices):
    result = 0  # so far
    for price in prices:
        result += price
    return result


def label(name):
    name = name.strip()
    return name.upper()
"""


def difference(old, new, path="shop.py"):
    return FileDifference.between(path, *(None if text is None else text.encode() for text in (old, new)))


def said(found):
    return [(unit.line, unit.before.strip(), unit.after.strip()) for unit in found.units]


@pytest.mark.parametrize(
    ("edit", "units"),
    [
        (("    name = name.strip()\n", ""), [(14, "name = name.strip()", "")]),
        (("result = 0  # so far", "result = 1"), [(7, "result = 0  # so far", "result = 1")]),
        (("# so far", "# another comment"), []),
        (
            ("    for price in prices:\n", "    if not prices:\n        return None\n    for price in prices:\n"),
            [(8, "", "if not prices:\n        return None")],
        ),
        (
            ("RATE = 20\n", "RATE = 19\nFEE = 1\n"),
            [(3, "RATE = 20", "RATE = 19"), (4, "", "FEE = 1")],
        ),
        (
            (
                "def label(name):",
                "def one():\n    return 1\n\n\n@cache\ndef two():\n    return 2\n\n\ndef label(name):",
            ),
            [(13, "", "def one():\n    return 1"), (17, "", "@cache\ndef two():\n    return 2")],
        ),
    ],
)
def test_units_of_python_are_statements(edit, units):
    assert said(difference(OLD, OLD.replace(*edit))) == units


def test_a_file_that_is_new_or_gone_or_no_text_is_one_unit():
    assert said(difference(None, "A = 1\n")) == [(1, "", "A = 1")]
    assert said(difference("A = 1\n", None)) == [(1, "A = 1", "")]
    image = FileDifference.between("logo.png", b"\0old", b"\0new")
    (unit,) = image.units
    assert image.content([]) == b"\0old"
    assert image.content([unit]) == b"\0new"


def test_that_a_file_was_moved_is_one_unit_and_what_was_edited_in_it_are_others(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "sums.py").write_text(OLD.replace("RATE = 20", "RATE = 19"))
    (tmp_path / "main.py").write_text("from shop.sums import total\n")
    old = {"totals.py": OLD.encode(), "shop/sums.py": None, "main.py": b"from totals import total\n"}
    since = Baseline.from_texts("before", tmp_path, {**old, "gone.py": b"print(1)\n", "empty.py": b""})
    found = {str(unit): unit for unit in since.units}
    assert found.keys() == {"empty.py:1", "gone.py:1", "main.py:1", "shop/sums.py", "shop/sums.py:3"}
    move, edit = found["shop/sums.py"], found["shop/sums.py:3"]
    assert (move.moved_from, edit.before.strip(), edit.after.strip()) == ("totals.py", "RATE = 20", "RATE = 19")
    contents = since.contents((edit,))
    assert contents["shop/sums.py"] is None
    assert b"RATE = 19" in contents["totals.py"]
    contents = since.contents((move,))
    assert contents["totals.py"] is None
    assert contents["shop/sums.py"] == OLD.encode()
    order = ChangeOrder.from_differences(since.differences, since.units)
    numbers = {unit: number for number, unit in enumerate(since.units)}
    together = order.together(frozenset([numbers[move]]), frozenset(numbers.values()))
    assert together == {numbers[move], numbers[found["main.py:1"]]}


def test_units_of_other_files_are_lines_that_differ():
    found = difference('{"a": 1,\n "b": 2,\n "c": 3}\n', '{"a": 1,\n "b": 5,\n "c": 3}\n', "rates.json")
    assert said(found) == [(2, '"b": 2,', '"b": 5,')]
    found = difference("[10,\n 20,\n 30]\n", "[11,\n 21,\n 25,\n 30]\n", "rates.json")
    assert said(found) == [(1, "[10,", "[11,"), (2, "20,", "21,"), (3, "", "25,")], "neighbours are two changes"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    # as divmod does\n\n    return a - 1\n", "    # as divmod does\n\n    return a + 1\n"),
        ("    # as divmod does\n    return a - 1\n", "    # as div does\n    return a + 1\n"),
        ("    return a - 1\n", "    # as divmod does\n    return a + 1\n"),
    ],
)
def test_what_was_in_the_lines_of_a_unit_has_no_comments_from_above_them(old, new):
    """So an editor can put it there, and the comments are not there twice."""
    head = "def f(a):\n    a *= 2\n"
    (unit,) = difference(head + old, head + new).units
    lines = (head + new).splitlines(keepends=True)
    lines[unit.line - 1 : unit.end_line] = [unit.before]
    assert "".join(lines) == (head + new).replace("a + 1", "a - 1")


def test_lines_that_only_look_like_comments_belong_to_a_change():
    old, new = "int a;\n", "int a;\n#ifdef FAST\nint b;\n#endif\n"
    assert said(difference(old, new, "shop.c")) == [(2, "", "#ifdef FAST\nint b;\n#endif")]


def keys(text):
    return ast.dump(ast.parse(text))


STATEMENTS = st.lists(
    st.sampled_from(["a = 1", "b = a", "def f(x):\n    y = x\n    return y", "if a:\n    b = 2\nelse:\n    b = 3"]),
    max_size=8,
)


@given(STATEMENTS, STATEMENTS, st.randoms(use_true_random=False))
def test_all_units_give_the_new_text_none_the_old_one_and_each_part_a_text(old, new, chance: random.Random):
    texts = ["".join(f"{one}\n" for one in lines) for lines in (old, new)]
    found = difference(*texts)
    assert keys(found.content(())) == keys(texts[0])
    assert keys(found.content(found.units)) == keys(texts[1])
    some = [unit for unit in found.units if chance.random() < 0.5]
    assert found.content(some) is not None
    assert not found.units or texts[0] != texts[1]


def test_a_file_that_was_renamed_goes_with_its_imports():
    texts = {
        "shop/old.py": (b"def f():\n    return 1\n", None),
        "shop/new.py": (None, b"def f():\n    return 1\n"),
        "main.py": (b"from shop.old import f\nX = 1\n", b"from shop.new import f\nX = 2\n"),
    }
    found = [FileDifference.between(path, *both) for path, both in texts.items()]
    units = [unit for one in found for unit in one.units]
    new, imported = 1, 2
    order = ChangeOrder.from_differences(found, units)
    assert [order.needs[number] for number in range(4)] == [{imported}, set(), {new}, set()]


def test_what_reads_a_new_variable_of_a_function_needs_what_sets_it():
    """The name is known in the file before, as a parameter of another function."""
    old = "def get(find):\n    return find()\n\n\ndef f(a):\n    return a\n"
    new = old.replace("    return a\n", "    find = max\n    a = find(a, 1)\n    return a\n")
    found = difference(old, new)
    made, used = (next(at for at, unit in enumerate(found.units) if text in unit.after) for text in ("max", "find(a"))
    order = ChangeOrder.from_differences([found], found.units, local_needs([found], found.units))
    assert (order.needs[used], order.needs[made]) == ({made}, frozenset())


def test_what_uses_a_new_name_needs_what_defines_it():
    old = "RATE = 20\n\n\ndef gone():\n    return 1\n\n\ndef label(name):\n    a = gone()\n    return name\n"
    new = "RATE = 19\n\n\ndef label(name, upper):\n    a = 1\n    b = upper\n    return name + b\n"
    found = difference(old, new)
    rate, gone, header, call, made, used = (
        next(number for number, unit in enumerate(found.units) if text in unit.before + unit.after)
        for text in ("RATE", "def gone", "def label", "= gone", "b = upper", "name + b")
    )
    order = ChangeOrder.from_differences([found], found.units)
    assert order.needs[used] == {made}
    assert order.needs[made] == {header}
    assert order.needs[gone] == {call}
    every = frozenset(range(len(found.units)))
    assert order.with_needed(frozenset({used}), every) == {used, made, header}
    assert order.without_needing(every, frozenset({header})) >= {rate, gone, call}
    assert not order.without_needing(every, frozenset({header})) & {header, made, used}
