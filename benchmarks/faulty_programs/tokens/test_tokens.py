import pytest
from tokens import names, tokens


def test_signs_end_a_number():
    assert tokens("12 + (") == [("number", "12"), ("sign", "+"), ("sign", "(")]


def test_nothing():
    assert tokens("") == []


def test_only_blanks():
    assert tokens("   ") == []


def test_call():
    assert tokens("f(x)") == [("name", "f"), ("sign", "("), ("name", "x"), ("sign", ")")]


@pytest.mark.parametrize(("text", "expected"), [("(a)", ["a"]), ("(1)", []), ("a + b", ["a", "b"])])
def test_names(text, expected):
    assert names(text) == expected


def test_number_at_the_end():
    assert tokens("(7") == [("sign", "("), ("number", "7")]
