import pytest
from template import escape, fill, names, rows


def test_names():
    assert names("{a} and {b!}") == ["a", "b!"]


def test_no_names():
    assert names("plain") == []


def test_plain():
    assert fill("Hello {who}", {"who": "you"}) == "Hello you"


def test_missing():
    assert fill("Hello {who}", {}, default="all") == "Hello all"


def test_raw():
    assert fill("{a!}", {"a": "<b>"}) == "<b>"


def test_escaped():
    assert fill("{a}", {"a": "<b>"}) == "&lt;b&gt;"


@pytest.mark.parametrize(("value", "expected"), [("ab", "ab"), (7, "7"), ("a & b", "a &amp; b")])
def test_escape(value, expected):
    assert escape(value) == expected


def test_rows():
    assert rows("<{n}>", [{"n": 1}, {"n": 2}]) == "<1><2>"
