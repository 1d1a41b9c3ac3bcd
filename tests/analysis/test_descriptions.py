"""Values in short, for the ends of lines."""

import enum
from collections import namedtuple

import pytest

from suspectra_recorder.experiments.traces.trace_columns import Columns
from suspectra_recorder.experiments.values.descriptions import MAX_LENGTH, described


class Kind(tuple):
    __slots__ = ()

    def __repr__(self):
        raise AssertionError("no code of the program is called")


class Color(enum.Enum):
    RED = 1


class Order:
    def __init__(self):
        self.name, self.lines = "first", []

    def __str__(self):
        raise AssertionError("no code of the program is called")


class Amount:
    __slots__ = ("cents",)

    def __init__(self):
        self.cents = 5


class Meta(type):
    def __repr__(cls):
        raise AssertionError("no code of the program is called")


class Made(metaclass=Meta):
    pass


Point = namedtuple("Point", "x y")


def helper():
    pass


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (helper, "<function helper>"),
        (Order, "<class Order>"),
        (Made, "<class Made>"),
        (Color.RED, "Color.RED"),
        ((Kind(("Punctuation",)), ";"), "(Kind('Punctuation'), ';')"),
        (Order(), "Order(name='first')"),
        (Amount(), "Amount(cents=5)"),
        ([Amount()], "[Amount(cents=5)]"),
        ((helper,), "(<function helper>,)"),
        ({"a": Order}, "{'a': <class Order>}"),
        ("x" * 300, "'" + "x" * (MAX_LENGTH - 3) + "…'"),
        ([Order] * 50, f"[{'<class Order>, ' * 13}…]"),
        (Point(1, "y"), "Point(1, 'y')"),
        (object(), ""),
    ],
)
def test_a_value_is_told_by_what_is_in_it(value, text):
    assert described(value) == text


def test_a_text_is_short_whatever_is_in_the_value():
    deep = [["a" * 300, {"b" * 300: "c" * 300}]] * 20
    assert 0 < len(described(deep)) <= MAX_LENGTH
    cyclic = []
    cyclic += [cyclic, helper]
    assert described(cyclic) == "[[list, <function helper>], <function helper>]"


def test_the_name_of_its_type_stands_for_a_value_of_which_nothing_is_known():
    columns = Columns(0)
    assert columns.texts[columns.text(object())] == "object"
    assert columns.texts[columns.text(helper)] == "<function helper>"
    assert columns.texts[columns.text("y" * 100)].startswith("'yyy")
